package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"holdfast/catalog"
	"holdfast/replica"
)

// Adoption says which folders, copied from another replica, are taken into the configured node's disks.
type Adoption struct {
	Dirs []string
	Also []string          // ids of other clusters whose folders are taken
	Link bool              // give files a second name instead of copying them, where the disk is the same
	Told func(bytes int64) // how many were read; may be nil
}

// Adopted is what became of them. Files are counted once for each folder.
type Adopted struct {
	Taken     int64    `json:"taken"`
	Bytes     int64    `json:"bytes"` // of what was taken
	Had       int64    `json:"had"`   // were here already
	Wrong     int64    `json:"wrong"` // have other bytes than the catalog says, or fewer, or cannot be read
	Missing   int64    `json:"missing"`
	Unknown   int64    `json:"unknown"`   // files that the catalog does not know, or that were removed or lost
	Elsewhere int64    `json:"elsewhere"` // files that this node is not to hold
	Left      int64    `json:"left"`      // files that this node is to hold, and has not: they come over the network
	Problems  []string `json:"problems"`  // the first of them
	Found     int64    `json:"found"`     // all
}

// mostProblems is how many of them are kept.
const mostProblems = 100

func (a *Adopted) note(format string, args ...any) {
	if a.Found++; a.Found <= mostProblems {
		a.Problems = append(a.Problems, fmt.Sprintf(format, args...))
	}
}

// ErrNoBytes reports a node that holds no bytes.
var ErrNoBytes = errors.New("its replica holds checksums, and no bytes")

// ErrNoShards reports a node to which no shards have been given.
var ErrNoShards = errors.New("this node has no shards yet: start it, until holdfast node show says that it has some")

// Taker is the stopped node that takes them.
type Taker struct {
	Self  catalog.NodeID
	View  catalog.View                           // the catalog as the node has it
	Store *replica.Store                         // the node's, in which nothing else works
	Whose func(data string) (Owner, bool, error) // whose data folder it is, as its node wrote it down
}

// Adopt takes the files of the folders that the node is to hold, and has not, into its store. Every byte is read and
// compared with the catalog first: what is wrong is named, and not taken. No copy counts until the started node has
// read it again and reported it. It can be stopped, and goes on with the next call.
func Adopt(ctx context.Context, to Taker, of Adoption) (out Adopted, err error) {
	out.Problems = []string{}
	err = (&adopting{Adoption: of, to: to, out: &out}).run(ctx)
	return out, err
}

// adopting is an adoption under way.
type adopting struct {
	Adoption
	to   Taker
	out  *Adopted
	of   catalog.ReplicaName
	lone bool  // the only node of its replica
	seen []int // files and lines, by folder
}

func (a *adopting) run(ctx context.Context) error {
	cluster, err := catalog.Known(a.to.View)
	if err != nil {
		return err
	}
	if err := a.place(); err != nil {
		return err
	}
	var folders []*Shipped
	for _, dir := range a.Dirs {
		s, err := OpenShipped(dir, cluster.ID, a.Also, a.to.Whose)
		if err != nil {
			return err
		}
		folders = append(folders, s)
	}
	a.seen = make([]int, len(folders))
	layout, err := a.to.View.Layout(a.of)
	if err != nil {
		return err
	}
	mine := func(p catalog.Placement) bool {
		return p.Holder == a.to.Self || p.Next == a.to.Self || p.Holder == "" && a.lone
	}
	if !slices.ContainsFunc(layout, mine) {
		return ErrNoShards
	}
	for n := range catalog.Shard(catalog.Shards) {
		ours := mine(layout[n])
		if err := a.shard(ctx, n, ours, folders); err != nil {
			return err
		}
	}
	for i, from := range folders {
		if a.seen[i] == 0 {
			a.out.note("%s: there is nothing in it; is the disk not mounted?", from.Dir)
		}
	}
	return nil
}

