package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/internal/disk"
	"holdfast/peer"
	"holdfast/raft"
)

// ErrStateLost reports that a node which has taken part in decisions lacks its log or its state. A voter that forgot
// what it agreed to could undo decisions, and requests that it numbers anew would be taken for earlier ones.
var ErrStateLost = errors.New("what this node has agreed on with the others is gone: restore it; or, on another node, " +
	"run `holdfast node remove --lost` for it, then let it join anew with a token: its files stay")

// ErrNoKey reports a member's folder without the node's key.
var ErrNoKey = errors.New("the node's key is gone: restore it; or, on another node, run `holdfast node remove --lost` for it, " +
	"then let it join as a new one: its files stay")

// lost says what helps where a part of the log or the state is lost or older than the rest.
func lost(err error) error {
	if errors.Is(err, raft.ErrStateLost) || errors.Is(err, raft.ErrSetBack) {
		return fmt.Errorf("%w (%w)", ErrStateLost, err)
	}
	return err
}

// agreedPath is a file that is there once the node has opened its log and its state.
func (c folder) agreedPath() string { return filepath.Join(c.IdentityDir(), "agreed") }

// agreed returns the files without which the log and the state are not there.
func (c folder) agreed() []string {
	return []string{filepath.Join(c.Data, "raft", "boot"), filepath.Join(c.Data, "catalog", "current")}
}

// checkAgreed fails with ErrStateLost when the node has had a log and a state, and has them no more.
func (c folder) checkAgreed() error {
	if !exists(c.agreedPath()) {
		return nil
	}
	for _, path := range c.agreed() {
		if !exists(path) {
			return fmt.Errorf("%w (%s)", ErrStateLost, path)
		}
	}
	return nil
}

// noteAgreed keeps for later starts that the node has a log and a state.
func (c folder) noteAgreed(d disk.Disk) error {
	if exists(c.agreedPath()) {
		return nil
	}
	return d.WriteFile(c.agreedPath(), func(io.Writer) error { return nil })
}

// ownIdentity reads the key of a node that is a member, or was.
func (c folder) ownIdentity() (peer.Identity, error) {
	id, err := peer.LoadIdentity(c.IdentityDir())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (%s)", ErrNoKey, c.IdentityDir())
	}
	return id, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
