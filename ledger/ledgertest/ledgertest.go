// Package ledgertest makes ledgers of small archives in memory, for tests.
package ledgertest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/ledger"
)

// Shelf is files by name, in memory.
type Shelf map[string][]byte

// Open opens a file.
func (s Shelf) Open(name string) (io.ReadCloser, error) {
	text, there := s[name]
	if !there {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// bench is a Workshop on a shelf.
type bench struct{ Shelf }

type sheet struct {
	bytes.Buffer
	done func([]byte)
}

func (s *sheet) Close() error { s.done(s.Bytes()); return nil }

func (b bench) Create(name string) (io.WriteCloser, error) {
	return &sheet{done: func(text []byte) { b.Shelf[name] = text }}, nil
}
func (b bench) Rename(from, to string) error {
	b.Shelf[to] = b.Shelf[from]
	delete(b.Shelf, from)
	return nil
}

// Archive is a replica of two nodes that makes ledgers, and two nodes at other places that countersign.
type Archive struct {
	t       testing.TB
	Shelf   Shelf
	Files   []map[string]string // of each holder: content by name
	Keys    []ed25519.PrivateKey
	Outside []ed25519.PrivateKey
	before  *ledger.Head
	Pages   []*ledger.Page
	events  uint64
	hash    string
}

// New returns an archive without files.
func New(t testing.TB) *Archive {
	a := &Archive{t: t, Shelf: Shelf{}, Files: []map[string]string{{}, {}}}
	for i := range 4 {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, 32))
		if i < 2 {
			a.Keys = append(a.Keys, key)
		} else {
			a.Outside = append(a.Outside, key)
		}
	}
	a.Pages = make([]*ledger.Page, 2)
	return a
}

// Put gives the file to the holder of its shard.
func (a *Archive) Put(name, content string) { a.Files[ledger.ShardOf(name)%2][name] = content }

// Remove takes the file away.
func (a *Archive) Remove(name string) { delete(a.Files[ledger.ShardOf(name)%2], name) }

// ID is the id of the key.
func ID(key ed25519.PrivateKey) string { return ledger.Fingerprint(key.Public().(ed25519.PublicKey)) }

// Trusted is the list of all four nodes.
func (a *Archive) Trusted() (out []ledger.Trusted) {
	for i, key := range slices.Concat(a.Keys, a.Outside) {
		out = append(out, ledger.Trusted{ID: ID(key), Name: fmt.Sprint("node-", i), Place: []string{"Oslo", "Oslo",
			"Bergen", "Tromsø"}[i]})
	}
	return out
}

// event is an event as catalog/agree writes it.
type event struct {
	Seq      uint64 `json:"seq"`
	Index    uint64 `json:"index"`
	Act      string `json:"act"`
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

// trail adds n events and returns their lines.
func (a *Archive) trail(n int) (text []byte) {
	for range n {
		a.events++
		e := event{Seq: a.events, Index: 7 * a.events, Act: "file.add <&>", Previous: a.hash}
		blank, _ := json.Marshal(e)
		e.Hash = fmt.Sprintf("%x", sha256.Sum256(blank))
		line, _ := json.Marshal(e)
		text = append(append(text, line...), '\n')
		a.hash = e.Hash
	}
	return text
}

func digest(text string) ledger.Digest {
	if text == "" {
		return ledger.Digest{}
	}
	d, err := ledger.ParseDigest(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Make makes the next ledger and returns its base.
func (a *Archive) Make() string {
	a.t.Helper()
	serial := uint64(1)
	h := &ledger.Head{ClusterID: "c1", Replica: "oslo", Place: "Oslo"}
	if a.before != nil {
		serial = a.before.Serial + 1
		name := ledger.HeadName(a.before.Base)
		h.Previous = &ledger.File{Name: name, SHA256: sha256.Sum256(a.Shelf[name])}
	}
	at := time.Date(2026, 11, int(serial), 3, 0, 0, 0, time.UTC)
	h.Serial, h.Time, h.Base = serial, at, ledger.Base("oslo", at, serial)
	h.Span = ledger.Span{First: a.events + 1, Before: digest(a.hash)}
	text := a.trail(3)
	h.Span.Last, h.Span.Head = a.events, digest(a.hash)
	h.Trail = ledger.File{Name: ledger.TrailName(h.Base), SHA256: sha256.Sum256(text)}
	a.Shelf[h.Trail.Name] = text
	s := ledger.Signatures{Base: h.Base}
	for i, key := range a.Keys {
		held := entries(a.Files[i])
		b := ledger.Build{Base: h.Base, Replica: "oslo", Holder: ID(key), Time: at, Before: a.Pages[i],
			Earlier: a.Shelf.Open, In: bench{a.Shelf}, Held: func(shard int) (ledger.Held, error) {
				return ledger.Held{Files: held[shard], Checked: at.Add(-time.Hour)}, nil
			}}
		p, err := b.Make()
		if err != nil {
			a.t.Fatal(err)
		}
		delete(a.Shelf, "changed")
		a.Pages[i] = p
		name := ledger.PageName(h.Base, ID(key))
		h.Sheets = append(h.Sheets, ledger.Sheet{Holder: ID(key), Name: fmt.Sprint("node-", i),
			File: ledger.File{Name: name, SHA256: sha256.Sum256(a.Shelf[name])}})
		of, missing := p.Total()
		h.Total.Join(of)
		h.Missing += missing
		s.Signed = append(s.Signed, ledger.Sign(key, name, a.Shelf[name]))
	}
	h.SortSheets()
	head := h.Encode()
	a.Shelf[ledger.HeadName(h.Base)] = head
	for _, key := range append([]ed25519.PrivateKey{a.Keys[0]}, a.Outside...) {
		s.Signed = append(s.Signed, ledger.Sign(key, ledger.HeadName(h.Base), head))
	}
	a.Sign(&s)
	a.before = h
	return h.Base
}

// Sign puts the signatures in the place of those that are there.
func (a *Archive) Sign(s *ledger.Signatures) {
	text, err := s.Encode()
	if err != nil {
		a.t.Fatal(err)
	}
	a.Shelf[ledger.SignaturesName(s.Base)] = text
}

// entries returns the files by shard.
func entries(files map[string]string) map[int][]ledger.Entry {
	out := map[int][]ledger.Entry{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		shard := ledger.ShardOf(name)
		out[shard] = append(out[shard], ledger.Entry{Name: name, Size: int64(len(files[name])),
			SHA256: sha256.Sum256([]byte(files[name]))})
	}
	return out
}
