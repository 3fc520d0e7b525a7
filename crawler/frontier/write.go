package frontier

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// write writes a batch into the database: in one transaction if it fits, else the found URIs first, in as many
// transactions as they take. Each transaction leaves the database consistent: entries with their states, counts, the
// index and the counters.
func (f *store) write(b *Batch) error {
	return f.writeBy(&writer{db: f.db, commit: (*badger.Txn).Commit, maxSize: f.db.MaxBatchSize() / 4 * 3,
		maxCount: f.db.MaxBatchCount() / 4 * 3}, b)
}

func (f *store) writeBy(w *writer, b *Batch) error {
	size, n := int64(0), int64(len(b.ops)+len(b.values)+len(b.hosts))
	for key, o := range b.ops {
		size += cost(key, o.value)
	}
	for key, value := range b.values {
		size += cost(key, value)
	}
	w.begin()
	defer func() { w.txn.Discard() }()
	early := size > w.maxSize || n > w.maxCount
	hosts := map[string]int64{}
	if early {
		if err := writeFound(w, b, hosts); err != nil {
			return err
		}
	}
	if err := writeRest(w, b, early, hosts); err != nil {
		return err
	}
	return w.commit(w.txn)
}

// found is what one queue's part of the early transactions has.
type found struct {
	keys  []string
	fresh int64 // of them, more than were there
	other int64 // the part of these that belongs to other hosts
}

// writeFound writes the entries of queues, and the caller's values that need nothing else.
func writeFound(w *writer, b *Batch, hosts map[string]int64) error {
	queues := map[string]*found{}
	for key, o := range b.ops {
		switch {
		case o.value == nil || o.late:
		case key[0] == 'x':
			if err := w.put(key, o.value); err != nil {
				return err
			}
		case key[0] == 'q':
			name := queueOf(key)
			q := queues[name]
			if q == nil {
				q = &found{}
				queues[name] = q
			}
			q.keys = append(q.keys, key)
			if o.counts() {
				q.fresh++
				if o.entry.host != "" {
					q.other++
				}
			}
		}
	}
	e := early{writer: w, batch: b, totals: b.before, hosts: hosts, fresh: map[string]int64{}}
	e.totals.seq, e.totals.turn = b.after.seq, b.after.turn
	for name, q := range queues {
		if err := e.queue(name, q); err != nil {
			return err
		}
	}
	return e.flush()
}

// counts reports whether an entry is one more in its queue.
func (o *op) counts() bool { return o.fresh && o.entry != nil && o.entry.replaces == "" }

// early writes the found URIs.
type early struct {
	*writer
	batch  *Batch
	totals totals
	hosts  map[string]int64 // remaining, added so far
	fresh  map[string]int64 // of them, in this transaction
}

