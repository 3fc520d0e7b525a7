package render

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/crawler/browser"
)

// Limits of what is kept to answer pages.
const (
	maxRemembered = 64 << 20
	maxEach       = 2 << 20
	memoryTime    = time.Hour
)

// webMemory keeps what was fetched for pages, so that a resource that many pages share is fetched once. It is safe
// for concurrent use.
type webMemory struct {
	mu      sync.Mutex
	size    int
	have    map[string]*remembered
	flights map[string]chan struct{} // fetches under way
}

type remembered struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

func newWebMemory() *webMemory {
	return &webMemory{have: map[string]*remembered{}, flights: map[string]chan struct{}{}}
}

// memoryKey returns the key of an answer; "" for a request whose answer is not kept. Answers that depend on the
// requester have separate keys.
func memoryKey(r *browser.Request) string {
	if r.Method != http.MethodGet || has(r.Header, "Cache-Control", "no-cache", "no-store") ||
		r.Header.Get("Authorization") != "" {
		return ""
	}
	return r.URL + "\n" + r.Header.Get("Origin") + "\n" + r.Header.Get("Accept")
}

func has(h http.Header, name string, words ...string) bool {
	value := strings.ToLower(strings.Join(h.Values(name), ","))
	for _, w := range words {
		if strings.Contains(value, w) {
			return true
		}
	}
	return false
}

// begin returns the kept answer. If there is none, either the caller has to fetch it and call end, or another caller
// is fetching it, and the channel is closed when that is over.
func (m *webMemory) begin(key string) (*browser.Answer, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.have[key]; r != nil && time.Since(r.at) < memoryTime {
		return &browser.Answer{Status: r.status, Header: r.header, Body: bytes.NewReader(r.body),
			Size: int64(len(r.body))}, nil
	}
	if c := m.flights[key]; c != nil {
		return nil, c
	}
	m.flights[key] = make(chan struct{})
	return nil, nil
}

// end wakes the waiting callers; they find what was given to keep.
func (m *webMemory) end(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.flights[key])
	delete(m.flights, key)
}

// keep takes an answer in, unless it may not be kept.
func (m *webMemory) keep(key string, status int, header http.Header, body []byte) {
	if len(body) > maxEach || has(header, "Cache-Control", "no-store", "no-cache") || has(header, "Vary", "*") {
		return
	}
	h := header.Clone()
	h.Del("Set-Cookie")
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.have[key]; old != nil {
		m.size -= len(old.body)
	}
	m.have[key] = &remembered{at: time.Now(), status: status, header: h, body: bytes.Clone(body)}
	m.size += len(body)
	for other, r := range m.have {
		if m.size <= maxRemembered {
			break
		}
		if other != key {
			m.size -= len(r.body)
			delete(m.have, other)
		}
	}
}
