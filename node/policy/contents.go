package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"holdfast/access"
	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/warc"
)

// Contents knows what is in files: it reads them once, and keeps for some time what it found.
type Contents struct {
	open func(ctx context.Context, name catalog.FileName, offset, length int64) (io.ReadCloser, error)
	turn chan struct{} // a file is read at a time

	mu   sync.Mutex
	kept map[catalog.Digest]contents
	size int // of what is kept
}

// NewContents returns what knows of files that open reads.
func NewContents(open func(context.Context, catalog.FileName, int64, int64) (io.ReadCloser, error)) *Contents {
	return &Contents{open: open, turn: make(chan struct{}, 1), kept: map[catalog.Digest]contents{}}
}

// contents are the captures of a file and what else says which URL it is about.
type contents struct {
	all  []content
	size int
	why  string // it is not known what is in the file; empty: it is
}

// content is what a rule may be about.
type content struct{ key, timestamp string }

// maxKept bounds what is kept, in bytes.
const maxKept = 64 << 20

// Closed returns why somebody may not have the file; empty if he may. What is in a file that is no WARC or ARC file, or
// that is damaged, nobody can tell: it is for those alone who keep the machines.
func (c *Contents) Closed(ctx context.Context, file catalog.File, sight *access.Sight) (why string, err error) {
	found, err := c.of(ctx, file)
	if err != nil {
		return "", fmt.Errorf("look what is in %s: %w", file.Name, err)
	}
	if found.why != "" && !sight.Includes(access.Operator) {
		return found.why, nil
	}
	for _, one := range found.all {
		if sight.Decide(one.key, one.timestamp).Access != access.Allow {
			return "something in it may not be shown to you", nil
		}
	}
	return "", nil
}

// of returns what is in the file.
func (c *Contents) of(ctx context.Context, file catalog.File) (contents, error) {
	known := func() (contents, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		found, there := c.kept[file.SHA256]
		return found, there
	}
	if found, there := known(); there {
		return found, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return contents{}, ctx.Err()
	}
	if found, there := known(); there {
		return found, nil
	}
	in, err := c.open(ctx, file.Name, 0, file.Size)
	if err != nil {
		return contents{}, err
	}
	defer in.Close()
	found, err := read(ctx, in, string(file.Name))
	if err != nil {
		return contents{}, err
	}
	c.keep(file.SHA256, found)
	return found, nil
}

func (c *Contents) keep(sum catalog.Digest, found contents) {
	if sum.IsZero() || found.size > maxKept {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, old := range c.kept { // any: which is asked for next, nobody knows
		if c.size+found.size <= maxKept {
			break
		}
		delete(c.kept, other)
		c.size -= old.size
	}
	c.kept[sum], c.size = found, c.size+found.size
}

// watched tells an archive that cannot be read from bytes that are no WARC file.
type watched struct {
	ctx context.Context
	in  io.Reader
	err error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		w.err = err
		return 0, err
	}
	n, err := w.in.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// read looks through a file. The error is that of reading its bytes.
func read(ctx context.Context, in io.Reader, name string) (contents, error) {
	source := &watched{ctx: ctx, in: in}
	out := contents{size: 100}
	records, err := warc.NewReader(source, name)
	if err != nil {
		out.why = "it is no WARC or ARC file, so that nobody can tell what is in it"
		return out, source.err
	}
	var last content
	for {
		rec, err := records.Next()
		if err == io.EOF {
			return out, source.err
		}
		if source.err != nil {
			return out, source.err
		}
		if err != nil {
			if out.why == "" {
				out.why = "it is damaged, so that nobody can tell all that is in it"
			}
			var known *warc.Error
			if !errors.As(err, &known) {
				return out, nil
			}
			continue
		}
		url := rec.TargetURI()
		if url == "" && (rec.Type == warc.TypeWarcinfo || rec.Type == warc.TypeMetadata) {
			continue
		}
		key, badURL := cdx.Key(url)
		date, badDate := rec.Date()
		if (badURL != nil || badDate != nil) && rec.Type != warc.TypeWarcinfo && out.why == "" {
			out.why = "it has a record whose URL or date cannot be read, so that nobody can tell what that is about"
		}
		// Without a key only a rule about everything can be about it.
		if one := (content{key, cdx.Timestamp(date)}); one != last {
			out.all = append(out.all, one)
			out.size += len(one.key) + len(one.timestamp) + 40
			last = one
		}
	}
}
