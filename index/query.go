package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/dgraph-io/badger/v4"

	"holdfast/cdx"
)

// maxHeld bounds the captures that a query holds to answer backwards.
const maxHeld = 10_000

// Query yields the matching captures, in order of key, then time, of files for which covers is true (nil: all). The
// result is meant for cdx.Merge and cdx.Arrange: Sort and Limit only leave out captures that the arranged answer
// cannot contain. Memory is bounded whatever the answer's size, and nothing of the database is held open while the
// caller uses a capture.
func (x *Index) Query(ctx context.Context, q cdx.Query, covers func(file string) bool) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		plan, err := q.Compile()
		if err != nil {
			yield(cdx.Capture{}, err)
			return
		}
		s := &scan{x: x, ctx: ctx, plan: plan, covers: covers, seen: map[uint32]string{}}
		if err := s.run(q, yield); err != nil {
			yield(cdx.Capture{}, err)
		}
	}
}

// scan is one query under way.
type scan struct {
	x      *Index
	ctx    context.Context
	txn    *badger.Txn // while the database is read
	asOf   uint64      // the version of the database when the query began
	plan   *cdx.Plan
	covers func(string) bool
	seen   map[uint32]string // names of files whose captures can be found, "" for others
}

// Captures are read ahead before they are handed on, first a few, then more: a slow caller holds nothing of the
// database open.
const (
	firstAhead = 16
	mostAhead  = 128
)

// inside calls read with the database open.
func (s *scan) inside(read func() error) error {
	if err := s.x.gate.enter(); err != nil {
		return err
	}
	defer s.x.gate.leave()
	s.txn = s.x.db.NewTransaction(false)
	defer s.txn.Discard()
	if s.asOf == 0 {
		s.asOf = s.txn.ReadTs()
	}
	if err := read(); err != nil {
		return fmt.Errorf("query index: %w", err)
	}
	return nil
}

func (s *scan) run(q cdx.Query, yield func(cdx.Capture, error) bool) error {
	exact := q.Match == cdx.Exact || q.Match == ""
	few := q.Limit > 0 && q.Limit <= maxHeld && q.Collapse == 0
	switch {
	case few && q.Sort == cdx.Closest && exact:
		return s.closest(q, yield)
	case few && q.Sort == cdx.Reverse:
		last, err := s.backward(s.end(), q.Limit)
		for _, c := range slices.Backward(last) {
			if !yield(c, nil) {
				return nil
			}
		}
		return err
	}
	limit := 0
	if few && q.Sort == cdx.Forward {
		limit = q.Limit
	}
	return s.forward(s.start(), limit, func(c cdx.Capture) bool { return yield(c, nil) })
}

// closest yields the captures nearest to a time on both sides of it.
func (s *scan) closest(q cdx.Query, yield func(cdx.Capture, error) bool) error {
	target, err := cdx.PadTimestamp(q.Closest, cdx.Low)
	if err != nil {
		return err
	}
	at := s.keyAt(target)
	before, err := s.backward(at, q.Limit)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(before) {
		if !yield(c, nil) {
			return nil
		}
	}
	return s.forward(at, q.Limit, func(c cdx.Capture) bool { return yield(c, nil) })
}

// start is where a forward scan begins.
func (s *scan) start() []byte {
	if s.plan.High == s.plan.Low+"\x00" && s.plan.From != "" {
		return s.keyAt(s.plan.From)
	}
	return append([]byte{prefixCapture}, s.plan.Low...)
}

// end is the first key after the range of the plan.
func (s *scan) end() []byte {
	if s.plan.High != s.plan.Low+"\x00" {
		return append([]byte{prefixCapture}, s.plan.High...)
	}
	return append([]byte{prefixCapture}, s.plan.Low+"\x01"...)
}

// keyAt is the first key of the plan's one URL at a time.
func (s *scan) keyAt(timestamp string) []byte {
	at, _ := strconv.ParseUint(timestamp, 10, 64) // padded: 14 digits
	return captureKey(s.plan.Low, at, 0, 0)
}

