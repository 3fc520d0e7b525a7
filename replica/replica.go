// Package replica is the bit archive of one node: it stores the archive's files under their shards,
// pulls the copies this node owes from other nodes and verifies them, serves its own, audits what it
// holds, sets bad copies aside and deletes only what the catalog has released.
//
// The archive on disk is plain: files/<shard>/<name> beside a manifest-sha256.txt that sha256sum -c
// checks at any time, after kill -9 too. What is owed is decided elsewhere and handed in through
// Duties; this package carries it out and reports.
package replica

import (
	"context"
	"errors"
	"io"

	"holdfast/catalog"
)

// Answers that a caller acts on.
var (
	// ErrBusy reports that the source has as many readers as it admits; try another, or later.
	ErrBusy = errors.New("too many copies are being read already")
	// ErrNotHere reports that a node does not have the file's bytes: look at the catalog again.
	ErrNotHere = errors.New("file is not here")
	// ErrDamaged reports that bytes do not match the file's digest.
	ErrDamaged = errors.New("copy does not match its digest")
	// ErrChanged reports a file that changed while it was put.
	ErrChanged = errors.New("file changed while it was read")
	// ErrExists reports that other bytes are already kept under the name.
	ErrExists = errors.New("other bytes are kept under that name")
	// ErrPending reports a file whose bytes are safe in the outbox while the catalog could not be told
	// yet; it is proposed again until the catalog answers.
	ErrPending = errors.New("the catalog has not agreed yet")
	// ErrRange reports a range that does not lie within the file.
	ErrRange = errors.New("range is outside the file")
)

// Peers reaches the same package on other nodes. Each call answers ErrBusy, ErrNotHere or another error.
type Peers interface {
	// Fetch returns the file's bytes from offset to the end.
	Fetch(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64) (io.ReadCloser, error)
	// Read returns length bytes of the file from offset.
	Read(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset, length int64) (io.ReadCloser, error)
	// Checksum makes the node read its bytes of the file at rest and returns their size and digest.
	Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error)
}
