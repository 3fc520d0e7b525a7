package lookup

import (
	"context"
	"maps"
	"slices"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/node/wire"
)

// digestAnswer is a node's earliest capture with a payload digest, if it has one.
type digestAnswer struct {
	Capture cdx.Capture `json:"capture"`
	Found   bool        `json:"found"`
}

// Digest returns the earliest capture with that payload: of each shard's first holder, or of any that answers.
func (c *Captures) Digest(ctx context.Context, digest string) (cdx.Capture, bool, error) {
	return c.Original(ctx, digest, nil)
}

// Original is Digest, of captures that the gate lets pass; nil: all. Of another node's, only the earliest is known: if
// that may not be told of, it is as if the node had none.
func (c *Captures) Original(ctx context.Context, digest string, gate cdx.Gate) (cdx.Capture, bool, error) {
	first, rest := map[catalog.NodeID]bool{}, map[catalog.NodeID]bool{}
	for _, holders := range c.coverage.Load().holders {
		for i, node := range c.Doubts.last(holders) {
			if i == 0 {
				first[node] = true
			} else {
				rest[node] = true
			}
		}
	}
	best, all := c.askDigest(ctx, digest, first, gate)
	if !all || !best.Found { // other nodes may hold shards that did not answer or are not indexed there yet
		for node := range first {
			delete(rest, node)
		}
		if other, _ := c.askDigest(ctx, digest, rest, gate); other.before(best) {
			best = other
		}
	}
	return best.Capture, best.Found, nil
}

func (a digestAnswer) before(b digestAnswer) bool {
	return a.Found && (!b.Found || a.Capture.Timestamp < b.Capture.Timestamp)
}

// askDigest asks the nodes at once and returns the earliest answer, and whether all of them answered.
func (c *Captures) askDigest(ctx context.Context, digest string,
	nodes map[catalog.NodeID]bool, gate cdx.Gate) (best digestAnswer, all bool) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	replies := wire.Gather(slices.Collect(maps.Keys(nodes)), func(node catalog.NodeID) (digestAnswer, error) {
		if node == c.Self {
			return c.ownDigest(ctx, digest, gate)
		}
		return wire.Ask[digestAnswer](ctx, c.Carrier, node, DigestCall, digest)
	})
	all = true
	for _, r := range replies {
		if r.Err != nil {
			c.Log.Debug("node does not answer for a digest", "node", r.To, "error", r.Err)
			c.Doubts.Add(r.To)
			all = false
		} else if r.Answer.before(best) && (gate == nil || gate.Passes(&r.Answer.Capture)) {
			best = r.Answer
		}
	}
	return best, all
}

// AnswerDigest answers another node's call for the earliest capture with a payload digest on this one.
func (c *Captures) AnswerDigest() wire.Handler {
	return wire.Answer(DigestCall, func(ctx context.Context, _ catalog.NodeID, digest string) (digestAnswer, error) {
		return c.ownDigest(ctx, digest, nil)
	})
}

func (c *Captures) ownDigest(ctx context.Context, digest string, gate cdx.Gate) (a digestAnswer, err error) {
	if c.Indexer != nil {
		a.Capture, a.Found, err = c.Indexer.index.Original(ctx, digest, func(file string) bool {
			return !c.isGone(file)
		}, gate)
	}
	return a, err
}
