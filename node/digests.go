package node

import (
	"context"

	"holdfast/catalog"
	"holdfast/cdx"
)

// digestAnswer is a node's earliest capture with a payload digest, if it has one.
type digestAnswer struct {
	Capture cdx.Capture `json:"capture"`
	Found   bool        `json:"found"`
}

// Digest returns the earliest capture with that payload: of each shard's first holder, or of any that answers.
func (c captures) Digest(ctx context.Context, digest string) (cdx.Capture, bool, error) {
	first, rest := map[catalog.NodeID]bool{}, map[catalog.NodeID]bool{}
	for _, holders := range c.n.coverage.Load().holders {
		for i, node := range c.n.doubts.last(holders) {
			if i == 0 {
				first[node] = true
			} else {
				rest[node] = true
			}
		}
	}
	best, all := c.askDigest(ctx, digest, first)
	if !all || !best.Found { // others may hold what did not answer, or what is not indexed there yet
		for node := range first {
			delete(rest, node)
		}
		if other, _ := c.askDigest(ctx, digest, rest); other.before(best) {
			best = other
		}
	}
	return best.Capture, best.Found, nil
}

func (a digestAnswer) before(b digestAnswer) bool {
	return a.Found && (!b.Found || a.Capture.Timestamp < b.Capture.Timestamp)
}

// askDigest asks the nodes at once and returns the earliest answer, and whether all of them answered.
func (c captures) askDigest(ctx context.Context, digest string, nodes map[catalog.NodeID]bool) (best digestAnswer, all bool) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	type answered struct {
		digestAnswer
		err error
	}
	answers := make(chan answered, len(nodes))
	for node := range nodes {
		go func() {
			var a answered
			if node == c.n.id {
				a.digestAnswer, a.err = c.n.serveDigest(ctx, node, digest)
			} else {
				a.digestAnswer, a.err = ask[digestAnswer](ctx, c.n.peer, node, digestCall, digest)
			}
			if a.err != nil {
				c.n.log.Debug("node does not answer for a digest", "node", node, "error", a.err)
				c.n.doubts.add(node)
			}
			answers <- a
		}()
	}
	all = true
	for range nodes {
		a := <-answers
		all = all && a.err == nil
		if a.err == nil && a.before(best) {
			best = a.digestAnswer
		}
	}
	return best, all
}

func (n *Node) serveDigest(ctx context.Context, _ catalog.NodeID, digest string) (a digestAnswer, err error) {
	if n.indexer != nil {
		a.Capture, a.Found, err = n.indexer.index.Digest(ctx, digest, nil)
	}
	return a, err
}
