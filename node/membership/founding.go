package membership

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/peer"
)

// ErrFounded reports that a node belongs to a cluster already.
var ErrFounded = errors.New("this node belongs to a cluster already")

// sealLevel is the level of a cluster whose members publish keys for secrets.
const sealLevel = 2

// Init founds a cluster of the level, whose first member is the configured node. When it returns nil the founding is
// agreed and on stable storage, and the node can be started. It returns the new cluster's record. One that was cut off
// may be repeated.
func Init(ctx context.Context, cfg Folder, level int, log *slog.Logger) (catalog.Cluster, error) {
	d := cfg.PrivateDisk()
	_, there := cfg.load()
	k, err := cfg.Recall(d, log)
	if err == nil && errors.Is(there, ErrNotFounded) && k.Index <= 1 {
		return k.Cluster, nil // an earlier founding ended before the member list was written
	}
	id, err := cfg.prepare(d, log)
	if err != nil {
		return catalog.Cluster{}, err
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	cluster := catalog.Cluster{ID: hex.EncodeToString(random), Name: cfg.File.Cluster, Epoch: 1, Level: level,
		Founded: catalog.At(time.Now())}
	founding := catalog.Founding{Cluster: cluster, Member: cfg.member(id)}
	key, err := cfg.SealKey(d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	if level >= sealLevel {
		founding.Member.Seal, founding.Member.Crawls = ProveKey(id, key), cfg.Limits.Crawls > 0
	}
	for _, r := range cfg.File.Replicas {
		founding.Replicas = append(founding.Replicas, ReplicaOf(r))
	}
	for _, c := range cfg.File.AllCollections() {
		founding.Collections = append(founding.Collections, catalog.Collection{Name: catalog.CollectionName(c)})
	}
	if err := cfg.found(ctx, catalog.NodeID(id.ID()), founding); err != nil {
		return catalog.Cluster{}, err
	}
	return cluster, cfg.save(d, Known{Cluster: cluster, Members: []catalog.Member{founding.Member}})
}

// ReplicaOf returns the replica that the settings describe.
func ReplicaOf(r config.ReplicaTable) catalog.Replica {
	out := catalog.Replica{Name: catalog.ReplicaName(r.Name), Kind: catalog.ReplicaKind(r.Kind), Place: r.Place}
	if out.Place == "" {
		out.Place = r.Name
	}
	for _, c := range r.Collections {
		out.Collections = append(out.Collections, catalog.CollectionName(c))
	}
	return out
}

// found makes the founding the first entry of the cluster's log.
func (c Folder) found(ctx context.Context, self catalog.NodeID, founding catalog.Founding) error {
	body, err := json.Marshal(founding)
	if err != nil {
		return fmt.Errorf("encode the founding: %w", err)
	}
	first := catalog.Command{Version: 1, Kind: catalog.Found, At: founding.Cluster.Founded, Body: body}
	return c.State.Found(ctx, self, first)
}

// prepare makes the node's folders and key. It fails with ErrFounded when the node belongs to a cluster.
func (c Folder) prepare(d disk.Disk, log *slog.Logger) (peer.Identity, error) {
	if k, err := c.Recall(d, log); err == nil {
		return peer.Identity{}, fmt.Errorf("%w: %s (%s)", ErrFounded, k.Cluster.Name, c.Data)
	} else if !errors.Is(err, ErrNotFounded) {
		return peer.Identity{}, err
	}
	return c.identity(d)
}

// Recover makes the configured node the only voter of its cluster under a higher epoch, when the majority of voters
// is lost for good. The node must be stopped. Members of the older epoch are refused from then on.
func Recover(cfg Folder, reason string) (catalog.Cluster, error) {
	k, err := cfg.load()
	if err != nil {
		return catalog.Cluster{}, err
	}
	d := cfg.PrivateDisk()
	id, err := cfg.OwnIdentity()
	if err != nil {
		return catalog.Cluster{}, err
	}
	k.Cluster.Epoch, err = cfg.State.Recover(catalog.NodeID(id.ID()), reason)
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("recover %s: %w", cfg.Name, err)
	}
	k.Index, k.Leaving = 0, nil // of the old epoch, like the votes that were counted on
	return k.Cluster, cfg.save(d, k)
}
