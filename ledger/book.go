package ledger

import (
	"errors"
	"fmt"
	"io"
)

// Book is a whole ledger that is being read: its head, its pages, and their lists side by side.
type Book struct {
	Head   *Head
	Pages  []*Page
	Texts  map[string][]byte // of the head and the pages, for their signatures
	chains []*Chain
}

// maxText bounds the head and each page: 4096 rows, and names of missing files.
const maxText = 64 << 20

// OpenBook reads the ledger of the name: the head and its pages are compared with each other, and its lists are opened.
func OpenBook(name string, open Open) (*Book, error) {
	b := &Book{Texts: map[string][]byte{}}
	text, err := Slurp(name, open)
	if err != nil {
		return nil, err
	}
	b.Texts[name] = text
	if b.Head, err = ParseHead(name, reader(text)); err != nil {
		return nil, err
	}
	for _, s := range b.Head.Sheets {
		text, err := Slurp(s.File.Name, open)
		if err != nil {
			return nil, err
		}
		if got := digestOf(text); got != s.SHA256 {
			return nil, wrong(s.File.Name, "it has SHA-256 %s, the ledger says %s", got, s.SHA256)
		}
		b.Texts[s.File.Name] = text
		p, err := ParsePage(s.File.Name, reader(text))
		if err != nil {
			return nil, err
		}
		b.Pages = append(b.Pages, p)
	}
	return b, b.Head.Assemble(b.Pages)
}

// OpenLists opens the lists of all pages, before the first Shard.
func (b *Book) OpenLists(open Open) error {
	for _, p := range b.Pages {
		c, err := OpenChain(p.Lists, open)
		if err != nil {
			b.Drop()
			return err
		}
		b.chains = append(b.chains, c)
	}
	return nil
}

// Shard returns the files of the shard by name, and its row, which is nil where nobody holds any. The files are those
// whose root the holder's page has. Each shard is asked for once, in their order.
func (b *Book) Shard(shard int) ([]Entry, *Row, error) {
	var files []Entry
	var row *Row
	for i, c := range b.chains {
		all, _, err := c.Shard(shard)
		if err != nil {
			return nil, nil, err
		}
		r := b.Pages[i].Row(shard)
		if r == nil {
			continue
		}
		files, row = all, r
		if got := RootOf(all); got != r.Root {
			return nil, nil, wrong(PageName(b.Head.Base, b.Pages[i].Holder), "shard %s: the lists name %d files "+
				"of %d bytes "+
				"with root %s, the page says %d of %d with root %s", ShardName(shard), got.Files, got.Bytes, got.Sum,
				r.Root.Files, r.Root.Bytes, r.Root.Sum)
		}
	}
	return files, row, nil
}

// Close reads the lists' ends and compares the lists with their digests. It is to be called when all shards were read.
func (b *Book) Close() error {
	var err error
	for _, c := range b.chains {
		err = errors.Join(err, c.Close())
	}
	b.chains = nil
	return err
}

// Drop closes the lists before their ends.
func (b *Book) Drop() {
	for _, c := range b.chains {
		c.Drop()
	}
	b.chains = nil
}

// Follows says what is wrong with the ledger as the one behind the other, whose head has the text.
func (h *Head) Follows(before *Head, text []byte) error {
	name := HeadName(h.Base)
	switch {
	case before.Replica != h.Replica || before.ClusterID != h.ClusterID:
		return wrong(name, "%s is of another replica or cluster", HeadName(before.Base))
	case h.Previous == nil:
		return wrong(name, "it says that it is the first, behind %s", HeadName(before.Base))
	case h.Serial != before.Serial+1:
		return wrong(name, "it is number %d, %s is number %d: one between them is missing", h.Serial,
			HeadName(before.Base), before.Serial)
	case h.Previous.Name != HeadName(before.Base):
		return wrong(name, "it follows %s, not %s", h.Previous.Name, HeadName(before.Base))
	case h.Previous.SHA256 != digestOf(text):
		return wrong(name, "%s has SHA-256 %s, and is named with %s: the older one was changed", h.Previous.Name,
			digestOf(text), h.Previous.SHA256)
	case h.Span.First != before.Span.Last+1 || h.Span.Before != before.Span.Head:
		return wrong(name, "its trail begins with event %d, that of %s ends with %d, or their hashes differ: the "+
			"trail is cut",
			h.Span.First, HeadName(before.Base), before.Span.Last)
	case h.Time.Before(before.Time):
		return wrong(name, "it is older than %s, which it follows", HeadName(before.Base))
	}
	return nil
}

// Diff tells what came, went and changed between two ledgers of a replica, shard by shard in the order of shards.
func Diff(before, after *Book, tell func(Changes) error) error {
	for shard := range Shards {
		old, _, err := before.Shard(shard)
		if err != nil {
			return err
		}
		now, _, err := after.Shard(shard)
		if err != nil {
			return err
		}
		if c := Compare(shard, old, now); len(c.Came)+len(c.Gone) > 0 {
			if err := tell(c); err != nil {
				return err
			}
		}
	}
	return errors.Join(before.Close(), after.Close())
}

// Slurp reads a head or a page whole, if it is no longer than they can be.
func Slurp(name string, open Open) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, wrong(name, "it is longer than %d bytes", maxText)
	}
	return text, nil
}

// ReadHead reads a head alone, from the text that was found under the name.
func ReadHead(name string, text []byte) (*Head, error) { return ParseHead(name, reader(text)) }

// ReadPage reads a page alone, from the text that was found under the name.
func ReadPage(name string, text []byte) (*Page, error) { return ParsePage(name, reader(text)) }
