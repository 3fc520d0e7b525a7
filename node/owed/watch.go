package owed

import (
	"context"
	"sync"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// Bell signals all who listen; a listener that has not heard the last signal yet hears one.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// NewBell returns a bell to which nobody listens.
func NewBell() *Bell { return &Bell{listeners: map[chan struct{}]struct{}{}} }

// Ring signals to all who listen.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Listen returns a channel that receives after each ring, and what ends it.
func (b *Bell) Listen() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	b.listeners[c] = struct{}{}
	b.mu.Unlock()
	return c, func() {
		b.mu.Lock()
		delete(b.listeners, c)
		b.mu.Unlock()
	}
}

// Agreement is the agreed state, and how to have a command decided.
type Agreement interface {
	View(see func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// Catalog is the catalog as this node's replica sees it.
type Catalog struct {
	Agreement
	Self    catalog.NodeID
	Replica catalog.ReplicaName
	Bell    *Bell
	// Changes returns a channel that receives after changes under the prefixes, and what ends it.
	Changes func(prefixes ...string) (<-chan struct{}, func())
}

// Watch signals after changes of the catalog that may mean work here, and when a copy that waited for its turn is due.
func (c Catalog) Watch() (<-chan struct{}, func()) {
	changed, end := c.Changes(catalog.PrefixFiles, catalog.PrefixUnproved, catalog.PrefixLayout,
		catalog.PrefixReleases(c.Self), catalog.PrefixLeft(c.Self), catalog.PrefixOwed(c.Replica),
		catalog.PrefixMembers, files.PrefixDiscards(c.Self))
	due, deaf := c.Bell.Listen()
	both, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
			case <-due:
			}
			select {
			case both <- struct{}{}:
			default:
			}
		}
	}()
	return both, func() {
		close(done)
		deaf()
		end()
	}
}
