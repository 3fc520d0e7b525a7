package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Open opens a file of a ledger by its name.
type Open func(name string) (io.ReadCloser, error)

// Chain reads the lists of one page side by side, oldest first: the entries of a shard are those of all lists, one list
// after the other. It holds one shard in memory. What it returned counts only once Close has returned nil.
type Chain struct {
	lists []*listReader
	files []io.Closer
	next  int
}

// OpenChain opens the lists.
func OpenChain(lists []List, open Open) (*Chain, error) {
	c := &Chain{}
	for _, l := range lists {
		f, err := open(l.Name)
		if err == nil {
			c.files = append(c.files, f)
			var r *listReader
			r, err = newListReader(l, f)
			c.lists = append(c.lists, r)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open list %s: %w", l.Name, err), c.drop())
		}
	}
	return c, nil
}

// Shard returns the files of the shard, by name, and what has to be said of the shard so that a reader of the older
// lists alone knows the same (nothing, if no list speaks of it). Each shard is asked for once, in their order.
func (c *Chain) Shard(shard int) ([]Entry, Changes, error) {
	if shard != c.next {
		return nil, Changes{}, fmt.Errorf("shard %s was asked for where %s comes next", ShardName(shard),
			ShardName(c.next))
	}
	c.next++
	all := Changes{Shard: shard}
	came, gone := map[string]Entry{}, map[string]Entry{}
	for _, l := range c.lists {
		one, there, err := l.shard(shard)
		if err != nil {
			return nil, all, err
		}
		if !there {
			continue
		}
		for _, e := range one.Gone {
			had, here := came[e.Name]
			if here && !had.same(e) {
				return nil, all, wrong(l.want.Name, "%s went with another size or SHA-256 than it came", e.Name)
			}
			took(came, gone, e)
		}
		for _, e := range one.Came {
			if _, twice := came[e.Name]; twice {
				return nil, all, wrong(l.want.Name, "%s comes although it is there", e.Name)
			}
			came[e.Name] = e
		}
	}
	all.Came, all.Gone = byName(came), byName(gone)
	return all.Came, all, nil
}

func byName(m map[string]Entry) []Entry {
	return slices.SortedFunc(maps.Values(m), func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// Close reads the ends of the lists and compares them with their digests. It fails with an ErrWrong unless all shards
// were read.
func (c *Chain) Close() error {
	var err error
	if c.next != Shards {
		err = fmt.Errorf("only %d shards were read", c.next)
	}
	for _, l := range c.lists {
		if err == nil {
			err = l.close()
		}
	}
	return errors.Join(err, c.drop())
}

// Drop closes the files without a look at their ends.
func (c *Chain) Drop() { _ = c.drop() }

func (c *Chain) drop() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	c.files = nil
	return err
}

// Compare returns what came and went from one state of a shard to the next, both by name.
func Compare(shard int, before, after []Entry) Changes {
	c := Changes{Shard: shard}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
			c.Gone, before = append(c.Gone, before[0]), before[1:]
		case len(before) == 0 || after[0].Name < before[0].Name:
			c.Came, after = append(c.Came, after[0]), after[1:]
		default:
			if !before[0].same(after[0]) {
				c.Gone, c.Came = append(c.Gone, before[0]), append(c.Came, after[0])
			}
			before, after = before[1:], after[1:]
		}
	}
	return c
}

// Kept returns how many of the page's lists stay as they are when a list of n lines comes: those behind are written
// again in one with it. A list stays while it is more than twice as long as all that follows, so that a page has
// few lists, and a line is written again only as often as the number of lines doubles.
func Kept(lists []List, n int64) int {
	keep := len(lists)
	for keep > 0 && lists[keep-1].Lines <= 2*n {
		keep--
		n += lists[keep].Lines
	}
	return keep
}

// Merge writes the newest lists of a page, and what has changed since, as one list that says the same. oldest says that
// there are none before, so that nothing has to be said of what is gone; holds says of which shards the holder still
// has files. changed has to be asked for in the order of shards.
func Merge(older *Chain, changed *Chain, oldest bool, holds func(shard int) bool, to *ListWriter) error {
	for shard := range Shards {
		_, before, err := older.Shard(shard)
		if err != nil {
			return err
		}
		_, since, err := changed.Shard(shard)
		if err != nil {
			return err
		}
		if !holds(shard) {
			continue
		}
		if err := to.Write(joined(before, since, oldest)); err != nil {
			return err
		}
	}
	return errors.Join(older.Close(), changed.Close())
}

// took notes that a file went. What had come in the same lists was not there before them, and needs no word.
func took(came, gone map[string]Entry, e Entry) {
	if _, here := came[e.Name]; here {
		delete(came, e.Name)
		return
	}
	gone[e.Name] = e
}

// joined is what two changes come to, one after the other.
func joined(a, b Changes, oldest bool) Changes {
	out := Changes{Shard: a.Shard}
	came, gone := map[string]Entry{}, map[string]Entry{}
	for _, c := range []Changes{a, b} {
		for _, e := range c.Gone {
			took(came, gone, e)
		}
		for _, e := range c.Came {
			came[e.Name] = e
		}
	}
	out.Came, out.Gone = byName(came), byName(gone)
	if oldest {
		out.Gone = nil
	}
	return out
}
