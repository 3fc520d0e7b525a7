package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/peer"
)

// captures answers queries over the whole archive: each shard from one node that has it indexed, merged in key order.
type captures struct{ n *Node }

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

// Query returns the captures that the query's answer may hold, in key order, for cdx.Arrange. A *cdx.Incomplete comes
// last when shards could not be covered.
func (c captures) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
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

// open asks nodes until each shard is covered or nobody is left who could, and returns their answers. Of a shard that no
// node has indexed wholly, what the first of its holders that answer has is in the answer; it is missing all the same.
func (c captures) open(ctx context.Context, q cdx.Query) (streams []iter.Seq2[cdx.Capture, error], missing []int) {
	cover := c.n.coverage.Load()
	var order [catalog.Shards][]catalog.NodeID
	open := make([]catalog.Shard, 0, catalog.Shards)
	for s := range catalog.Shards {
		order[s] = c.n.doubts.last(cover.holders[s])
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
			first := c.n.doubts.last(order[s])[0] // not one that has just failed to answer
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
func (c captures) askAll(ctx context.Context, q cdx.Query, asks map[catalog.NodeID][]catalog.Shard, partial bool) ([]iter.Seq2[cdx.Capture, error], []catalog.Shard) {
	type opened struct {
		stream  iter.Seq2[cdx.Capture, error]
		without []catalog.Shard
	}
	answers := make(chan opened, len(asks))
	for node, shards := range asks {
		go func() {
			stream, without, err := c.ask(ctx, node, capturesRequest{q, shards, partial})
			if err != nil {
				c.n.log.Debug("node does not answer for its captures", "node", node, "error", err)
				without = shards
				if ctx.Err() == nil {
					c.n.doubts.add(node)
				}
			}
			answers <- opened{stream, without}
		}()
	}
	var streams []iter.Seq2[cdx.Capture, error]
	var without []catalog.Shard
	for range len(asks) {
		a := <-answers
		if a.stream != nil {
			streams = append(streams, a.stream)
		}
		without = append(without, a.without...)
	}
	return streams, without
}

// ask opens one node's answer: this node's own index, or a stream from another. The stream leaves out the shards
// in without.
func (c captures) ask(ctx context.Context, node catalog.NodeID, r capturesRequest) (iter.Seq2[cdx.Capture, error], []catalog.Shard, error) {
	if node == c.n.id {
		stream, without := c.local(ctx, r)
		return stream, without, nil
	}
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s, err := c.n.peer.Open(opening, peer.ID(node), capturesStream)
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
	c.n.doubts.clear(node)
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
			case line.Capture != nil:
				if !yield(*line.Capture, nil) {
					return
				}
			}
		}
	}, head.Without, nil
}

// local queries this node's index over the shards that it has indexed wholly.
func (c captures) local(ctx context.Context, r capturesRequest) (iter.Seq2[cdx.Capture, error], []catalog.Shard) {
	if c.n.indexer == nil {
		return nil, r.Shards
	}
	var wanted [catalog.Shards]bool
	var without []catalog.Shard
	for _, s := range r.Shards {
		if r.Partial || c.n.indexer.ready(s) {
			wanted[s] = true
		} else {
			without = append(without, s)
		}
	}
	return c.n.indexer.index.Query(ctx, r.Query, func(file string) bool { return wanted[catalog.FileName(file).Shard()] }), without
}

// serve answers another node's request on one stream.
func (c captures) serve(ctx context.Context, from peer.ID, s net.Conn) {
	defer func() { _ = s.Close() }()
	_ = s.SetReadDeadline(time.Now().Add(openLimit))
	var r capturesRequest
	out := bufio.NewWriterSize(s, 64<<10)
	lines := json.NewEncoder(out)
	if err := json.NewDecoder(io.LimitReader(s, peer.MaxMessage)).Decode(&r); err != nil {
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
				c.n.log.Warn("captures could not be read", "for", from, "error", err)
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

// arranged answers the API's queries, in the order that they ask for.
type arranged struct{ captures }

func (a arranged) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return cdx.Arrange(q, a.captures.Query(ctx, q))
}

// coverage says for each shard which nodes have it, the one to ask first first.
type coverage struct {
	holders [catalog.Shards][]catalog.NodeID
	unkept  [catalog.Shards]bool // files are meant to be there, but no node is
}

// cover keeps the coverage as the catalog and gossip say.
func (n *Node) cover(ctx context.Context) error {
	watch := n.raft.Watch(catalog.PrefixLayout, catalog.PrefixMembers, catalog.PrefixReplicas)
	defer watch.Close()
	for {
		news := n.changed.C()
		if err := n.findCover(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.C:
		case <-news:
		}
	}
}

func (n *Node) findCover() error {
	type holding struct {
		node catalog.NodeID
		rank int
	}
	next := &coverage{}
	var all [catalog.Shards][]holding
	alive := n.alive()
	rank := func(node catalog.NodeID, place string) int {
		switch {
		case node == n.id:
			return 0
		case !alive[node]:
			return 3
		case place == n.cfg.Replica.Place:
			return 1
		}
		return 2
	}
	err := n.raft.View(func(v catalog.View) error {
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
	n.coverage.Store(next)
	return nil
}
