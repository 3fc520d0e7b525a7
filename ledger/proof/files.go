package proof

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/ledger"
)

const (
	buffer  = 1 << 20
	maxKept = 10000 // findings that the state file keeps
)

// task is one copy of a file that is to be read.
type task struct {
	entry ledger.Entry
	path  string
	first bool // of the file's copies in the folders
}

// pool reads files, several at once.
type pool struct {
	tasks chan task
	under sync.WaitGroup // tasks
	ends  sync.WaitGroup // workers
	mu    sync.Mutex
	c     *check
	read  int64 // bytes that were read of all files
}

func (c *check) newPool(ctx context.Context) *pool {
	p := &pool{tasks: make(chan task, c.Workers), c: c}
	for range c.Workers {
		p.ends.Go(func() {
			space := make([]byte, buffer)
			for t := range p.tasks {
				p.do(ctx, t, space)
				p.under.Done()
			}
		})
	}
	return p
}

func (p *pool) put(t task) {
	p.under.Add(1)
	p.tasks <- t
}

func (p *pool) close() {
	close(p.tasks)
	p.ends.Wait()
}

// do reads one file and compares it.
func (p *pool) do(ctx context.Context, t task, space []byte) {
	got, size, err := digest(ctx, t.path, space, func(n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read += int64(n)
		p.progress()
	})
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.c
	c.result.Bytes += size
	switch {
	case err != nil:
		c.tell(Unread, t.entry.Name, "%v", err)
	case t.entry.Size >= 0 && size != t.entry.Size:
		c.tell(Changed, t.entry.Name, "%s has %d bytes, the ledger says %d", t.path, size, t.entry.Size)
	case got != t.entry.SHA256:
		c.tell(Changed, t.entry.Name, "%s has SHA-256 %s, the ledger says %s", t.path, got, t.entry.SHA256)
	case t.first:
		c.result.Good++
	}
	p.progress()
}

// progress tells how far the check is. The lock is held.
func (p *pool) progress() {
	if c := p.c; c.Progress != nil {
		c.Progress(Progress{Files: c.result.Good, Bytes: p.read, TotalFiles: c.result.Files, TotalBytes: c.bytes})
	}
}

// openRegular opens what lies in a foreign folder: a pipe or a device would never end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // reading a folder says what it is
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// digest reads all of the file.
func digest(ctx context.Context, path string, space []byte, tell func(int)) (ledger.Digest, int64, error) {
	f, err := openRegular(path)
	if err != nil {
		return ledger.Digest{}, 0, err
	}
	defer f.Close()
	sum, size := sha256.New(), int64(0)
	for ctx.Err() == nil {
		n, err := f.Read(space)
		sum.Write(space[:n])
		size += int64(n)
		tell(n)
		if errors.Is(err, io.EOF) {
			return ledger.Digest(sum.Sum(nil)), size, nil
		}
		if err != nil {
			return ledger.Digest{}, size, err
		}
	}
	return ledger.Digest{}, size, ctx.Err()
}

// files compares the folders with the ledger, shard by shard.
func (c *check) files(ctx context.Context, b *ledger.Book) error {
	open := c.opener(c.Ledgers[0])
	for _, path := range c.Ledgers {
		if filepath.Base(path) == c.result.Ledger {
			open = c.opener(path)
		}
	}
	if err := b.OpenLists(open); err != nil {
		c.tell(Wrong, c.result.Ledger, "%v", err)
		return nil
	}
	defer b.Drop()
	if len(c.homes) == 0 {
		return c.alone(ctx, b)
	}
	state, err := c.recall(b)
	if err != nil {
		return err
	}
	p := c.newPool(ctx)
	p.read = c.result.Bytes
	closed := false
	defer func() {
		if !closed {
			p.close()
		}
	}()
	for _, h := range c.homes {
		for _, name := range h.odd {
			if state.Next == 0 {
				p.told(Extra, name, "%s is no folder of a shard", filepath.Join(h.dir, name))
			}
		}
	}
	saved := time.Now()
	for shard := range ledger.Shards {
		entries, _, err := b.Shard(shard)
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if errors.Is(err, ledger.ErrWrong) {
			p.told(Wrong, c.result.Ledger, "%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		if shard < state.Next {
			continue
		}
		c.shard(p, b, shard, entries)
		if c.State != "" && time.Since(saved) >= c.SaveEvery {
			p.under.Wait()
			if err := c.save(ctx, state, shard+1); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	p.close()
	closed = true
	if err := b.Close(); err != nil {
		c.tell(Wrong, c.result.Ledger, "%v", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.forget()
}

// alone reads the lists to their ends, when there are no folders to compare them with.
func (c *check) alone(ctx context.Context, b *ledger.Book) error {
	for shard := range ledger.Shards {
		if _, _, err := b.Shard(shard); err != nil {
			c.tell(Wrong, c.result.Ledger, "%v", err)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := b.Close(); err != nil {
		c.tell(Wrong, c.result.Ledger, "%v", err)
	}
	return nil
}

// told notes a finding while files are read.
func (p *pool) told(kind Kind, name, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.c.tell(kind, name, format, args...)
}

// shard has the files of one shard read, and looks for what the ledger does not list.
func (c *check) shard(p *pool, b *ledger.Book, shard int, entries []ledger.Entry) {
	listed := make(map[string]bool, len(entries))
	own := own(b)
	for _, e := range entries {
		listed[e.Name] = true
		paths := c.paths(e.Name)
		if len(paths) == 0 {
			p.absent(e)
		}
		for i, path := range paths {
			p.put(task{e, path, i == 0})
		}
	}
	for i := range c.homes {
		names, err := c.homes[i].shard(shard)
		if err != nil {
			p.told(Unread, ledger.ShardName(shard), "%v", err)
		}
		for _, name := range names {
			want, ofLedger := own[name]
			switch {
			case listed[name]:
			case ofLedger && ledger.ShardOf(name) == shard:
				if want != (ledger.Digest{}) {
					p.put(task{entry: ledger.Entry{Name: name, Size: -1, SHA256: want}, path: c.homes[i].path(name)})
				}
			default:
				p.extra(c.homes[i].path(name), name, shard)
			}
		}
	}
}

// own returns the files of the ledger itself, which cannot list them, with their digests. Nothing says the digest of
// the
// signatures.
func own(b *ledger.Book) map[string]ledger.Digest {
	head := ledger.HeadName(b.Head.Base)
	out := map[string]ledger.Digest{head: sha256.Sum256(b.Texts[head]), b.Head.Trail.Name: b.Head.Trail.SHA256,
		ledger.SignaturesName(b.Head.Base): {}}
	for i, s := range b.Head.Sheets {
		out[s.File.Name] = s.SHA256
		for _, l := range b.Pages[i].Lists {
			out[l.Name] = l.SHA256
		}
	}
	return out
}

func (p *pool) absent(e ledger.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c.Partial {
		p.c.result.Absent++
		return
	}
	p.c.tell(Missing, e.Name, "%d bytes with SHA-256 %s are in none of the folders", e.Size, e.SHA256)
}

func (p *pool) extra(path, name string, shard int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ledger.ShardOf(name) != shard:
		p.c.tell(Extra, name, "it lies in the folder of shard %s and belongs to %s", ledger.ShardName(shard),
			ledger.ShardName(ledger.ShardOf(name)))
	case p.c.Newer:
		p.c.result.Newer++
	default:
		p.c.tell(Extra, name, "%s is not in the ledger", path)
	}
}
