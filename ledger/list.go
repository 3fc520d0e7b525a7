package ledger

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

const listTitle = "# holdfast-ledger-list 1"

// Changes is what came and went in one shard.
type Changes struct {
	Shard int
	Came  []Entry // by name
	Gone  []Entry // by name
}

// ListWriter writes a list of files, shard by shard in their order.
type ListWriter struct {
	out  *bufio.Writer
	sum  hash.Hash
	n    int64
	last int
}

// NewListWriter begins the list of the name.
func NewListWriter(name string, to io.Writer) *ListWriter {
	w := &ListWriter{sum: sha256.New(), last: -1}
	w.out = bufio.NewWriterSize(io.MultiWriter(to, w.sum), 256<<10)
	fmt.Fprintf(w.out, "%s\n# name %s\n", listTitle, name)
	return w
}

// Write adds a shard behind those before. A shard of which nothing is to be said is passed over.
func (w *ListWriter) Write(c Changes) error {
	if len(c.Came)+len(c.Gone) == 0 {
		return nil
	}
	if c.Shard <= w.last {
		return fmt.Errorf("shard %s is written after %s", ShardName(c.Shard), ShardName(w.last))
	}
	w.last = c.Shard
	fmt.Fprintf(w.out, "# shard %s\n", ShardName(c.Shard))
	for _, e := range c.Gone {
		fmt.Fprintf(w.out, "# gone %s %d %s\n", e.SHA256, e.Size, e.Name)
	}
	for _, e := range c.Came {
		fmt.Fprintf(w.out, "# size %d%s  %s\n%s  %s\n", e.Size, e.Origin, e.Name, e.SHA256, e.Name)
	}
	w.n += int64(len(c.Came) + len(c.Gone))
	_, err := w.out.Write(nil)
	return err
}

// Lines returns how many files the list names so far.
func (w *ListWriter) Lines() int64 { return w.n }

// Close ends the list and returns its digest.
func (w *ListWriter) Close() (Digest, error) {
	fmt.Fprintf(w.out, "# end %d\n", w.n)
	if err := w.out.Flush(); err != nil {
		return Digest{}, err
	}
	return Digest(w.sum.Sum(nil)), nil
}

// listReader reads a list shard by shard.
type listReader struct {
	want  List
	lines *lines
	sum   hash.Hash
	n     int64
	last  int
}

func newListReader(want List, in io.Reader) (*listReader, error) {
	r := &listReader{want: want, sum: sha256.New(), last: -1}
	r.lines = newLines(want.Name, io.TeeReader(in, r.sum))
	if title, err := r.lines.take(); err != nil || title != listTitle {
		return nil, orWrong(err, r.lines, "%q is not %q", clip(title), listTitle)
	}
	var name string
	if err := r.lines.words("name", &name); err != nil {
		return nil, err
	}
	if name != want.Name {
		return nil, r.lines.wrong("it is the list %s, in the place of another", clip(name))
	}
	return r, nil
}

// shard returns what the list says of the shard. Shards are asked for in their order.
func (r *listReader) shard(shard int) (c Changes, there bool, err error) {
	text, err := r.lines.peek()
	name, ok := strings.CutPrefix(text, "# shard ")
	if err != nil || !ok {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return c, false, err
	}
	at, ok := parseShard(name)
	if !ok || at <= r.last {
		return c, false, r.lines.wrong("%q is not the beginning of a shard in its place", clip(text))
	}
	if at != shard {
		return c, false, nil
	}
	r.lines.have, r.last = false, at
	c = Changes{Shard: shard}
	return c, true, r.entries(&c)
}

// entries reads the lines of a shard.
func (r *listReader) entries(c *Changes) error {
	for {
		text, err := r.lines.peek()
		if errors.Is(err, io.EOF) || err == nil && (strings.HasPrefix(text, "# shard ") || strings.HasPrefix(text,
			"# end ")) {
			return nil
		}
		if err != nil {
			return err
		}
		r.lines.have = false
		gone, isGone := strings.CutPrefix(text, "# gone ")
		var e Entry
		if isGone {
			e, err = r.gone(gone)
		} else {
			e, err = r.came(text)
		}
		if err == nil && ShardOf(e.Name) != c.Shard {
			err = r.lines.wrong("%s is no file of shard %s", e.Name, ShardName(c.Shard))
		}
		if err != nil {
			return err
		}
		to := &c.Came
		if isGone {
			to = &c.Gone
		}
		if n := len(*to); n > 0 && (*to)[n-1].Name >= e.Name || isGone && len(c.Came) > 0 {
			return r.lines.wrong("%s is named twice, or not in its place", e.Name)
		}
		*to = append(*to, e)
		r.n++
	}
}

func (r *listReader) gone(text string) (e Entry, err error) {
	var digest, size string
	if err := r.lines.split(text, &digest, &size, &e.Name); err != nil {
		return e, err
	}
	var err2 error
	e.SHA256, err = ParseDigest(digest)
	e.Size, err2 = parseCount(size)
	return e, r.lines.because(errors.Join(err, err2, checkName(e.Name)))
}

func (r *listReader) came(text string) (e Entry, err error) {
	rest, ok := strings.CutPrefix(text, "# size ")
	said, name, cut := strings.Cut(rest, "  ")
	if !ok || !cut {
		return e, r.lines.wrong("%q is not the size of a file", clip(text))
	}
	size, origin, hasOrigin := strings.Cut(said, " ")
	if e.Size, err = parseCount(size); err == nil && hasOrigin {
		e.Origin, err = parseOrigin(origin)
	}
	if err != nil {
		return e, r.lines.because(err)
	}
	if e.SHA256, e.Name, err = r.lines.summed(); err != nil {
		return e, err
	}
	if e.Name != name {
		return e, r.lines.wrong("the size of %s stands before %s", clip(name), e.Name)
	}
	return e, nil
}

// close reads the end, and compares the list with what the page says of it.
func (r *listReader) close() error {
	if err := r.lines.end(r.n); err != nil {
		return err
	}
	if err := r.lines.over(); err != nil {
		return err
	}
	if got := Digest(r.sum.Sum(nil)); got != r.want.SHA256 || r.n != r.want.Lines {
		return wrong(r.want.Name, "it has SHA-256 %s and %d lines, its page says %s and %d", got, r.n, r.want.SHA256,
			r.want.Lines)
	}
	return nil
}