// queue writes the entries of one queue and its record. The record has of what changed only the count and, if it
// had none, the place.
func (e *early) queue(name string, q *found) error {
	var r record
	last := e.batch.ops["h"+name]
	final, err := decodeRecord(last.value)
	if err != nil {
		return fmt.Errorf("queue %s: %w", name, err)
	}
	born := last.born
	if last.hard {
		if r, err = e.record(name); err != nil {
			return err
		}
	} else {
		r = final
		r.count, r.hosted = r.count-q.fresh, r.hosted-q.other
		if r.count == 0 {
			r.num = 0
		}
	}
	for _, key := range q.keys {
		o := e.batch.ops[key]
		if err := e.entry(key, o); err != nil {
			return err
		}
		if o.counts() {
			e.totals.Discovered++
			e.totals.Queued++
			r.count++
			if host := o.entry.host; host != "" {
				r.hosted++
				e.fresh[host]++
			}
		}
		if e.writer.filled() {
			if err := e.close(name, &r, final, q.fresh > 0, &born); err != nil {
				return err
			}
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return e.close(name, &r, final, q.fresh > 0, &born)
}

// entry writes an entry with its state, and takes away the one that it stands for.
func (e *early) entry(key string, o op) error {
	if err := e.put(key, o.value); err != nil {
		return err
	}
	if o.entry == nil {
		return nil
	}
	if s, ok := e.batch.ops[o.entry.seen]; ok {
		if err := e.put(o.entry.seen, s.value); err != nil {
			return err
		}
	}
	if o.entry.replaces != "" {
		return e.put(o.entry.replaces, nil)
	}
	return nil
}

// close writes a queue's record and place.
func (e *early) close(name string, r *record, final record, changed bool, born *bool) error {
	if !changed || r.count == 0 {
		return nil
	}
	if *born {
		e.totals.queues++
		*born = false
	}
	if r.num == 0 {
		r.place, r.num = final.place, final.num
		if err := e.put(indexKey(r.place, r.num, name), []byte{version}); err != nil {
			return err
		}
	}
	return e.put("h"+name, encodeRecord(r))
}

// flush ends a transaction and begins the next.
func (e *early) flush() error {
	for name, n := range e.fresh {
		if err := e.addHost(name, hostChange{remaining: n}); err != nil {
			return err
		}
		e.hosts[name] += n
	}
	clear(e.fresh)
	if err := e.put(countersKey, encodeTotals(e.totals)); err != nil {
		return err
	}
	return e.writer.next()
}

// writeRest writes all of a batch, or what writeFound left.
func writeRest(w *writer, b *Batch, early bool, hosts map[string]int64) error {
	for key, o := range b.ops {
		if early && o.value != nil && !o.late {
			switch key[0] {
			case 'q', 'x':
				continue
			case 'u':
				if !isDone(o.value) {
					continue
				}
			case 'h':
				if !o.hard {
					continue
				}
			case 'i':
				if !b.ops["h"+key[10:]].hard {
					continue
				}
			}
		}
		if err := w.put(key, o.value); err != nil {
			return err
		}
	}
	for name, h := range b.hosts {
		change := *h
		change.remaining -= hosts[name]
		if change == (hostChange{}) {
			continue
		}
		if err := w.addHost(name, change); err != nil {
			return err
		}
	}
	for key, value := range b.values {
		if err := w.put(key, value); err != nil {
			return err
		}
	}
	return w.put(countersKey, encodeTotals(b.after))
}

// writer writes in as many transactions as it takes.
type writer struct {
	db                *badger.DB
	txn               *badger.Txn
	commit            func(*badger.Txn) error
	size, count       int64
	maxSize, maxCount int64
}

func (w *writer) begin() {
	w.txn = w.db.NewTransaction(true)
	w.size, w.count = 0, 0
}

func cost(key string, value []byte) int64 { return int64(len(key) + len(value) + 32) }

// filled reports whether the transaction should end where it may.
func (w *writer) filled() bool { return w.size > w.maxSize || w.count > w.maxCount }

// put writes, in a further transaction only if the database would not take it otherwise.
func (w *writer) put(key string, value []byte) error {
	err := w.try(key, value)
	if errors.Is(err, badger.ErrTxnTooBig) {
		if err = w.next(); err == nil {
			err = w.try(key, value)
		}
	}
	w.size += cost(key, value)
	w.count++
	return err
}

func (w *writer) try(key string, value []byte) error {
	if value == nil {
		return w.txn.Delete([]byte(key))
	}
	if len(value) > maxValue { // the database's own error would hold a part of it
		return fmt.Errorf("write frontier: %.100q has %d bytes, more than %d", key, len(value), maxValue)
	}
	return w.txn.Set([]byte(key), value)
}

func (w *writer) next() error {
	if err := w.commit(w.txn); err != nil {
		return err
	}
	w.begin()
	return nil
}

// record reads a queue's record as it was committed last.
func (w *writer) record(name string) (record, error) {
	var r record
	item, err := w.txn.Get([]byte("h" + name))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	err = item.Value(func(v []byte) error {
		r, err = decodeRecord(bytes.Clone(v))
		return err
	})
	return r, err
}

// addHost adds to a host's record.
func (w *writer) addHost(name string, change hostChange) error {
	var h hostChange
	key := "s" + name
	item, err := w.txn.Get([]byte(key))
	switch {
	case err == nil:
		err = item.Value(func(v []byte) (err error) {
			h, err = decodeHost(v)
			return err
		})
		if err != nil {
			return err
		}
	case !errors.Is(err, badger.ErrKeyNotFound):
		return err
	}
	sum := h.fields()
	for i, n := range change.fields() {
		*sum[i] += *n
	}
	h.remaining += change.remaining
	return w.put(key, encodeHost(h))
}
