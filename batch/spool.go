package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"holdfast/internal/disk"
)

// errOutput reports that a program has written more than the batch may.
var errOutput = errors.New("the result of the batch has reached its limit")

// spoolMemory is how much of an output is kept in memory.
const spoolMemory = 1 << 20

// spools makes spools in a folder.
type spools struct {
	dir  string
	disk disk.Disk
	room func() (int64, error)
	next atomic.Uint64
}

// spool keeps the output of a program until its file is known to be right: in memory, and when it is large in a file.
type spool struct {
	of     *spools
	left   int64 // bytes that it may still get; negative: any number
	memory bytes.Buffer
	large  *disk.File
	size   int64
	room   int64 // bytes that may be written before the room is looked at again
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	if s.left >= 0 && int64(len(p)) > s.left-s.size {
		return 0, errOutput
	}
	if s.large == nil && s.size+int64(len(p)) > spoolMemory {
		if err := s.grow(); err != nil {
			return 0, err
		}
	}
	if s.large == nil {
		n, err := s.memory.Write(p)
		s.size += int64(n)
		return n, err
	}
	if s.room < int64(len(p)) {
		room, err := s.of.room()
		if err == nil && room < int64(len(p)) {
			err = fmt.Errorf("keep an output: %w", disk.ErrFull)
		}
		if err != nil {
			return 0, err
		}
		s.room = min(room, 64<<20)
	}
	n, err := s.large.Write(p)
	s.size, s.room = s.size+int64(n), s.room-int64(n)
	return n, err
}

// grow moves what is kept to a file.
func (s *spool) grow() error {
	if err := s.of.disk.MkdirAll(s.of.dir); err != nil {
		return err
	}
	file, err := s.of.disk.Create(filepath.Join(s.of.dir, "output-"+strconv.FormatUint(s.of.next.Add(1), 10)))
	if err != nil {
		return err
	}
	s.large = file
	if _, err := file.Write(s.memory.Bytes()); err != nil {
		return err
	}
	s.memory = bytes.Buffer{}
	return nil
}

func (s *spool) content() io.Reader {
	if s.large != nil {
		return io.NewSectionReader(s.large, 0, s.size)
	}
	return bytes.NewReader(s.memory.Bytes())
}

func (s *spool) close() error {
	if s.large == nil {
		return nil
	}
	return errors.Join(s.large.Close(), s.of.disk.Remove(s.large.Name()))
}
