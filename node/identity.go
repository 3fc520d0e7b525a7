package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/peer"
)

// ErrNotFounded reports a node that neither founded nor joined a cluster yet.
var ErrNotFounded = errors.New("this node belongs to no cluster yet: found one with `holdfast init`, or join one with `holdfast join`")

// known is what a node keeps in its identity folder of the cluster it belongs to, so that it can reach the others
// before it has the catalog, or when the catalog is lost.
type known struct {
	Cluster catalog.Cluster  `json:"cluster"`
	Members []catalog.Member `json:"members"`
	Index   uint64           `json:"index,omitempty"` // of a command after which the list stood so
}

// folder is the folder of a node, as it is configured: what lies in it makes the node a member of its cluster.
type folder struct{ config.Config }

func (c folder) knownPath() string { return filepath.Join(c.IdentityDir(), "members.json") }

// Belongs reports whether the configured node keeps a member list: it founded or joined a cluster.
func Belongs(cfg config.Config) bool {
	_, err := folder{cfg}.loadKnown()
	return !errors.Is(err, ErrNotFounded)
}

func (c folder) loadKnown() (known, error) {
	var k known
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

func (c folder) saveKnown(d disk.Disk, k known) error {
	return d.WriteFile(c.knownPath(), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(k)
	})
}

// member returns how the node presents itself to a cluster.
func (c folder) member(id peer.Identity) catalog.Member {
	return c.describe(catalog.NodeID(id.ID()), id.Public())
}

// describe returns what cluster.toml and the program say of the node.
func (c folder) describe(id catalog.NodeID, key []byte) catalog.Member {
	m := catalog.Member{
		ID: id, Name: c.Name, Key: key, Replica: catalog.ReplicaName(c.Replica.Name),
		Addresses: c.Table.Addresses, OutOnly: c.Table.OutOnly, Weight: c.Table.Weight, Level: catalog.Level,
	}
	if !m.OutOnly {
		m.Addresses = c.Reached()
	}
	return m
}

// trust keeps the peers' list of who is trusted, and its copy on disk, as the catalog says.
func (n *Node) trust(ctx context.Context) error {
	watch := n.raft.Watch(catalog.PrefixMembers, catalog.PrefixCluster)
	defer watch.Close()
	for {
		if err := n.applyTrust(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.C:
		}
	}
}

// applyTrust hands the catalog's member list to peers and gossip. A catalog that has not come as far as the list that
// this node knows, as on one that has just joined, says nothing: the members that it lacks yet are those to hear it from.
func (n *Node) applyTrust() error {
	n.trusting.Lock()
	defer n.trusting.Unlock()
	var k known
	applied := n.raft.Status().Applied
	err := n.raft.View(func(v catalog.View) (err error) {
		if k.Cluster, err = v.Cluster(); err != nil {
			return err
		}
		k.Members, err = v.Members()
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the member list: %w", err)
	}
	k.Index = n.raft.Status().Applied
	old := *n.known.Load()
	if k.Cluster.ID == "" || older(k.Cluster.Epoch, applied, old) || sameKnown(old, k) {
		return nil
	}
	if err := n.cfg.saveKnown(n.disk, k); err != nil {
		return fmt.Errorf("keep the member list: %w", err)
	}
	n.known.Store(&k)
	n.setTrusted(k)
	return nil
}

// older reports whether the catalog at the epoch and index is older than what is known.
func older(epoch, index uint64, k known) bool {
	return epoch < k.Cluster.Epoch || epoch == k.Cluster.Epoch && index < k.Index
}

func sameKnown(a, b known) bool {
	a.Index, b.Index = 0, 0
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

func (n *Node) setTrusted(k known) {
	members := make([]peer.Member, 0, len(k.Members))
	for _, m := range k.Members {
		members = append(members, peer.Member{ID: peer.ID(m.ID), Name: m.Name, Key: m.Key, Addresses: m.Addresses, OutOnly: m.OutOnly})
	}
	n.peer.SetMembers(k.Cluster.Epoch, members)
	var others []string
	for _, m := range k.Members {
		if m.ID != n.id {
			others = append(others, string(m.ID))
		}
	}
	n.others.Store(&others)
}
