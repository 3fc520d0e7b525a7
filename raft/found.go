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
	st := n.state.store()
	used, err := n.wal.LastIndex()
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
	if err := n.impose(c, 1); err != nil {
		return fmt.Errorf("found a cluster: %w", err)
	}
	return nil
}

// impose applies a command in the next entry, without asking anyone, in a new term and with this node as
// the only voter, all in one transaction, and syncs it.
func (n *Node) impose(c catalog.Command, term uint64) error {
	data, err := command(c)
	if err != nil {
		return err
	}
	if err := n.wal.SetUint64([]byte(termKey), term); err != nil {
		return fmt.Errorf("write the term: %w", err)
	}
	if err := n.state.step("term written"); err != nil {
		return err
	}
	st := n.state.store()
	at := st.applied.Load()
	index := max(at, st.marked()) + 1
	txn := st.db.NewTransactionAt(at, false)
	defer txn.Discard()
	w := newOverlay(txn)
	result, err := n.machine.Apply(w, index, data)
	if err != nil {
		return err
	}
	if result.Refusal != nil {
		return result.Refusal
	}
	conf := configuration{Version: 1, Index: index, Servers: []server{{ID: n.cfg.Self, Voter: true}}}
	if err := st.commit(w, position{Index: index, Term: term, Previous: at}, &conf); err != nil {
		return err
	}
	if err := n.state.step("imposed"); err != nil {
		return err
	}
	return st.markWhole(index, term)
}
