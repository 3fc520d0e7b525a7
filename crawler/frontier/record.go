package frontier

import (
	"encoding/binary"
	"fmt"
	"time"
)

// record is the stored form of a queue.
type record struct {
	count  int64 // entries: queued, delayed and in flight
	hosted int64 // of them, of hosts with another name
	spent  int64 // cost
	place  byte
	num    uint64             // in the index; 0: the queue is empty and has no place
	wake   int64              // Unix milliseconds until which it rests; 0: it does not
	status int                // the last
	low    [priorities]uint64 // no entry has a number up to this

	frozen, retired            bool // by an operator
	told                       bool // it was reported as retired by its budget, which still allows nothing
	ownSession, ownTotal       bool // budgets given by an operator
	sessionBudget, totalBudget int64

	ends ends

	host                  Host // of the URIs whose host has the queue's name
	otherURLs, otherBytes int64
}

// ends counts how URIs of a queue ended, as far as the counts of fetches do not say it.
type ends struct {
	last        int64 // Unix seconds of the last that was answered
	failed      int64
	disregarded int64
	robots      int64 // of these, for robots.txt
	unanswered  int64 // tries, the last of a URI among them
}

func (e *ends) fields() []*int64 {
	return []*int64{&e.last, &e.failed, &e.disregarded, &e.robots, &e.unanswered}
}

// count takes an outcome in.
func (e *ends) count(o Outcome, now time.Time) {
	switch o.Kind {
	case Succeeded:
		e.last = now.Unix()
	case Failed:
		e.failed++
		e.unanswered++
	default:
		e.disregarded++
	}
	if o.Robots {
		e.robots++
	}
}

// Flags of a record.
const (
	flagFrozen = 1 << iota
	flagRetired
	flagSession
	flagTotal
	flagOthers // hosted, otherURLs and otherBytes follow
	flagTold
	flagEnds // the ends follow the others
)

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func encodeRecord(r *record) []byte {
	flags := flag(r.frozen, flagFrozen) | flag(r.retired, flagRetired) | flag(r.ownSession,
		flagSession) | flag(r.ownTotal, flagTotal) |
		flag(r.hosted != 0 || r.otherURLs != 0 || r.otherBytes != 0, flagOthers) | flag(r.told, flagTold) |
		flag(r.ends != (ends{}), flagEnds)
	b := append(make([]byte, 0, 48), version, flags, r.place)
	b = binary.AppendUvarint(b, r.num)
	b = binary.AppendVarint(b, int64(r.status))
	b = appendNumbers(b, r.count, r.spent, r.wake)
	for _, n := range r.low {
		b = binary.AppendUvarint(b, n)
	}
	if r.ownSession {
		b = appendNumbers(b, r.sessionBudget)
	}
	if r.ownTotal {
		b = appendNumbers(b, r.totalBudget)
	}
	if flags&flagOthers != 0 {
		b = appendNumbers(b, r.hosted, r.otherURLs, r.otherBytes)
	}
	if flags&flagEnds != 0 {
		b = appendFields(b, r.ends.fields())
	}
	return appendHost(b, &r.host)
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func decodeRecord(v []byte) (record, error) {
	r := reader{b: v}
	r.version()
	flags := r.byte()
	q := record{frozen: flags&flagFrozen != 0, retired: flags&flagRetired != 0, ownSession: flags&flagSession != 0,
		ownTotal: flags&flagTotal != 0, told: flags&flagTold != 0}
	q.place = r.byte()
	q.num = r.uvarint()
	q.status = int(r.varint())
	r.numbers(&q.count, &q.spent, &q.wake)
	for i := range q.low {
		q.low[i] = r.uvarint()
	}
	if q.ownSession {
		r.numbers(&q.sessionBudget)
	}
	if q.ownTotal {
		r.numbers(&q.totalBudget)
	}
	if flags&flagOthers != 0 {
		r.numbers(&q.hosted, &q.otherURLs, &q.otherBytes)
	}
	if flags&flagEnds != 0 {
		r.fields(q.ends.fields())
	}
	r.host(&q.host)
	return q, r.failed("queue")
}

func appendHost(b []byte, h *Host) []byte { return appendFields(b, h.fields()) }

// appendFields writes how many figures follow and these; the zeros at the end are left out.
func appendFields(b []byte, fields []*int64) []byte {
	n := len(fields)
	for n > 0 && *fields[n-1] == 0 {
		n--
	}
	b = append(b, byte(n))
	for _, f := range fields[:n] {
		b = binary.AppendUvarint(b, uint64(*f))
	}
	return b
}

func (r *reader) host(h *Host) { r.fields(h.fields()) }

func (r *reader) fields(fields []*int64) {
	n := int(r.byte())
	if n > len(fields) {
		r.bad = true
		return
	}
	r.numbers(fields[:n]...)
}

// encodeHost writes the record of a host that has not its queue's name.
func encodeHost(h hostChange) []byte {
	return appendHost(appendNumbers([]byte{version}, h.remaining), &h.Host)
}

func decodeHost(v []byte) (hostChange, error) {
	r := reader{b: v}
	r.version()
	var h hostChange
	r.numbers(&h.remaining)
	r.host(&h.Host)
	return h, r.failed("host")
}

// reader takes a value apart; after the first thing that is wrong all it returns is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) version() {
	if r.byte() != version {
		r.bad = true
	}
}

func (r *reader) byte() byte {
	if r.bad || len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) numbers(to ...*int64) {
	for _, n := range to {
		*n = int64(r.uvarint())
	}
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// skip passes over n bytes.
func (r *reader) skip(n uint64) {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return
	}
	r.b = r.b[n:]
}

func (r *reader) text() string {
	from := r.uvarint()
	text := r.b
	if r.skip(from); r.bad {
		return ""
	}
	return string(text[:from])
}

// span is a part of a text.
type span struct{ from, end int }

func (s span) of(text string) string { return text[s.from:s.end] }

// after decodes a text that appendAfter wrote as what differs from the one at other in texts, and appends it to texts.
func (r *reader) after(texts []byte, other span) ([]byte, span) {
	from, shared := len(texts), r.uvarint()
	if shared > uint64(other.end-other.from) {
		r.bad = true
		return texts, span{}
	}
	texts = append(texts, texts[other.from:other.from+int(shared)]...)
	rest := r.uvarint()
	text := r.b
	if r.skip(rest); r.bad {
		return texts, span{}
	}
	texts = append(texts, text[:rest]...)
	return texts, span{from, len(texts)}
}

func (r *reader) failed(what string) error {
	if r.bad {
		return fmt.Errorf("%s: %w", what, errStored)
	}
	return nil
}
