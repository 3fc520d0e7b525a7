package node

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
	"holdfast/node/vault"
	"holdfast/peer"
	"holdfast/raft"
)

// ErrFounded reports that a node belongs to a cluster already.
var ErrFounded = errors.New("this node belongs to a cluster already")

// Init founds a cluster whose first member is the configured node. When it returns nil the founding is agreed and on
// stable storage, and the node can be started. It returns the new cluster's record. One that was cut off may be repeated.
func Init(ctx context.Context, cfg config.Config, log *slog.Logger) (catalog.Cluster, error) {
	return initAt(ctx, folder{cfg}, catalog.Level, log)
}

// initAt is Init of a cluster of the level.
func initAt(ctx context.Context, cfg folder, level int, log *slog.Logger) (catalog.Cluster, error) {
	d := cfg.privateDisk()
	_, there := cfg.loadKnown()
	k, err := cfg.recall(d, log)
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
	key, err := cfg.sealKey(d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	if level >= vault.Level {
		founding.Member.Seal, founding.Member.Crawls = proveKey(id, key), cfg.Limits.Crawls > 0
	}
	for _, r := range cfg.File.Replicas {
		founding.Replicas = append(founding.Replicas, replicaOf(r))
	}
	for _, c := range cfg.File.AllCollections() {
		founding.Collections = append(founding.Collections, catalog.Collection{Name: catalog.CollectionName(c)})
	}
	if err := found(ctx, cfg, d, id, founding, log); err != nil {
		return catalog.Cluster{}, err
	}
	return cluster, cfg.saveKnown(d, known{Cluster: cluster, Members: []catalog.Member{founding.Member}})
}

func replicaOf(r config.ReplicaTable) catalog.Replica {
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
func found(ctx context.Context, cfg folder, d disk.Disk, id peer.Identity, founding catalog.Founding, log *slog.Logger) error {
	r, err := raft.Open(cfg.raft(catalog.NodeID(id.ID())), d, nowhere{}, nowhere{}, log)
	if err != nil {
		return err
	}
	body, err := json.Marshal(founding)
	if err != nil {
		return fmt.Errorf("encode the founding: %w", err)
	}
	err = r.Bootstrap(ctx, catalog.Command{Version: 1, Kind: catalog.Found, At: founding.Cluster.Founded, Body: body})
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("found the cluster: %w", err)
	}
	return nil
}

// prepare makes the node's folders and key. It fails with ErrFounded when the node belongs to a cluster.
func (c folder) prepare(d disk.Disk, log *slog.Logger) (peer.Identity, error) {
	if k, err := c.recall(d, log); err == nil {
		return peer.Identity{}, fmt.Errorf("%w: %s (%s)", ErrFounded, k.Cluster.Name, c.Data)
	} else if !errors.Is(err, ErrNotFounded) {
		return peer.Identity{}, err
	}
	return c.identity(d)
}

// Recover makes the configured node the only voter of its cluster under a higher epoch, when the majority of voters
// is lost for good. The node must be stopped. Members of the older epoch are refused from then on.
func Recover(_ context.Context, settings config.Config, reason string, log *slog.Logger) (catalog.Cluster, error) {
	cfg := folder{settings}
	k, err := cfg.loadKnown()
	if err != nil {
		return catalog.Cluster{}, err
	}
	d := cfg.privateDisk()
	id, err := cfg.ownIdentity()
	if err != nil {
		return catalog.Cluster{}, err
	}
	k.Cluster.Epoch, err = raft.Recover(cfg.raft(catalog.NodeID(id.ID())), d, reason, log)
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("recover %s: %w", cfg.Name, err)
	}
	k.Index = 0 // of the old epoch
	return k.Cluster, cfg.saveKnown(d, k)
}

func (c folder) raft(self catalog.NodeID) raft.Config {
	return raft.Config{Dir: c.Data, Self: self, Profile: c.File.Profile, MemoryMiB: int(c.Limits.Memory >> 20 / 64),
		TrailingMiB: int(c.Limits.RaftLog >> 20)}
}