// place finds out which replica the node is of.
func (a *adopting) place() error {
	m, err := a.to.View.Member(a.to.Self)
	if err != nil {
		return fmt.Errorf("look for this node in its catalog: %w; let it join, and start it once", err)
	}
	r, err := a.to.View.Replica(m.Replica)
	if err != nil {
		return err
	}
	if r.Kind != catalog.Bitarchive {
		return fmt.Errorf("%s: %w", m.Name, ErrNoBytes)
	}
	members, err := a.to.View.Members()
	others := slices.ContainsFunc(members, func(o catalog.Member) bool {
		return o.Replica == m.Replica && o.ID != m.ID
	})
	a.of, a.lone = m.Replica, !others
	return err
}

// shard takes the files of one shard, and counts those that are still missing.
func (a *adopting) shard(ctx context.Context, n catalog.Shard, ours bool, folders []*Shipped) error {
	had, err := replica.Listed(a.to.Store, n)
	if err != nil {
		return err
	}
	for i, from := range folders {
		paths, missing := from.Shard(n, a.out.note)
		a.seen[i] += len(paths) + len(missing)
		for _, name := range missing {
			a.out.Missing++
			a.out.note("%s: %s is in the manifest, and not there: the folder was not copied whole", from.Dir, name)
		}
		for _, name := range slices.Sorted(maps.Keys(paths)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := a.file(ctx, name, paths[name], ours, had); err != nil {
				return fmt.Errorf("%s: %w", paths[name], err)
			}
		}
	}
	if !ours {
		return nil
	}
	after := catalog.FileName("")
	for {
		page, err := a.to.View.ShardFiles(n, after, 1000)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			f := &page[i]
			after = f.Name
			if c := f.Copy(a.of); c == nil || c.Surplus || f.Removed != 0 || f.Lost != 0 {
				continue
			}
			if h, there := had[f.Name]; !there || h.SHA256 != f.SHA256 {
				a.out.Left++
			}
		}
	}
}

// file takes one file, or says why not. An error ends the adoption.
func (a *adopting) file(ctx context.Context, name catalog.FileName, path string, ours bool,
	had map[catalog.FileName]replica.Held) error {
	f, err := a.to.View.File(name)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		a.out.Unknown++
		a.out.note("%s: the catalog does not know the file", path)
		return nil
	case err != nil:
		return err
	case f.Removed != 0 || f.Lost != 0:
		a.out.Unknown++
		a.out.note("%s: the file was removed, or declared lost", path)
		return nil
	}
	if c := f.Copy(a.of); !ours || c == nil || c.Surplus {
		a.out.Elsewhere++
		return nil
	}
	if h, there := had[name]; there && h.SHA256 == f.SHA256 {
		a.out.Had++
		return nil
	}
	info, err := os.Lstat(path)
	if err == nil && info.Size() != f.Size {
		err = fmt.Errorf("%w: it has %d of %d bytes", io.ErrUnexpectedEOF, info.Size(), f.Size)
	}
	want := replica.Held{Name: name, Size: f.Size, SHA256: f.SHA256}
	if err == nil {
		err = replica.Import(ctx, a.to.Store, want, path, a.Link, func(n int64) {
			if a.Told != nil {
				a.Told(n)
			}
		})
	}
	switch {
	case err == nil:
		a.out.Taken, a.out.Bytes = a.out.Taken+1, a.out.Bytes+f.Size
		had[name] = want
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, replica.ErrExists):
		a.out.note("%s: another file of the name lies here; the node reads it when it is started", path)
	case errors.Is(err, replica.ErrNotStored):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		a.out.note("%s: %v: it was not copied whole", path, err)
	case errors.Is(err, replica.ErrDamaged), errors.Is(err, fs.ErrPermission):
		a.out.note("%s: %v", path, err)
	default:
		a.out.note("%s: it cannot be read: %v", path, err)
	}
	a.out.Wrong++
	return nil
}
