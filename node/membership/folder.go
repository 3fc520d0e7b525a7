package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/peer"
)

// ErrNotFounded reports a node that has neither founded nor joined a cluster yet.
var ErrNotFounded = errors.New("this node belongs to no cluster yet: " +
	"found one with `holdfast init`, or join one with `holdfast join`")

// Known is what a node keeps in its identity folder about its cluster, so that it can reach the others before it has
// the catalog, or after the catalog is lost.
type Known struct {
	Cluster catalog.Cluster  `json:"cluster"`
	Members []catalog.Member `json:"members"`
	Index   uint64           `json:"index,omitempty"` // of a command after which the list stood so

	// Leaving were removed while they voted. They stay linked until consensus goes on without their votes. Were they
	// cut off before, the leader might lose its majority with them, and nobody could be elected who takes them out.
	Leaving []catalog.Member `json:"leaving,omitempty"`
}

// Folder is the folder of a node, as it is configured: what lies in it makes the node a member of its cluster.
type Folder struct {
	config.Config
	State State // nil where nothing is asked of it
}

// State is the agreed state of a stopped node, in its folder.
type State interface {
	// Found makes the command the first entry of a cluster's log, of which this node is the only member.
	Found(ctx context.Context, self catalog.NodeID, first catalog.Command) error
	// Agreed calls show with the agreed state, and returns the index of the last command.
	Agreed(self catalog.NodeID, see func(catalog.View) error) (applied uint64, err error)
	// Recover makes this node the only voter, under the epoch that it returns.
	Recover(self catalog.NodeID, reason string) (epoch uint64, err error)
}

func (c Folder) knownPath() string { return filepath.Join(c.IdentityDir(), "members.json") }

// Belongs reports whether the configured node keeps a member list: it founded or joined a cluster.
func Belongs(cfg config.Config) bool {
	_, err := Folder{Config: cfg}.load()
	return !errors.Is(err, ErrNotFounded)
}

func (c Folder) load() (Known, error) {
	var k Known
	text, err := os.ReadFile(c.knownPath())
	if errors.Is(err, fs.ErrNotExist) {
		return k, ErrNotFounded
	}
	if err != nil {
		return k, fmt.Errorf("read the member list: %w", err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("read the member list %s: %w", c.knownPath(), err)
	}
	return k, nil
}

func (c Folder) save(d disk.Disk, k Known) error {
	return writeKnown(d, c.knownPath(), k)
}

// member returns how the node presents itself to a cluster.
func (c Folder) member(id peer.Identity) catalog.Member {
	return c.describe(catalog.NodeID(id.ID()), id.Public())
}

// describe returns what cluster.toml and the program say of the node.
func (c Folder) describe(id catalog.NodeID, key []byte) catalog.Member {
	m := catalog.Member{
		ID: id, Name: c.Name, Key: key, Replica: catalog.ReplicaName(c.Replica.Name),
		Addresses: c.Table.Addresses, OutOnly: c.Table.OutOnly, Weight: c.Table.Weight, Level: catalog.Level,
	}
	if !m.OutOnly {
		m.Addresses = c.Reached()
	}
	return m
}