// forward yields matching captures from a key on; limit 0 means no limit. The database is not held open while the
// caller uses a capture.
func (s *scan) forward(from []byte, limit int, hand func(cdx.Capture) bool) error {
	ahead, left := firstAhead, limit
	for from != nil {
		if limit > 0 {
			ahead = min(ahead, left)
		}
		var found []cdx.Capture
		err := s.inside(func() (err error) {
			found, from, err = s.ahead(from, ahead)
			return err
		})
		for i := range found {
			if !hand(found[i]) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if left -= len(found); limit > 0 && left <= 0 {
			return nil
		}
		ahead = min(2*ahead, mostAhead)
	}
	return nil
}

// ahead returns up to n matching captures from a key on, and the key to continue from, nil at the end.
func (s *scan) ahead(from []byte, n int) (found []cdx.Capture, next []byte, err error) {
	it := s.txn.NewIterator(badger.IteratorOptions{Prefix: s.prefix(), PrefetchValues: false})
	defer it.Close()
	end := s.end()
	for it.Seek(from); it.Valid(); it.Next() {
		item := it.Item()
		if bytes.Compare(item.Key(), end) >= 0 {
			return found, nil, nil
		}
		if len(found) == n {
			return found, item.KeyCopy(nil), nil
		}
		c, ok, err := s.match(item)
		if err != nil {
			return found, nil, err
		}
		if ok {
			found = append(found, c)
		}
	}
	return found, nil, nil
}

// backward returns up to limit matching captures before a key, last first.
func (s *scan) backward(before []byte, limit int) (found []cdx.Capture, err error) {
	err = s.inside(func() (err error) {
		found, err = s.back(before, limit)
		return err
	})
	return found, err
}

// back is backward with the database open.
func (s *scan) back(before []byte, limit int) ([]cdx.Capture, error) {
	it := s.txn.NewIterator(badger.IteratorOptions{Reverse: true, Prefix: s.prefix()})
	defer it.Close()
	start := append([]byte{prefixCapture}, s.plan.Low...)
	var found []cdx.Capture
	for it.Seek(before); it.Valid(); it.Next() {
		item := it.Item()
		if bytes.Equal(item.Key(), before) {
			continue
		}
		if bytes.Compare(item.Key(), start) < 0 {
			break
		}
		c, ok, err := s.match(item)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if found = append(found, c); len(found) == limit {
			break
		}
	}
	return found, nil
}

// prefix is what all keys of the plan begin with, so that Badger opens few tables.
func (s *scan) prefix() []byte {
	low, high := s.plan.Low, s.plan.High
	n := 0
	for n < len(low) && n < len(high) && low[n] == high[n] {
		n++
	}
	return append([]byte{prefixCapture}, low[:n]...)
}

// match decodes an entry if it matches the plan: it looks at the key first, then at the value.
func (s *scan) match(item *badger.Item) (cdx.Capture, bool, error) {
	if s.ctx.Err() != nil {
		return cdx.Capture{}, false, s.ctx.Err()
	}
	if s.x.ctx.Err() != nil {
		return cdx.Capture{}, false, ErrClosed
	}
	key := item.Key()
	if _, ok := urlKeyOf(key); !ok {
		return cdx.Capture{}, false, nil
	}
	_, id, _ := tailOf(key)
	file, err := s.file(id)
	if err != nil || file == "" {
		return cdx.Capture{}, false, err
	}
	var c cdx.Capture
	err = item.Value(func(value []byte) error {
		c, err = decodeCapture(key, value)
		return err
	})
	if errors.Is(err, errDamagedEntry) {
		s.x.log.Error("index entry is damaged; rebuild the file's captures", "file", file)
		return cdx.Capture{}, false, nil
	}
	c.File = file
	return c, err == nil && s.plan.Match(&c), err
}

// file returns the name of the file with that number, "" if it does not answer
// here: unknown, removed, added after the query began, or not covered.
func (s *scan) file(id uint32) (string, error) {
	if name, ok := s.seen[id]; ok {
		return name, nil
	}
	ref, err := s.x.files.ref(id)
	if err != nil {
		return "", err
	}
	name := ref.name
	if ref.version > s.asOf || name != "" && s.covers != nil && !s.covers(name) {
		name = ""
	}
	if len(s.seen) >= maxNames {
		clear(s.seen)
	}
	s.seen[id] = name
	return name, nil
}

// Digest returns the earliest capture, of files for which covers is true (nil: all), that holds a payload of that
// digest; revisits do not count. False if there is none.
func (x *Index) Digest(ctx context.Context, digest string, covers func(file string) bool) (cdx.Capture, bool, error) {
	return x.Original(ctx, digest, covers, nil)
}

// Original is Digest, of captures that the gate lets pass; nil: all.
func (x *Index) Original(ctx context.Context, digest string, covers func(file string) bool,
	gate cdx.Gate) (cdx.Capture, bool, error) {
	if err := x.gate.enter(); err != nil {
		return cdx.Capture{}, false, err
	}
	defer x.gate.leave()
	txn := x.db.NewTransaction(false)
	defer txn.Discard()
	s := &scan{x: x, ctx: ctx, txn: txn, asOf: txn.ReadTs(), covers: covers, seen: map[uint32]string{}}
	digest = tidyDigest(digest)
	c, ok, err := s.digest(digest, gate)
	if err != nil {
		return cdx.Capture{}, false, fmt.Errorf("look up digest %.80s: %w", digest, err)
	}
	return c, ok, nil
}

func (s *scan) digest(digest string, gate cdx.Gate) (cdx.Capture, bool, error) {
	prefix := append([]byte{prefixDigest}, digestHash(digest)...)
	it := s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, PrefetchValues: false})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := errors.Join(s.ctx.Err(), s.x.ctx.Err()); err != nil {
			return cdx.Capture{}, false, err
		}
		key := it.Item().Key()
		if len(key) != len(prefix)+tailLen {
			continue
		}
		timestamp, id, offset := tailOf(key)
		file, err := s.file(id)
		if err != nil {
			return cdx.Capture{}, false, err
		}
		if file == "" {
			continue
		}
		c, err := s.capture(it.Item(), timestamp, id, offset)
		if errors.Is(err, badger.ErrKeyNotFound) || errors.Is(err, errDamagedEntry) {
			continue
		} else if err != nil {
			return cdx.Capture{}, false, err
		}
		c.File = file
		if c.Digest == digest && (gate == nil || gate.Passes(&c)) {
			return c, true, nil
		}
	}
	return cdx.Capture{}, false, nil
}

// capture reads the capture that a digest entry points to.
func (s *scan) capture(item *badger.Item, timestamp uint64, id uint32, offset int64) (c cdx.Capture, err error) {
	var key []byte
	err = item.Value(func(urlKey []byte) error {
		key = captureKey(string(urlKey), timestamp, id, offset)
		return nil
	})
	if err != nil {
		return c, err
	}
	held, err := s.txn.Get(key)
	if err != nil {
		return c, err
	}
	err = held.Value(func(value []byte) error {
		c, err = decodeCapture(key, value)
		return err
	})
	return c, err
}
