package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/ledger"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/node/rebuild"
	"holdfast/raft"
	"holdfast/replica"
)

// Rebuilding says from what a catalog is made again, beside the folders of the configured node.
type Rebuilding struct {
	From    []string // data folders of nodes, their folders for files, folders with files
	Cluster string   // its id, where no folder says it
	Also    []string // ids of other clusters whose folders are taken in
	Signers []ledger.Trusted
	Told    func(shard int, files, bytes int64) // how far it is; may be nil
}

// SurveyFolders looks through folders for all from which the catalog can be made again. It changes nothing, and the
// node must be stopped.
func SurveyFolders(ctx context.Context, cfg config.Config, of Rebuilding) (*rebuild.Survey, error) {
	r := rebuild.Config{Cluster: of.Cluster, Name: cfg.File.Cluster, Others: of.Also, Signers: of.Signers,
		Told: of.Told, DomainOf: api.DomainOfSeed, Whose: whose}
	if _, err := os.Stat(cfg.Data); err == nil {
		own := rebuild.Dir{Path: cfg.Data, Own: catalog.ReplicaName(cfg.Replica.Name)}
		if len(cfg.Files) > 0 && !slices.Equal(cfg.Files, []string{filepath.Join(cfg.Data, "files")}) {
			own.Files = cfg.Files
		}
		r.Dirs = append(r.Dirs, own)
	}
	for _, dir := range of.From {
		r.Dirs = append(r.Dirs, rebuild.Dir{Path: dir})
	}
	if len(r.Dirs) == 0 {
		return nil, fmt.Errorf("%s is not there, and no other folder is given", cfg.Data)
	}
	for _, table := range cfg.File.Replicas {
		r.Replicas = append(r.Replicas, membership.ReplicaOf(table))
	}
	for _, name := range cfg.File.AllCollections() {
		r.Collections = append(r.Collections, catalog.CollectionName(name))
	}
	slices.Sort(r.Collections) // the first is that of files of which nothing is said, as everywhere
	return rebuild.Look(ctx, r)
}

// MayRebuild refuses a node that has a catalog, or a log of decisions.
func MayRebuild(cfg config.Config) error {
	return membership.MayRestore(membership.Folder{Config: cfg})
}

// whose reads whose data folder it is.
func whose(dir string) (rebuild.Owner, bool, error) {
	k, id, err := membership.OwnerOf(dir)
	if errors.Is(err, membership.ErrNotFounded) {
		return rebuild.Owner{}, false, nil
	}
	o := rebuild.Owner{Cluster: k.Cluster, Node: id, Members: k.Members}
	if err != nil {
		o.Fault = err.Error()
	}
	return o, true, nil
}

// RebuildCatalog makes the configured node the only voter of the cluster whose folders were looked through, in a new
// epoch: see membership.Restore. It writes to the node's own folder, and there to raft, catalog and identity alone.
func RebuildCatalog(ctx context.Context, cfg config.Config, from *rebuild.Survey, log *slog.Logger) (catalog.Cluster,
	error) {
	folder := folderOf(cfg, log)
	now := time.Now()
	return membership.Restore(folder, membership.Restoration{Reason: "rebuilt from the files", Now: now,
		Keep: from.Kept,
		Put: func(dir string, self catalog.NodeID, next membership.Next) error {
			member, err := membership.SelfOf(folder)
			if err != nil {
				return err
			}
			commands, stop := iter.Pull2(from.Commands(ctx, member, catalog.At(now)))
			defer stop()
			made := false
			to := raftConfig(cfg, self)
			to.Dir = dir
			err = raft.Make(to, folder.PrivateDisk(), log, func(v catalog.View) (catalog.Command,
				bool, error) {
				if err := ctx.Err(); err != nil {
					return catalog.Command{}, false, err
				}
				if !made {
					c, err, more := commands()
					if more || err != nil {
						return c, more, err
					}
					made = true
					if err := soundState(ctx, v); err != nil {
						return c, false, err
					}
				}
				return next(v)
			})
			return err
		}})
}

// soundState refuses a state that contradicts itself.
func soundState(ctx context.Context, v catalog.View) error {
	first, found := "", 0
	if _, err := catalog.Check(v, ctx.Err, func(key, what string) {
		if found++; found == 1 {
			first = key + ": " + what
		}
	}); err != nil {
		return err
	}
	if found > 0 {
		return fmt.Errorf("the catalog that was made contradicts itself: %s, and %d more", first, found-1)
	}
	return nil
}

// AdoptFolders takes the files of the folders that the stopped node is to hold, and has not, into its disks. Every byte
// is read and compared with the catalog first, as the node has it: what is wrong is named, and not taken. No copy
// counts until the started node has read it again and reported it. It can be stopped, and goes on with the next call.
func AdoptFolders(ctx context.Context, cfg config.Config, of rebuild.Adoption, log *slog.Logger) (
	out rebuild.Adopted, err error) {
	folder := folderOf(cfg, log)
	id, err := folder.OwnIdentity()
	if err != nil {
		return out, err
	}
	unlock, err := folder.Lock()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := errors.Join(folder.CheckRestoring(), folder.CheckAgreed()); err != nil {
		return out, err
	}
	if membership.MayRestore(folder) == nil { // it has no catalog: it has never run
		return out, rebuild.ErrNoShards
	}
	self := catalog.NodeID(id.ID())
	_, err = folder.State.Agreed(self, func(v catalog.View) error {
		store, err := replica.OpenStore(storeConfig(cfg), folder.FilesDisk(), log)
		if err != nil {
			return err
		}
		out, err = rebuild.Adopt(ctx, rebuild.Taker{Self: self, View: v, Store: store, Whose: whose}, of)
		return err
	})
	return out, err
}
