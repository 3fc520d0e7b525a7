package node

import (
	"context"
	"sync"

	"holdfast/catalog"
	"holdfast/cdx"
)

// digestAnswer is a node's earliest capture with a payload digest, if it has one.
type digestAnswer struct {
	Capture cdx.Capture `json:"capture"`
	Found   bool        `json:"found"`
}

// Digest returns the earliest capture with that payload among the nodes that answer.
func (c captures) Digest(ctx context.Context, digest string) (cdx.Capture, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	nodes := map[catalog.NodeID]bool{}
	for _, holders := range c.n.coverage.Load().holders {
		if len(holders) > 0 {
			nodes[holders[0]] = true
		}
	}
	answers := make(chan digestAnswer, len(nodes))
	var all sync.WaitGroup
	for node := range nodes {
		all.Go(func() {
			var a digestAnswer
			var err error
			if node == c.n.id {
				a, err = c.n.serveDigest(ctx, node, digest)
			} else {
				a, err = ask[digestAnswer](ctx, c.n.peer, node, digestCall, digest)
			}
			if err != nil {
				c.n.log.Debug("node does not answer for a digest", "node", node, "error", err)
			}
			answers <- a
		})
	}
	all.Wait()
	close(answers)
	var best digestAnswer
	for a := range answers {
		if a.Found && (!best.Found || a.Capture.Timestamp < best.Capture.Timestamp) {
			best = a
		}
	}
	return best.Capture, best.Found, nil
}

func (n *Node) serveDigest(ctx context.Context, _ catalog.NodeID, digest string) (a digestAnswer, err error) {
	if n.indexer != nil {
		a.Capture, a.Found, err = n.indexer.index.Digest(ctx, digest, nil)
	}
	return a, err
}
