package frontier

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// version begins every value.
const version = 3

// countersKey has the totals.
const countersKey = "mcounters"

// fingerprintBytes stand for a URI: a hash of its key's host, then the beginning of the SHA-256 of the key. So a host's URIs
// lie side by side in the database, and what is looked up while a host is crawled is in a few blocks.
type fingerprintBytes [16]byte

// hostBytes are those of the host.
const hostBytes = 5

func fingerprint(key string) (fp fingerprintBytes) {
	var host [8]byte
	binary.BigEndian.PutUint64(host[:], hostHash(key))
	copy(fp[:hostBytes], host[:])
	sum := sha256.Sum256([]byte(key))
	copy(fp[hostBytes:], sum[:])
	return fp
}

// hostHash is 64-bit FNV-1a, spread over its upper bits, of what is between the first "//" of a key and the next "/", "?" or "#"; it is the
// same for all keys without that.
func hostHash(key string) uint64 {
	h := uint64(14695981039346656037)
	_, rest, _ := strings.Cut(key, "//")
	for i := 0; i < len(rest) && rest[i] != '/' && rest[i] != '?' && rest[i] != '#'; i++ {
		h = (h ^ uint64(rest[i])) * 1099511628211
	}
	return h * 0x9e3779b97f4a7c15
}

func seenKey(fp fingerprintBytes) string { return "u" + string(fp[:]) }

func queuePrefix(queue string) string { return "q" + queue + "\x00" }

func queueKey(queue string, priority byte, seq uint64) string {
	b := make([]byte, 0, len(queue)+11)
	b = append(append(b, 'q'), queue...)
	b = append(b, 0, priority)
	return string(binary.BigEndian.AppendUint64(b, seq))
}

// queueOf is the queue of an entry's key.
func queueOf(key string) string { return strings.Clone(key[1 : len(key)-10]) }

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// encodeURI writes a queue entry's value.
func encodeURI(u *URI) []byte {
	b := make([]byte, 0, 24+len(u.URL)+len(u.Path)+len(u.Via)+len(u.Source)+len(u.Key)+len(u.Host))
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(u.Tries))
	b = binary.AppendUvarint(b, uint64(u.notBefore))
	b = binary.AppendUvarint(b, uint64(u.Cost))
	for _, s := range []string{u.URL, u.Path, u.Via, u.Source, u.Key, u.Host} {
		b = appendText(b, s)
	}
	return b
}

func decodeURI(key, v []byte) (*URI, error) {
	if len(key) < 11 || key[0] != 'q' || key[len(key)-10] != 0 || key[len(key)-9] >= priorities {
		return nil, fmt.Errorf("queue key %q: %w", key, errStored)
	}
	u := &URI{Queue: string(key[1 : len(key)-10]), Priority: key[len(key)-9], seq: binary.BigEndian.Uint64(key[len(key)-8:])}
	r := reader{b: v}
	r.version()
	u.Tries = int(r.uvarint())
	u.notBefore = int64(r.uvarint())
	u.Cost = int64(r.uvarint())
	// One string holds all texts: they live and die together.
	rest := string(r.b)
	for _, s := range []*string{&u.URL, &u.Path, &u.Via, &u.Source, &u.Key, &u.Host} {
		n := r.uvarint()
		from := len(rest) - len(r.b)
		if r.skip(n); r.bad {
			break
		}
		*s = rest[from : from+int(n)]
	}
	return u, r.failed("queue entry")
}

// seenState is what is known of a URI: where it is queued, or how it ended.
type seenState struct {
	queued   bool
	priority byte
	seq      uint64
	queue    string
	status   int
	at       time.Time
	record   []byte
}

const (
	stateQueued = 'q'
	stateDone   = 'd'
)

func encodeQueuedState(u *URI) []byte {
	b := append(make([]byte, 0, 12+len(u.Queue)), version, stateQueued, u.Priority)
	b = binary.AppendUvarint(b, u.seq)
	return appendText(b, u.Queue)
}

func encodeDoneState(status int, at time.Time, record []byte) []byte {
	b := append(make([]byte, 0, 12+len(record)), version, stateDone)
	b = binary.AppendVarint(b, int64(status))
	b = binary.AppendUvarint(b, uint64(max(at.Unix(), 0)))
	return append(b, record...)
}

func isDone(v []byte) bool { return len(v) > 1 && v[1] == stateDone }

func decodeState(v []byte) (seenState, error) {
	r := reader{b: v}
	r.version()
	var s seenState
	switch kind := r.byte(); kind {
	case stateQueued:
		s.queued = true
		s.priority = r.byte()
		s.seq = r.uvarint()
		s.queue = r.text()
		r.bad = r.bad || s.priority >= priorities
	case stateDone:
		s.status = int(r.varint())
		s.at = time.Unix(int64(r.uvarint()), 0)
		if len(r.b) > 0 {
			s.record = r.b
		}
	default:
		r.bad = true
	}
	return s, r.failed("state of a URI")
}

// totals are the figures of the whole frontier.
type totals struct {
	Counters
	seq    uint64 // the last number of a URI
	turn   uint64 // of the index
	queues int64  // there ever were
}

func (t *totals) fields() []*int64 {
	c := &t.Counters
	return []*int64{&t.queues, &c.Discovered, &c.Queued, &c.Finished, &c.Succeeded, &c.Failed, &c.Disregarded, &c.Bytes}
}

func encodeTotals(t totals) []byte {
	b := binary.AppendUvarint([]byte{version}, t.seq)
	b = binary.AppendUvarint(b, t.turn)
	for _, n := range t.fields() {
		b = binary.AppendUvarint(b, uint64(*n))
	}
	return b
}

func decodeTotals(v []byte) (t totals, err error) {
	if len(v) > 0 && v[0] != version {
		return t, fmt.Errorf("form %d, not %d: %w", v[0], version, ErrVersion)
	}
	r := reader{b: v}
	r.version()
	t.seq, t.turn = r.uvarint(), r.uvarint()
	for _, n := range t.fields() {
		*n = int64(r.uvarint())
	}
	return t, r.failed("counters")
}
