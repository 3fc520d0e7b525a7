package ledger

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Workshop is where a page and its list are written.
type Workshop interface {
	Create(name string) (io.WriteCloser, error) // in the place of one of the name; on stable storage when closed
	Open(name string) (io.ReadCloser, error)    // what was created
	Rename(from, to string) error
}

// Held is what a holder has of one shard now.
type Held struct {
	Files   []Entry  // by name
	Missing []string // by name; the catalog counts on them here, and they are not
	Checked time.Time
	Faults  int
}

// Build makes a holder's page.
type Build struct {
	Base    string
	Replica string
	Holder  string
	Time    time.Time
	Before  *Page // the holder's page in the ledger before, or nil
	Earlier Open  // opens its lists
	Held    func(shard int) (Held, error)
	In      Workshop
	Told    func(shard int) // how far it is; may be nil
}

// changed is the name under which the list of changes is written first.
const changed = "changed"

// Make writes the page and, where something has changed, its list, in the workshop under their own names. It holds one
// shard in memory. A list that stays behind when it fails is written again.
func (b *Build) Make() (*Page, error) {
	p := &Page{Base: b.Base, Replica: b.Replica, Holder: b.Holder, Time: b.Time}
	list, err := b.compare(p)
	if err != nil {
		return nil, err
	}
	if b.Before != nil {
		p.Lists = slices.Clone(b.Before.Lists)
	}
	if keep := Kept(p.Lists, list.Lines); list.Lines > 0 && keep < len(p.Lists) {
		if list, err = b.merge(p, keep, list); err != nil {
			return nil, err
		}
		p.Lists = p.Lists[:keep]
	} else if list.Lines > 0 {
		if err := b.In.Rename(changed, list.Name); err != nil {
			return nil, err
		}
	}
	if list.Lines > 0 {
		p.Lists = append(p.Lists, list)
	}
	out, err := b.In.Create(PageName(b.Base, b.Holder))
	if err != nil {
		return nil, err
	}
	_, err = out.Write(p.Encode())
	return p, closed(out, err)
}

// compare writes down what has changed, and the page's rows.
func (b *Build) compare(p *Page) (List, error) {
	list := List{File: File{Name: ListName(b.Base, b.Holder)}}
	var lists []List
	if b.Before != nil {
		lists = b.Before.Lists
	}
	before, err := OpenChain(lists, b.Earlier)
	if err != nil {
		return list, err
	}
	defer before.Drop()
	out, err := b.In.Create(changed)
	if err != nil {
		return list, err
	}
	w := NewListWriter(list.Name, out)
	for shard := range Shards {
		if err := b.compareShard(p, before, w, shard); err != nil {
			return list, closed(out, err)
		}
		if b.Told != nil {
			b.Told(shard)
		}
	}
	if err := before.Close(); err != nil {
		return list, closed(out, err)
	}
	list.Lines = w.Lines()
	list.SHA256, err = w.Close()
	return list, closed(out, err)
}

func (b *Build) compareShard(p *Page, before *Chain, w *ListWriter, shard int) error {
	old, _, err := before.Shard(shard)
	if err != nil {
		return err
	}
	now, err := b.Held(shard)
	if err != nil || len(now.Files)+len(now.Missing) == 0 {
		return err
	}
	p.Rows = append(p.Rows, Row{Shard: shard, Root: RootOf(now.Files), Checked: now.Checked, Faults: now.Faults,
		Missing: now.Missing})
	return w.Write(Compare(shard, old, now.Files))
}

// merge writes the lists behind the first keep, and the list of changes, as one.
func (b *Build) merge(p *Page, keep int, changes List) (List, error) {
	older, err := OpenChain(p.Lists[keep:], b.Earlier)
	if err != nil {
		return changes, err
	}
	defer older.Drop()
	since, err := OpenChain([]List{changes}, func(string) (io.ReadCloser, error) { return b.In.Open(changed) })
	if err != nil {
		return changes, err
	}
	defer since.Drop()
	out, err := b.In.Create(changes.Name)
	if err != nil {
		return changes, err
	}
	w := NewListWriter(changes.Name, out)
	if err := Merge(older, since, keep == 0, func(shard int) bool { return p.Row(shard) != nil }, w); err != nil {
		return changes, closed(out, fmt.Errorf("join the lists: %w", err))
	}
	merged := List{File: File{Name: changes.Name}, Lines: w.Lines()}
	merged.SHA256, err = w.Close()
	return merged, closed(out, err)
}

// closed closes what was written. The first error counts.
func closed(out io.Closer, err error) error {
	if failed := out.Close(); err == nil {
		err = failed
	}
	return err
}
