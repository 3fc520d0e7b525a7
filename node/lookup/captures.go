// Package lookup answers queries over the captures of the whole archive. It decides which node covers which shard,
// asks the nodes and merges their answers; nodes that did not answer recently are asked last. It keeps this node's
// own index in step with its files.
package lookup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/node/wire"
)

// The kinds of requests to other nodes: a stream of captures, and a call for the earliest with a payload digest. They
// are on the wire and keep their meaning.
const (
	Stream     = "captures"
	DigestCall = "captures.digest"
)

// Catalog is the agreed state, as this node has it.
type Catalog interface {
	View(func(catalog.View) error) error
}

// Config holds what a Captures needs.
type Config struct {
	Self    catalog.NodeID
	Place   string   // nodes there are asked before others
	Indexer *Indexer // of this node's files; nil if it has none
	Doubts  *Doubts
	Catalog Catalog
	Carrier wire.Carrier
	Alive   func() map[catalog.NodeID]bool
	Log     *slog.Logger
}

// Captures answers queries over the whole archive: each shard from one node that has it indexed, merged in key order.
type Captures struct {
	Config
	coverage atomic.Pointer[coverage]
}

// New returns captures that are looked up nowhere until Cover runs.
func New(cfg Config) *Captures {
	c := &Captures{Config: cfg}
	c.coverage.Store(&coverage{})
	return c
}

// Holders returns the nodes that have the shard, the one to ask first first.
func (c *Captures) Holders(s catalog.Shard) []catalog.NodeID { return c.coverage.Load().holders[s] }

// capturesRequest asks a node for the captures of some shards; capturesHead begins its answer, one capture a line
// follow, and a line with End.
type capturesRequest struct {
	Query   cdx.Query `json:"query"`
	Shards  shardList `json:"shards"`
	Partial bool      `json:"partial,omitempty"` // answer for shards that are not indexed wholly, too
}

