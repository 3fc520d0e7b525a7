package membership

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/internal/disk"
	"holdfast/peer"
)

// ErrStateLost reports that a node which has taken part in decisions lacks its log or its state. A voter that forgot
// what it agreed to could undo decisions, and its newly numbered requests would be taken for earlier ones.
var ErrStateLost = errors.New("the log or the catalog of this node is missing, or is older than it was: " +
	"put it back as it was; or remove the node with `holdfast node remove --lost` on another node, " +
	"then let it join again: its files stay")

// ErrNoKey reports a member's folder without the node's key.
var ErrNoKey = errors.New("the key of this node is missing: put it back; or remove the node " +
	"with `holdfast node remove --lost` on another node, then let it join as a new one: its files stay")

// agreedPath is a file that is there once the node has opened its log and its state.
func (c Folder) agreedPath() string { return filepath.Join(c.IdentityDir(), "agreed") }

// agreed returns the files without which the log and the state are not there.
func (c Folder) agreed() []string {
	return []string{filepath.Join(c.Data, "raft", "boot"), filepath.Join(c.Data, "catalog", "current")}
}

// CheckAgreed fails with ErrStateLost when the node has had a log and a state, and has them no more.
func (c Folder) CheckAgreed() error {
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

// NoteAgreed keeps for later starts that the node has a log and a state.
func (c Folder) NoteAgreed(d disk.Disk) error {
	if exists(c.agreedPath()) {
		return nil
	}
	return d.WriteFile(c.agreedPath(), func(io.Writer) error { return nil })
}

// OwnIdentity reads the key of a node that is a member, or was.
func (c Folder) OwnIdentity() (peer.Identity, error) {
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
