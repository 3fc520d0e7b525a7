package raft

import (
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// segments opens the files of the log. The library calls a file sealed once its end was cut off, as a follower does
// with entries that its leader never committed, but gives no index to it: it can then be read until the log is closed,
// and never after. Such a file is read as its last one is after a crash, frame by frame.
type segments struct{ *segment.Filer }

func newSegments(dir string) segments { return segments{segment.NewFiler(dir, fs.New())} }

// Open opens a file that is not the last.
func (s segments) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	if info.IndexStart > 0 {
		return s.Filer.Open(info)
	}
	return s.RecoverTail(info)
}
