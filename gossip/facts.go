package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Facts is what a node reports about itself. It is advice: it was true when it was sent.
type Facts struct {
	ID        string
	Name      string
	Replica   string
	Place     string
	Addresses []string
	Roles     []string
	Free      uint64 // bytes
	Total     uint64 // bytes
	Load      float64
	Version   string
	Raft      string // the leader, as this node sees it
	Jobs      int    // running here
	Standing  Standing
	Lacking   Lacking
}

// Lacking is how many shards the node holds for the archive whose disk it has given up, and for which its other disks
// have no room; and those of them that others should take next. A node of an earlier version says nothing of it.
type Lacking struct {
	Shards int
	Next   []uint16
}

// Standing is how far a node's log is: it tells a node that was set back to an older copy of itself. A node of an
// earlier version says nothing of it.
type Standing struct {
	Log, Boot, Term, LastTerm, LastIndex uint64
}

func (s *Standing) numbers() []*uint64 {
	return []*uint64{&s.Log, &s.Boot, &s.Term, &s.LastTerm, &s.LastIndex}
}

// ErrTooLarge reports facts that do not fit into a gossip message.
var ErrTooLarge = errors.New("node facts are too large")

const (
	maxFacts     = 512 // bytes; memberlist carries no more
	factsVersion = 1
	maxList      = 32

	// MaxLacking is how many of a node's shards without a disk are named at a time.
	MaxLacking = 48
)

// encode writes all of f but the ID, which memberlist carries itself.
func (f Facts) encode() ([]byte, error) {
	b := []byte{factsVersion}
	for _, text := range []string{f.Name, f.Replica, f.Place, f.Version, f.Raft} {
		b = appendText(b, text)
	}
	for _, list := range [][]string{f.Addresses, f.Roles} {
		if len(list) > maxList {
			return nil, fmt.Errorf("%w: list of %d entries, at most %d", ErrTooLarge, len(list), maxList)
		}
		b = append(b, byte(len(list)))
		for _, text := range list {
			b = appendText(b, text)
		}
	}
	b = binary.AppendUvarint(b, f.Free)
	b = binary.AppendUvarint(b, f.Total)
	b = binary.AppendUvarint(b, uint64(max(f.Jobs, 0)))
	b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(f.Load)))
	for _, n := range f.Standing.numbers() {
		b = binary.AppendUvarint(b, *n)
	}
	whole := f.Lacking.append(b)
	if len(whole) > maxFacts { // its shards wait
		whole = Lacking{Shards: f.Lacking.Shards}.append(b)
	}
	if len(whole) > maxFacts {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(whole), maxFacts)
	}
	return whole, nil
}

func (l Lacking) append(b []byte) []byte {
	b = binary.AppendUvarint(b[:len(b):len(b)], uint64(max(l.Shards, 0)))
	next := l.Next[:min(len(l.Next), MaxLacking)]
	b = append(b, byte(len(next)))
	for _, n := range next {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// decodeFacts reads what encode wrote. Bytes after the fields known here are a later
// version's, and ignored.
func decodeFacts(id string, data []byte) (Facts, error) {
	r := reader{rest: data}
	if version := r.take(1); version == nil || version[0] < factsVersion {
		return Facts{ID: id}, fmt.Errorf("facts of node %s: %d bytes of an unknown version", id, len(data))
	}
	f := Facts{ID: id, Name: r.text(), Replica: r.text(), Place: r.text(), Version: r.text(), Raft: r.text()}
	f.Addresses, f.Roles = r.list(), r.list()
	f.Free, f.Total = r.uvarint(), r.uvarint()
	f.Jobs = int(min(r.uvarint(), math.MaxInt32))
	if load := r.take(4); load != nil {
		f.Load = float64(math.Float32frombits(binary.BigEndian.Uint32(load)))
	}
	if len(r.rest) > 0 {
		for _, n := range f.Standing.numbers() {
			*n = r.uvarint()
		}
	}
	if len(r.rest) > 0 {
		f.Lacking = r.lacking()
	}
	if math.IsNaN(f.Load) || math.IsInf(f.Load, 0) {
		f.Load = 0
	}
	if r.short {
		return Facts{ID: id}, fmt.Errorf("facts of node %s: %d bytes are too short", id, len(data))
	}
	return f, nil
}

// clone returns a copy that shares no memory with f.
func (f Facts) clone() Facts {
	f.Addresses, f.Roles = slices.Clone(f.Addresses), slices.Clone(f.Roles)
	f.Lacking.Next = slices.Clone(f.Lacking.Next)
	return f
}

// reader reads fields; short is set, for good, once bytes were asked for that are not there.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if r.short || n > len(r.rest) {
		r.short = true
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.short || size <= 0 {
		r.short = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > maxFacts {
		r.short = true
		return ""
	}
	return string(r.take(int(n)))
}

func (r *reader) lacking() (l Lacking) {
	l.Shards = int(min(r.uvarint(), math.MaxInt32))
	n := r.take(1)
	if n == nil {
		return Lacking{}
	}
	for range n[0] {
		two := r.take(2)
		if two == nil {
			return Lacking{}
		}
		l.Next = append(l.Next, binary.BigEndian.Uint16(two))
	}
	return l
}

func (r *reader) list() []string {
	n := r.take(1)
	if n == nil {
		return nil
	}
	var list []string
	for range n[0] {
		text := r.text()
		if r.short {
			return nil
		}
		list = append(list, text)
	}
	return list
}
