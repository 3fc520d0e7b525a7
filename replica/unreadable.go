package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// errUnreadable marks an error of reading a file's own bytes that another try will not mend soon: the disk has lost
// them, or keeps them from us. To the archive such a copy is worth as little as a wrong one.
var errUnreadable = errors.New("the bytes cannot be read")

// errShard marks an error of reading a shard's folder or of mending its manifest: the shard cannot be passed now,
// others can.
var errShard = errors.New("the shard cannot be read")

// errMoved reports a shard that another node holds since the audit began.
var errMoved = errors.New("the shard has moved to another node")

// shardFault reports whether err keeps an audit from passing one shard, rather than from going on at all.
func shardFault(err error) bool {
	return errors.Is(err, errShard) || errors.Is(err, errMoved) || errors.Is(err, errUnreadable) ||
		errors.Is(err, ErrNotMounted)
}

// readFault marks err with errUnreadable if it is about the file's bytes: not if this process or the machine merely ran
// out of something. A file that is not there has no bytes.
func readFault(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreadable) {
		return err
	}
	for _, other := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR, syscall.EAGAIN,
		syscall.ETIMEDOUT,
		context.Canceled, context.DeadlineExceeded, ErrNotMounted} {
		if errors.Is(err, other) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}
