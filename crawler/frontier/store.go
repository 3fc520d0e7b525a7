package frontier

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// version begins every value.
const version = 4

// countersKey has the totals.
const countersKey = "mcounters"

// fingerprintBytes is the length of the hash that stands for a URI: a hash of its key's host, then the beginning of
// the SHA-256 of the key. URIs of a host are therefore side by side in the database, and looking them up while the
// host is crawled reads only a few blocks.
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

// hostHash is 64-bit FNV-1a, spread over its upper bits, of a key's host.
func hostHash(key string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(hostOf(key)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h * 0x9e3779b97f4a7c15
}

// hostOf returns what is between the first "//" of a key and the next "/", "?" or "#"; it is empty if there is no
// "//".
func hostOf(key string) string {
	_, rest, _ := strings.Cut(key, "//")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest
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

// appendAfter writes s as how much of its beginning it has from another text, and what follows.
func appendAfter(b []byte, other, s string) []byte {
	n := 0
	for n < len(s) && n < len(other) && s[n] == other[n] {
		n++
	}
	return appendText(binary.AppendUvarint(b, uint64(n)), s[n:])
}

// Texts that a URI mostly begins with, before the name of its queue.
const (
	plain  = "http://"
	secure = "https://"
)

// encodeURI writes a queue entry's value. Each of its texts omits the beginning that it shares with one before it.
func encodeURI(u *URI) []byte {
	b := make([]byte, 0, 40+len(u.URL)+len(u.Path)+len(u.Via)+len(u.Source)+len(u.Key)+len(u.Host))
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(u.Tries))
	b = binary.AppendUvarint(b, uint64(u.notBefore))
	b = binary.AppendUvarint(b, uint64(u.Cost))
	scheme := plain
	if strings.HasPrefix(u.URL, secure) {
		scheme = secure
	}
	b = append(b, byte(len(scheme)))
	b = appendAfter(b, scheme+u.Queue, u.URL)
	b = appendAfter(b, u.URL, u.Via)
	b = appendAfter(b, u.Via, u.Source)
	b = appendAfter(b, u.URL, u.Key)
	b = appendAfter(b, u.Via, u.Path)
	b = appendAfter(b, u.Path, u.Host)
	if u.Led != "" { // earlier versions end before it
		b = appendText(b, u.Led)
	}
	return b
}

func decodeURI(key, v []byte) (*URI, error) {
	if len(key) < 11 || key[0] != 'q' || key[len(key)-10] != 0 || key[len(key)-9] >= priorities {
		return nil, fmt.Errorf("queue key %q: %w", key, errStored)
	}
	queue, number := key[1:len(key)-10], key[len(key)-8:]
	u := &URI{Priority: key[len(key)-9], seq: binary.BigEndian.Uint64(number)}
	r := reader{b: v}
	r.version()
	u.Tries = int(r.uvarint())
	u.notBefore = int64(r.uvarint())
	u.Cost = int64(r.uvarint())
	scheme := plain
	if r.byte() == byte(len(secure)) {
		scheme = secure
	}
	// One string holds all texts: they live and die together.
	var room [512]byte
	texts := append(append(room[:0], scheme...), queue...)
	begin := span{0, len(texts)}
	texts, url := r.after(texts, begin)
	texts, via := r.after(texts, url)
	texts, source := r.after(texts, via)
	texts, known := r.after(texts, url)
	texts, path := r.after(texts, via)
	texts, host := r.after(texts, path)
	if len(r.b) > 0 && !r.bad {
		u.Led = r.text()
	}
	all := string(texts)
	u.Queue = all[len(scheme):begin.end]
	u.URL, u.Via, u.Source, u.Key, u.Path, u.Host = url.of(all), via.of(all), source.of(all), known.of(all),
		path.of(all), host.of(all)
	return u, r.failed("queue entry")
}

// seenState is the state of a URI: where it is queued, or how it ended.
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
	stateOwn    = 'o' // queued, and the queue has the name of the key's host
	stateDone   = 'd'
)

func encodeQueuedState(u *URI) []byte {
	if u.Queue == hostOf(u.key()) {
		return binary.AppendUvarint(append(make([]byte, 0, 8), version, stateOwn, u.Priority), u.seq)
	}
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

// decodeState reads the state of the URI that is known by key.
func decodeState(v []byte, key string) (seenState, error) {
	r := reader{b: v}
	r.version()
	var s seenState
	switch kind := r.byte(); kind {
	case stateQueued, stateOwn:
		s.queued = true
		s.priority = r.byte()
		s.seq = r.uvarint()
		if s.queue = hostOf(key); kind == stateQueued {
			s.queue = r.text()
		}
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
		return t, fmt.Errorf("found format %d, want %d: %w", v[0], version, ErrVersion)
	}
	r := reader{b: v}
	r.version()
	t.seq, t.turn = r.uvarint(), r.uvarint()
	for _, n := range t.fields() {
		*n = int64(r.uvarint())
	}
	return t, r.failed("counters")
}