type capturesLine struct {
	Without shardList    `json:"without,omitempty"` // first line: shards asked for that are not indexed there
	Capture *cdx.Capture `json:"c,omitempty"`
	End     bool         `json:"end,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// openLimit is how long a node may take to begin its answer before another is asked.
const openLimit = 2 * time.Second

// Query returns the captures that the query's answer may hold, in key order, for cdx.Arrange. The query's gate decides
// here, about what other nodes answer too. A *cdx.Incomplete comes
// last when shards could not be covered.
func (c *Captures) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		if _, err := q.Compile(); err != nil {
			yield(cdx.Capture{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		streams, missing := c.open(ctx, q)
		for capture, err := range cdx.Merge(streams...) {
			if !yield(capture, err) || err != nil {
				return
			}
		}
		if len(missing) > 0 {
			yield(cdx.Capture{}, &cdx.Incomplete{Shards: missing})
		}
	}
}

// open asks nodes until each shard is covered or no holder is left, and returns their answers. If no node has indexed
// a shard completely, the answer contains what the first holder that answers has of it, and the shard is listed as
// missing.
func (c *Captures) open(ctx context.Context, q cdx.Query) (streams []iter.Seq2[cdx.Capture, error], missing []int) {
	cover := c.coverage.Load()
	var order [catalog.Shards][]catalog.NodeID
	open := make([]catalog.Shard, 0, catalog.Shards)
	for s := range catalog.Shards {
		order[s] = c.Doubts.last(cover.holders[s])
		if len(order[s]) > 0 {
			open = append(open, catalog.Shard(s))
		} else if cover.unkept[s] {
			missing = append(missing, s)
		}
	}
	partial := map[catalog.NodeID][]catalog.Shard{}
	for round := 0; len(open) > 0; round++ {
		asks := map[catalog.NodeID][]catalog.Shard{}
		for _, s := range open {
			if round < len(order[s]) {
				asks[order[s][round]] = append(asks[order[s][round]], s)
				continue
			}
			missing = append(missing, int(s))
			first := c.Doubts.last(order[s])[0] // not one that has just failed to answer
			partial[first] = append(partial[first], s)
		}
		var some []iter.Seq2[cdx.Capture, error]
		some, open = c.askAll(ctx, q, asks, false)
		streams = append(streams, some...)
	}
	if len(partial) > 0 {
		some, _ := c.askAll(ctx, q, partial, true)
		streams = append(streams, some...)
	}
	slices.Sort(missing)
	return streams, missing
}

// askAll asks several nodes at once and returns their answers, and the shards that are not in them.
func (c *Captures) askAll(ctx context.Context, q cdx.Query, asks map[catalog.NodeID][]catalog.Shard,
	partial bool) ([]iter.Seq2[cdx.Capture, error], []catalog.Shard) {
	type opened struct {
		stream  iter.Seq2[cdx.Capture, error]
		without []catalog.Shard
	}
	replies := wire.Gather(slices.Collect(maps.Keys(asks)), func(node catalog.NodeID) (o opened, err error) {
		o.stream, o.without, err = c.ask(ctx, node, capturesRequest{q, asks[node], partial})
		return o, err
	})
	var streams []iter.Seq2[cdx.Capture, error]
	var without []catalog.Shard
	for _, r := range replies {
		if r.Err != nil {
			c.Log.Debug("node does not answer for its captures", "node", r.To, "error", r.Err)
			r.Answer.without = asks[r.To]
			if ctx.Err() == nil {
				c.Doubts.Add(r.To)
			}
		}
		if r.Answer.stream != nil {
			streams = append(streams, r.Answer.stream)
		}
		without = append(without, r.Answer.without...)
	}
	return streams, without
}

// ask opens one node's answer: this node's own index, or a stream from another. The stream leaves out the shards
// in without.
func (c *Captures) ask(ctx context.Context, node catalog.NodeID,
	r capturesRequest) (iter.Seq2[cdx.Capture, error], []catalog.Shard, error) {
	if node == c.Self {
		stream, without := c.local(ctx, r)
		return stream, without, nil
	}
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s, err := c.Carrier.Open(opening, node, Stream)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	fail := func(err error) (iter.Seq2[cdx.Capture, error], []catalog.Shard, error) {
		stop()
		_ = s.Close()
		return nil, nil, err
	}
	_ = s.SetReadDeadline(time.Now().Add(openLimit))
	plan, err := r.Query.Compile()
	if err != nil {
		return fail(err)
	}
	if plan.Gated() { // the other node does not know the reader: it must leave out nothing for what this one keeps back
		r.Query.Limit = 0
	}
	if err := json.NewEncoder(s).Encode(r); err != nil {
		return fail(err)
	}
	lines := json.NewDecoder(bufio.NewReaderSize(s, 64<<10))
	var head capturesLine
	if err := lines.Decode(&head); err != nil {
		return fail(err)
	}
	if head.Error != "" {
		return fail(errors.New(head.Error))
	}
	_ = s.SetReadDeadline(time.Time{})
	c.Doubts.Clear(node)
	return func(yield func(cdx.Capture, error) bool) {
		defer func() { stop(); _ = s.Close() }()
		for {
			var line capturesLine
			err := lines.Decode(&line)
			if err == nil && line.Error != "" {
				err = errors.New(line.Error)
			}
			switch {
			case err != nil:
				yield(cdx.Capture{}, fmt.Errorf("captures from %s: %w", node, err))
				return
			case line.End:
				return
			case line.Capture != nil && plan.Passes(line.Capture):
				if !yield(*line.Capture, nil) {
					return
				}
			}
		}
	}, head.Without, nil
}

// local queries this node's index over the shards that it has indexed wholly.
func (c *Captures) local(ctx context.Context, r capturesRequest) (iter.Seq2[cdx.Capture, error], []catalog.Shard) {
	if c.Indexer == nil {
		return nil, r.Shards
	}
	var wanted [catalog.Shards]bool
	var without []catalog.Shard
	for _, s := range r.Shards {
		if r.Partial || c.Indexer.Ready(s) {
			wanted[s] = true
		} else {
			without = append(without, s)
		}
	}
	in := func(file string) bool { return wanted[catalog.FileName(file).Shard()] && !c.isGone(file) }
	return c.Indexer.index.Query(ctx, r.Query, in), without
}

// Serve answers another node's request on one stream.
func (c *Captures) Serve(ctx context.Context, from catalog.NodeID, s net.Conn) {
	defer func() { _ = s.Close() }()
	_ = s.SetReadDeadline(time.Now().Add(openLimit))
	var r capturesRequest
	out := bufio.NewWriterSize(s, 64<<10)
	lines := json.NewEncoder(out)
	if err := json.NewDecoder(io.LimitReader(s, wire.MaxMessage)).Decode(&r); err != nil {
		_ = lines.Encode(capturesLine{Error: "the request cannot be read"})
		_ = out.Flush()
		return
	}
	stream, without := c.local(ctx, r)
	if lines.Encode(capturesLine{Without: without}) != nil || out.Flush() != nil {
		return
	}
	if stream != nil {
		for capture, err := range stream {
			if err != nil {
				c.Log.Warn("captures could not be read", "for", from, "error", err)
				_ = lines.Encode(capturesLine{Error: err.Error()})
				_ = out.Flush()
				return
			}
			if lines.Encode(capturesLine{Capture: &capture}) != nil {
				return
			}
		}
	}
	_ = lines.Encode(capturesLine{End: true})
	_ = out.Flush()
}

// Arranged answers queries in the order that they ask for.
type Arranged struct{ *Captures }

// Query returns the captures in the order that the query asks for.
func (a Arranged) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return cdx.Arrange(q, a.Captures.Query(ctx, q))
}

// coverage says for each shard which nodes have it, the one to ask first first.
type coverage struct {
	holders [catalog.Shards][]catalog.NodeID
	unkept  [catalog.Shards]bool // files are meant to be there, but no node is
}

// Cover keeps track, until ctx ends, of who has which shard, according to the catalog and gossip. changed reports
// changes of layout, members and replicas; news returns a channel that is closed when a node comes or goes.
func (c *Captures) Cover(ctx context.Context, changed <-chan struct{}, news func() <-chan struct{}) error {
	for {
		next := news()
		if err := c.findCover(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-next:
		}
	}
}

func (c *Captures) findCover() error {
	type holding struct {
		node catalog.NodeID
		rank int
	}
	next := &coverage{}
	var all [catalog.Shards][]holding
	alive := c.Alive()
	rank := func(node catalog.NodeID, place string) int {
		switch {
		case node == c.Self:
			return 0
		case !alive[node]:
			return 3
		case place == c.Place:
			return 1
		}
		return 2
	}
	err := c.Catalog.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		if err != nil {
			return err
		}
		for _, r := range replicas {
			if r.Kind != catalog.Bitarchive {
				continue
			}
			layout, err := v.Layout(r.Name)
			if err != nil {
				return err
			}
			roots, err := v.Roots(r.Name)
			if err != nil {
				return err
			}
			for s, p := range layout {
				if p.Holder != "" {
					all[s] = append(all[s], holding{p.Holder, rank(p.Holder, r.Place)})
				}
				next.unkept[s] = next.unkept[s] || roots[s].Files > 0
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find who covers the shards: %w", err)
	}
	for s := range all {
		next.unkept[s] = next.unkept[s] && len(all[s]) == 0
		slices.SortStableFunc(all[s], func(a, b holding) int { return a.rank - b.rank })
		for _, h := range all[s] {
			next.holders[s] = append(next.holders[s], h.node)
		}
	}
	c.coverage.Store(next)
	return nil
}
