package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"holdfast/cdx"
	"holdfast/internal/kv"
	"holdfast/warc"
)

// Add reads the WARC or ARC file once and makes its captures answer: all of
// them when Add returns nil, none before, and none after a crash in between.
// A file that the index has is not read again. A file whose bytes are damaged
// is added with the captures that can be read, and File.Damage says so; one
// that is no archive file is added with none. Only when the file cannot be
// opened or read is that an error. What Add acknowledged is on stable storage.
func (x *Index) Add(ctx context.Context, file string, open func() (io.ReadCloser, error)) error {
	return x.add(ctx, file, open, false)
}

// Renew is Add that reads the file again though the index has it: the new captures answer in place of the old ones.
func (x *Index) Renew(ctx context.Context, file string, open func() (io.ReadCloser, error)) error {
	return x.add(ctx, file, open, true)
}

func (x *Index) add(ctx context.Context, name string, open func() (io.ReadCloser, error), again bool) error {
	if err := x.gate.enter(); err != nil {
		return err
	}
	defer x.gate.leave()
	var id uint32
	for {
		has, err := x.has(name)
		if err != nil || has && !again {
			return err
		}
		var wait <-chan struct{}
		if id, wait, err = x.files.begin(name); err != nil {
			return err
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	file, err := x.read(ctx, id, name, open)
	if end := x.files.finish(id, name, file); err == nil {
		err = end
	}
	if err != nil || again {
		x.purgeSoon()
	}
	return err
}

// read writes the captures of a file under a number that does not answer yet.
func (x *Index) read(ctx context.Context, id uint32, name string, open func() (io.ReadCloser, error)) (*File, error) {
	if err := kv.Reserve(x.db); err != nil {
		return nil, fmt.Errorf("index %s: %w", name, err)
	}
	in, err := open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer in.Close()
	source := &source{in: in, ctx: ctx, index: x.ctx}
	file := &File{Name: name, rules: captureRules}
	note := func(err error) {
		if file.Damage == "" {
			file.Damage = damage(err)
		}
	}
	r, err := warc.NewReader(source, name)
	if err != nil && source.err == nil {
		note(err)
		return file, nil
	}
	batch := x.db.NewWriteBatch()
	defer batch.Cancel()
	if err == nil {
		err = x.write(batch, id, file, note, source, Captures(r, name))
	}
	if source.err != nil {
		return nil, fmt.Errorf("read %s: %w", name, source.err)
	}
	if err == nil {
		err = batch.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", name, err)
	}
	if file.Damage != "" {
		x.log.Warn("file is damaged; indexed what can be read", "file", name, "captures", file.Captures, "damage",
			file.Damage)
	}
	return file, nil
}

func (x *Index) write(batch *badger.WriteBatch, id uint32, file *File, note func(error), in *source,
	captures iter.Seq2[cdx.Capture, error]) error {
	e := newEncoder()
	for c, err := range captures {
		if in.err != nil {
			return in.err
		}
		if err != nil {
			note(err)
			continue
		}
		if !e.encode(&c, id) {
			continue
		}
		if err := batch.Set(bytes.Clone(e.key), bytes.Clone(e.value)); err != nil {
			return err
		}
		if len(e.digest) > 0 {
			if err := batch.Set(bytes.Clone(e.digest), []byte(c.Key)); err != nil {
				return err
			}
		}
		file.Captures++
	}
	return in.err
}

// source reads a file and remembers why that failed, so that a disk's error is
// not taken for damage in the file.
type source struct {
	in         io.Reader
	ctx, index context.Context
	err        error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if err := s.ctx.Err(); err != nil {
		s.err = err
		return 0, err
	}
	if s.index.Err() != nil {
		s.err = ErrClosed
		return 0, s.err
	}
	n, err := s.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Remove takes a file's captures out of all answers at once. Their room is
// given back in the background. Removing a file that is not there is no error.
func (x *Index) Remove(file string) error {
	if err := x.gate.enter(); err != nil {
		return err
	}
	defer x.gate.leave()
	if err := x.files.remove(file); err != nil {
		return err
	}
	x.purgeSoon()
	return nil
}

func (x *Index) purgeSoon() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// purger purges when there is something to purge, until Close.
func (x *Index) purger() {
	defer x.done.Done()
	x.purgeSoon()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.wake:
		}
		if err := x.Purge(x.ctx); err != nil && !errors.Is(err, ErrLoading) && x.ctx.Err() == nil {
			x.log.Error("purge index", "error", err)
		}
	}
}

// Purge gives back the room of removed files, in one pass over the index. It
// runs by itself after Remove; call it to wait for the end.
func (x *Index) Purge(ctx context.Context) error {
	if err := x.gate.enter(); err != nil {
		return err
	}
	defer x.gate.leave()
	x.purging.Lock()
	defer x.purging.Unlock()
	dead, err := x.files.dead()
	if err != nil || len(dead) == 0 {
		return err
	}
	n := 0
	for _, prefix := range []byte{prefixCapture, prefixDigest} {
		deleted, err := x.purgePrefix(ctx, prefix, dead)
		if err != nil {
			return fmt.Errorf("purge %d files: %w", len(dead), err)
		}
		n += deleted
	}
	if err := x.files.purged(dead); err != nil {
		return fmt.Errorf("end purge of %d files: %w", len(dead), err)
	}
	x.log.Debug("index purged", "files", len(dead), "entries", n)
	return nil
}

func (x *Index) purgePrefix(ctx context.Context, prefix byte, dead map[uint32]bool) (deleted int, err error) {
	txn := x.db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{prefix}})
	defer it.Close()
	batch := x.db.NewWriteBatch()
	defer batch.Cancel()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := errors.Join(ctx.Err(), x.ctx.Err()); err != nil {
			return 0, err
		}
		key := it.Item().Key()
		if len(key) < 1+tailLen {
			continue
		}
		if _, id, _ := tailOf(key); dead[id] {
			if err := batch.Delete(it.Item().KeyCopy(nil)); err != nil {
				return 0, err
			}
			deleted++
		}
	}
	return deleted, batch.Flush()
}
