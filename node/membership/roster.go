package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/peer"
)

// Links are told which nodes to trust.
type Links interface {
	SetMembers(epoch uint64, members []peer.Member)
}

// Roster is the member list that this node goes by. It is kept in the node's folder, and the links follow it.
type Roster struct {
	folder Folder
	disk   disk.Disk
	self   catalog.NodeID
	links  Links
	log    *slog.Logger

	changing sync.Mutex // one change at a time
	known    atomic.Pointer[Known]
	unkept   atomic.Bool // the disk was too full for the list's copy
}

// NewRoster returns a roster with the content of the folder.
func NewRoster(folder Folder, d disk.Disk, self catalog.NodeID, k Known, links Links, log *slog.Logger) *Roster {
	r := &Roster{folder: folder, disk: d, self: self, links: links, log: log}
	r.set(k)
	return r
}

// Known returns the current list. Do not change it; a change replaces it.
func (r *Roster) Known() *Known { return r.known.Load() }

// has reports whether the node is a member. The list of a founding has no time of joining.
func (k *Known) has(id catalog.NodeID) bool {
	return slices.ContainsFunc(k.Members, func(m catalog.Member) bool { return m.ID == id })
}

// Others returns the ids of the other members.
func (k *Known) Others(self catalog.NodeID) []catalog.NodeID {
	var out []catalog.NodeID
	for _, m := range k.Members {
		if m.ID != self {
			out = append(out, m.ID)
		}
	}
	return out
}

// Others returns the ids of the other members.
func (r *Roster) Others() []catalog.NodeID { return r.Known().Others(r.self) }

// NameOf returns a member's name, or the id itself if it is not a member's.
func (r *Roster) NameOf(id catalog.NodeID) string {
	for _, m := range r.Known().Members {
		if m.ID == id {
			return m.Name
		}
	}
	return string(id)
}

// Applied is the catalog of this node, and how far it has come.
type Applied interface {
	View(func(catalog.View) error) error
	Applied() uint64
	Votes(catalog.NodeID) bool
}

// Follow takes the catalog's member list. A catalog that has not come as far as the list that this node knows, as on
// one that has just joined, says nothing: the members that it lacks yet are those to hear it from. A full disk is no
// error: see Unkept.
func (r *Roster) Follow(c Applied) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	var k Known
	applied := c.Applied()
	err := c.View(func(v catalog.View) (err error) {
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
	k.Index = c.Applied()
	old := *r.Known()
	k.Leaving = r.leaving(old, k, c.Votes)
	if k.Cluster.ID == "" || older(k.Cluster.Epoch, applied, old) || sameKnown(old, k) && !r.unkept.Load() {
		return nil
	}
	err = r.folder.save(r.disk, k)
	if err != nil && !errors.Is(err, disk.ErrFull) {
		return fmt.Errorf("keep the member list: %w", err)
	}
	if was := r.unkept.Swap(err != nil); err != nil && !was {
		r.log.Warn("the member list has no copy on disk until there is room for it", "error", err)
	} else if was && err == nil {
		r.log.Info("the member list has a copy on disk again")
	}
	if !sameKnown(old, k) {
		r.set(k)
	}
	return nil
}

// Unkept reports whether the list's copy on disk is behind, because the disk was full. Who is trusted follows the
// catalog all the same; Follow tries to write the copy again.
func (r *Roster) Unkept() bool { return r.unkept.Load() }

// adopt takes a member list of the same cluster and epoch that a later command has made than the one known here. This
// node's own state may be older than the list: who was removed votes still if this node knows it so, or is told.
func (r *Roster) adopt(k Known, votes func(catalog.NodeID) bool) {
	r.changing.Lock()
	defer r.changing.Unlock()
	old := *r.Known()
	same := k.Cluster.ID == old.Cluster.ID && k.Cluster.Epoch == old.Cluster.Epoch
	if !same || k.Index <= old.Index || sameKnown(old, k) {
		return
	}
	told := k.Leaving
	k.Leaving = r.leaving(old, k, func(id catalog.NodeID) bool {
		return votes(id) || slices.ContainsFunc(told, func(m catalog.Member) bool { return m.ID == id })
	})
	if err := r.folder.save(r.disk, k); err != nil {
		r.log.Warn("a newer member list is not kept", "error", err)
		return
	}
	r.log.Info("a newer member list was told", "members", len(k.Members), "index", k.Index)
	r.set(k)
}

// leaving returns who was a member by the old list, is none by the new one, and still votes. After a recovery nobody
// counts on a vote from before it.
func (r *Roster) leaving(old, now Known, votes func(catalog.NodeID) bool) []catalog.Member {
	if old.Cluster.ID != now.Cluster.ID || old.Cluster.Epoch != now.Cluster.Epoch {
		return nil
	}
	var out []catalog.Member
	for _, m := range slices.Concat(old.Members, old.Leaving) {
		listed := slices.ContainsFunc(now.Members, func(other catalog.Member) bool { return other.ID == m.ID })
		if !listed && m.ID != r.self && votes(m.ID) {
			out = append(out, m)
		}
	}
	return out
}

func (r *Roster) set(k Known) {
	r.known.Store(&k)
	r.links.SetMembers(k.Cluster.Epoch, asPeers(slices.Concat(k.Members, k.Leaving)))
}

func asPeers(members []catalog.Member) []peer.Member {
	out := make([]peer.Member, 0, len(members))
	for _, m := range members {
		out = append(out, peer.Member{ID: peer.ID(m.ID), Name: m.Name, Key: m.Key,
			Addresses: m.Addresses, OutOnly: m.OutOnly})
	}
	return out
}

// older reports whether the catalog at the epoch and index is older than the known list.
func older(epoch, index uint64, k Known) bool {
	return epoch < k.Cluster.Epoch || epoch == k.Cluster.Epoch && index < k.Index
}

func sameKnown(a, b Known) bool {
	a.Index, b.Index = 0, 0
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}
