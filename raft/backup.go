package raft

import (
	"errors"
	"fmt"
	"io"
)

// Backup writes this node's current state, in the form of a streamed Raft snapshot, and returns the state's index.
func (n *Node) Backup(w io.Writer) (index uint64, err error) {
	st, version, err := n.storage.state.pin()
	if err != nil {
		return 0, fmt.Errorf("back up the state: %w", err)
	}
	defer st.unpin(version)
	pos, err := st.positionAt(version)
	if err != nil {
		return 0, fmt.Errorf("back up the state: %w", err)
	}
	return version, writeStream(w, st, streamHead{Index: version, Term: pos.Term})
}

// CheckBackup reads what Backup wrote and returns its index and number of keys, or what is wrong with it.
func CheckBackup(r io.Reader) (index, keys uint64, err error) {
	s, err := newStreamReader(r)
	if err != nil {
		return 0, 0, err
	}
	for {
		_, _, err := s.next()
		if errors.Is(err, io.EOF) {
			return s.head.Index, s.count, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// Check reads the whole state of this node and compares it with its checksums. The error says what is damaged. A
// running node continues meanwhile.
func (n *Node) Check() error {
	st, version, err := n.storage.state.pin()
	if err != nil {
		return fmt.Errorf("check the state: %w", err)
	}
	defer st.unpin(version)
	if err := st.db.VerifyChecksum(); err != nil {
		return fmt.Errorf("check the state in %s: %w: %w", st.dir, ErrDamaged, err)
	}
	var size counter
	return writeStream(&size, st, streamHead{Index: version})
}
