package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Places of queues that have URIs. A waiting queue stands at its precedence, and stays there while it is active.
const (
	worstPrecedence = 100
	placeSleeping   = 0xe0 // rests for long, in the order of waking up
	placeFrozen     = 0xf0
	placeRetired    = 0xf1
)

// index is the order of all queues that have URIs: by place, then number. It lies in the database; here is what tells
// where to read on. Numbers of a place are given in rising order, except those of sleepers, which are times.
type index struct {
	turn      uint64                      // the last number given
	committed uint64                      // up to which all numbers are in the database
	counts    [256]int64                  // queues by place
	cursors   [worstPrecedence + 1]uint64 // up to where waiting queues were made active
	waiting   int64                       // queues that wait or are active
	active    int64
	exhausted bool   // nothing is to be found before the next commit
	sleepFrom uint64 // sleepers before that are awake
	sleepNext uint64 // when the next has to be, 0 for none
}

// inactive is how many queues wait for their turn.
func (x *index) inactive() int64 { return x.waiting - x.active }

// live is how many queues have URIs that may be fetched at some time.
func (x *index) live() int64 {
	return x.waiting + x.counts[placeSleeping] + x.counts[placeFrozen]
}

func (x *index) add(place byte, n int64) {
	x.counts[place] += n
	if place <= worstPrecedence {
		x.waiting += n
	}
}

// load counts what is in the database.
func (x *index) load(txn *badger.Txn) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("i")})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		place, num, _, err := parseIndexKey(it.Item().Key())
		if err != nil {
			return err
		}
		x.add(place, 1)
		if place == placeSleeping && x.sleepNext == 0 {
			x.sleepNext = num
		}
	}
	return nil
}

// indexed is an entry of the index.
type indexed struct {
	place byte
	num   uint64
	name  string
}

// nextWaiting reads at most n entries of queues that wait, the first in order first, and moves on behind them.
func (x *index) nextWaiting(txn *badger.Txn, n int) ([]indexed, error) {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("i")})
	defer it.Close()
	var out []indexed
	for p := range byte(worstPrecedence + 1) {
		if x.counts[p] == 0 {
			continue
		}
		for it.Seek([]byte(indexKey(p, x.cursors[p]+1, ""))); it.Valid(); it.Next() {
			place, num, name, err := parseIndexKey(it.Item().Key())
			if err != nil {
				return nil, err
			}
			if place != p || num > x.committed {
				break
			}
			if len(out) == n {
				return out, nil
			}
			x.cursors[p] = num
			out = append(out, indexed{place, num, name})
		}
	}
	return out, nil
}

// awake reads at most n entries of sleepers that are due by now (Unix milliseconds). Those of uncommitted batches it
// cannot see; pending is when the first of them is due, or 0.
func (x *index) awake(txn *badger.Txn, now, pending uint64, n int) ([]indexed, error) {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{'i', placeSleeping}})
	defer it.Close()
	var out []indexed
	x.sleepNext = pending
	until := now
	for it.Seek([]byte(indexKey(placeSleeping, x.sleepFrom, ""))); it.Valid(); it.Next() {
		place, num, name, err := parseIndexKey(it.Item().Key())
		if err != nil {
			return nil, err
		}
		if num > now || len(out) == n {
			if x.sleepNext == 0 || num < x.sleepNext {
				x.sleepNext = num
			}
			until = min(until, num)
			break
		}
		out = append(out, indexed{place, num, name})
	}
	if pending > 0 {
		until = min(until, pending)
	}
	x.sleepFrom = max(x.sleepFrom, until)
	return out, nil
}

func indexKey(place byte, num uint64, name string) string {
	b := append(make([]byte, 0, 10+len(name)), 'i', place)
	b = binary.BigEndian.AppendUint64(b, num)
	return string(append(b, name...))
}

func parseIndexKey(key []byte) (place byte, num uint64, name string, err error) {
	if len(key) < 10 || key[0] != 'i' {
		return 0, 0, "", fmt.Errorf("index key %q: %w", key, errStored)
	}
	return key[1], binary.BigEndian.Uint64(key[2:]), string(key[10:]), nil
}

// errStored reports an entry of the database that cannot be read.
var errStored = errors.New("damaged frontier entry")

func missing(key string) error { return fmt.Errorf("no entry %q: %w", key, errStored) }
