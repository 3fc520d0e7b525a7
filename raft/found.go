package raft

import (
	"context"
	"fmt"
	"time"

	"holdfast/catalog"
)

// termKey is where the Raft library keeps the current term.
const termKey = "CurrentTerm"

// voteTermKey is where it keeps the term in which the node voted last.
const voteTermKey = "LastVoteTerm"

// Bootstrap founds a cluster with this node as its only voter, before Run: the command is applied as the
// first entry. A refusal of the command is returned as the error. ErrFounded when there is a state already.
func (n *Node) Bootstrap(_ context.Context, c catalog.Command) error {
	st := n.storage.state.store()
	used, err := n.storage.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("found a cluster: %w", err)
	}
	if used > 0 || st.applied.Load() > 0 {
		return ErrFounded
	}
	if c.At == 0 {
		c.At = catalog.At(time.Now())
	}
	if c.Version == 0 {
		c.Version = 1
	}
	if err := n.storage.impose(c, 1); err != nil {
		return fmt.Errorf("found a cluster: %w", err)
	}
	return nil
}
