package frontier

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// errStored reports an entry of the database that cannot be read.
var errStored = errors.New("damaged frontier entry")

// fingerprintBytes stand for a URI: the first half of its SHA-256.
type fingerprintBytes [16]byte

func fingerprint(url string) fingerprintBytes {
	sum := sha256.Sum256([]byte(url))
	return fingerprintBytes(sum[:16])
}

func seenKey(fp fingerprintBytes) string { return "u" + string(fp[:]) }

func queuePrefix(queue string) string { return "q" + queue + "\x00" }

func queueKey(queue string, priority byte, seq uint64) string {
	b := make([]byte, 0, len(queue)+11)
	b = append(append(b, 'q'), queue...)
	b = append(b, 0, priority)
	return string(binary.BigEndian.AppendUint64(b, seq))
}

// encodeURI writes a queue entry's value.
func encodeURI(u *URI) []byte {
	b := make([]byte, 0, 16+len(u.URL)+len(u.Path)+len(u.Via)+len(u.Source))
	b = append(b, 1)
	b = binary.AppendUvarint(b, uint64(u.Tries))
	b = binary.AppendUvarint(b, uint64(u.notBefore))
	for _, s := range []string{u.URL, u.Path, u.Via, u.Source} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func decodeURI(key, v []byte) (*URI, error) {
	if len(key) < 11 || key[0] != 'q' || key[len(key)-10] != 0 {
		return nil, fmt.Errorf("queue key %q: %w", key, errStored)
	}
	u := &URI{Queue: string(key[1 : len(key)-10]), Priority: key[len(key)-9], seq: binary.BigEndian.Uint64(key[len(key)-8:])}
	r := reader{b: v}
	r.version()
	u.Tries = int(r.uvarint())
	u.notBefore = int64(r.uvarint())
	u.URL, u.Path, u.Via, u.Source = r.text(), r.text(), r.text(), r.text()
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
}

const (
	stateQueued = 'q'
	stateDone   = 'd'
)

func encodeQueuedState(u *URI) []byte {
	b := append(make([]byte, 0, 12+len(u.Queue)), 1, stateQueued, u.Priority)
	b = binary.AppendUvarint(b, u.seq)
	b = binary.AppendUvarint(b, uint64(len(u.Queue)))
	return append(b, u.Queue...)
}

func encodeDoneState(status int, at time.Time) []byte {
	b := append(make([]byte, 0, 12), 1, stateDone)
	b = binary.AppendVarint(b, int64(status))
	return binary.AppendUvarint(b, uint64(max(at.Unix(), 0)))
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
	case stateDone:
		s.status = int(r.varint())
		s.at = time.Unix(int64(r.uvarint()), 0)
	default:
		r.bad = true
	}
	return s, r.failed("state of a URI")
}

func encodeHost(h Host) []byte {
	b := []byte{1}
	for _, n := range []int64{h.URLs, h.Bytes, h.Robots} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func decodeHost(v []byte) (Host, error) {
	r := reader{b: v}
	r.version()
	h := Host{URLs: int64(r.uvarint()), Bytes: int64(r.uvarint()), Robots: int64(r.uvarint())}
	return h, r.failed("queue")
}

// reader takes a value apart; after the first thing that is wrong all it returns is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) version() {
	if r.byte() != 1 {
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

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) failed(what string) error {
	if r.bad {
		return fmt.Errorf("%s: %w", what, errStored)
	}
	return nil
}
