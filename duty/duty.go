// Package duty decides what is owed next: by the leader (shards to place, replicas to fill, verdicts, lost jobs) and
// by a node (files to fetch, bytes to release, jobs to claim, audits).
//
// Each duty is a pure function of the catalog's view, of which nodes are alive, and of the time: the same arguments
// give the same answer. A duty only says what to do. Carrying it out is a command, which the catalog checks again, so
// that a duty decided on an old view does no harm. Lists are limited to the length asked for, and no duty walks all
// files. Errors come from the view.
package duty

import (
	"crypto/sha256"
	"encoding/binary"

	"holdfast/catalog"
)

// Alive says whether a node can be reached, as far as is known.
type Alive func(catalog.NodeID) bool

// rank is a number that spreads pairs evenly and is the same everywhere.
func rank(a, b string) uint64 {
	sum := sha256.Sum256([]byte(a + "\x00" + b))
	return binary.BigEndian.Uint64(sum[:8])
}
