package raft

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"
)

// installBatch is how many bytes are handed to Badger's stream writer at a time.
const installBatch = 1 << 20

// install makes a new store from a streamed snapshot: written, synced, read back and compared, and only then
// pointed to. The present store stays what readers see until adopt. On error the present store stays valid
// and the new folder is removed.
func (s *state) install(r io.Reader, accept func(streamHead) error) (next *store, err error) {
	s.mu.Lock()
	s.number++
	number := s.number
	s.mu.Unlock()
	dir := s.folder(number)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.disk.RemoveAll(dir))
		}
	}()
	if err := s.step("install begin"); err != nil {
		return nil, err
	}
	in, err := newStreamReader(r)
	if err != nil {
		return nil, err
	}
	if err := accept(in.head); err != nil {
		return nil, err
	}
	if err := s.fill(dir, in); err != nil {
		return nil, err
	}
	if err := s.step("install written"); err != nil {
		return nil, err
	}
	if next, err = openStore(dir, s.disk, s.cacheMiB, s.log); err != nil {
		return nil, err
	}
	if err := s.finish(next, in, number); err != nil {
		return nil, errors.Join(err, next.close())
	}
	return next, nil
}

// fill writes the stream's keys into a new folder and closes it.
func (s *state) fill(dir string, in *streamReader) (err error) {
	fresh, err := openStore(dir, s.disk, s.cacheMiB, s.log)
	if err != nil {
		return err
	}
	defer func() {
		if closing := fresh.close(); err == nil {
			err = closing
		}
	}()
	w := fresh.db.NewStreamWriter()
	if err := w.Prepare(); err != nil {
		return fmt.Errorf("install a state in %s: %w", dir, err)
	}
	if err := pour(in, w); err != nil {
		w.Cancel()
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("install a state in %s: %w", dir, err)
	}
	return nil
}

// pour hands the stream's keys to the stream writer, all at the version of the position among them.
func pour(in *streamReader, w *badger.StreamWriter) error {
	buf := z.NewBuffer(2*installBatch, "install")
	defer func() { _ = buf.Release() }() // only unmaps or frees memory
	var version uint64
	var held []*pb.KV // keys before the position
	for {
		key, value, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		kv := &pb.KV{Key: bytes.Clone(key), Value: bytes.Clone(value), StreamId: 1}
		if string(key) == positionKey {
			pos, err := decodePosition(value)
			if err != nil {
				return err
			}
			version = pos.Index
		}
		held = append(held, kv)
		if version == 0 {
			if !reserved(key) {
				break
			}
			continue
		}
		for _, kv := range held {
			kv.Version = version
			badger.KVToBuffer(kv, buf)
		}
		held = held[:0]
		if buf.LenNoPadding() < installBatch {
			continue
		}
		if err := w.Write(buf); err != nil {
			return fmt.Errorf("install a state: %w", err)
		}
		buf.Reset()
	}
	if version == 0 || version > in.head.Index {
		return fmt.Errorf("%w: a streamed snapshot of index %d has position %d", ErrDamaged, in.head.Index, version)
	}
	if err := w.Write(buf); err != nil {
		return fmt.Errorf("install a state: %w", err)
	}
	return nil
}

// finish reads the new store back, compares it with what was sent, syncs it and points to it.
func (s *state) finish(next *store, in *streamReader, number int) error {
	sum := &lastBytes{}
	if err := writeStream(sum, next, in.head); err != nil {
		return err
	}
	if !bytes.Equal(sum.tail, in.total) {
		return fmt.Errorf("%w: the state written in %s differs from the one that was received", ErrDamaged, next.dir)
	}
	if err := s.step("install verified"); err != nil {
		return err
	}
	m := marker{Index: in.head.Index, Term: in.head.Term, Synced: next.position.Index, Whole: new(in.head.Index)}
	if err := next.writeMarker(m); err != nil {
		return err
	}
	return s.publish(next, number)
}

// lastBytes keeps the last bytes written to it, as many as a checksum has.
type lastBytes struct{ tail []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	if len(p) >= sha256.Size {
		l.tail = append(l.tail[:0], p[len(p)-sha256.Size:]...)
		return len(p), nil
	}
	l.tail = append(l.tail, p...)
	l.tail = l.tail[max(0, len(l.tail)-sha256.Size):]
	return len(p), nil
}

// unbroken returns the latest version that the chain of batches reaches, starting from what was synced.
func (s *store) unbroken() (uint64, error) {
	txn := s.db.NewTransactionAt(^uint64(0), false)
	defer txn.Discard()
	opts := badger.DefaultIteratorOptions
	opts.AllVersions = true
	opts.PrefetchValues = false
	it := txn.NewKeyIterator([]byte(positionKey), opts)
	defer it.Close()
	whole := s.position.Index
	expected := whole
	for it.Rewind(); it.Valid(); it.Next() {
		version := it.Item().Version()
		if version != expected {
			whole = version // what came after this one is not complete
		}
		if version <= s.marker.Synced {
			return whole, nil
		}
		var pos position
		err := it.Item().Value(func(value []byte) (err error) {
			pos, err = decodePosition(value)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("read the state in %s: %w", s.dir, err)
		}
		expected = pos.Previous
	}
	switch {
	case expected == 0:
		return whole, nil
	case s.marker.Synced > 0:
		return 0, fmt.Errorf("%w: the state in %s is missing the batch of index %d", ErrDamaged, s.dir, expected)
	}
	return 0, nil // the very first batches are missing
}

// configurationAt returns the configuration the store had at an earlier version.
func (s *store) configurationAt(version uint64) (configuration, error) {
	return ownAt(s, version, configurationKey, decodeConfiguration)
}

// positionAt returns the position the store had at an earlier version.
func (s *store) positionAt(version uint64) (position, error) {
	return ownAt(s, version, positionKey, decodePosition)
}

// ownAt returns one of the store's own values as it was at an earlier version, the zero value where there was none.
func ownAt[T any](s *store, version uint64, key string, decode func([]byte) (T, error)) (value T, err error) {
	err = s.viewAt(version, func(r reader) error {
		raw, err := r.own(key)
		if err != nil || raw == nil {
			return err
		}
		value, err = decode(raw)
		return err
	})
	return value, err
}
