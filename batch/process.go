package batch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"holdfast/catalog"
)

// errWrong reports bytes that are not the file's.
var errWrong = errors.New("the copy is wrong")

// process runs a program over this node's copy of a file, and compares the copy meanwhile. The fault says what an error
// is of. What was written is worth nothing when there is an error.
func (w *worker) process(ctx context.Context, p *Program, env *Env, out io.Writer) (fault string, err error) {
	in, size, err := w.cfg.Files.Open(env.File.Name)
	if err != nil {
		return faultCopy, err
	}
	defer func() {
		if closing := in.Close(); err == nil && closing != nil {
			fault, err = faultCopy, closing
		}
	}()
	if size != env.File.Size {
		w.cfg.Files.Doubt(env.File.Name)
		return faultCopy, fmt.Errorf("%w: %d bytes instead of %d", errWrong, size, env.File.Size)
	}
	if p.OfEntry != nil {
		return faultProgram, p.run(env, nil, out)
	}
	read := &compared{ctx: ctx, in: in, sum: sha256.New(), wait: w.wait}
	err = p.run(env, read, out)
	if ctx.Err() != nil {
		return faultCopy, ctx.Err()
	}
	_, rest := io.Copy(io.Discard, read) // what the program did not read
	switch {
	case read.failed != nil || rest != nil:
		return faultCopy, errors.Join(read.failed, rest)
	case catalog.Digest(read.sum.Sum(nil)) != env.File.SHA256:
		w.cfg.Files.Doubt(env.File.Name)
		return faultCopy, fmt.Errorf("%w: SHA-256 %x", errWrong, read.sum.Sum(nil))
	case errors.Is(err, errOutput):
		return faultOutput, err
	}
	return faultProgram, err
}

// compared reads a file in steps, before each of which it waits for its turn, and hashes what it reads.
type compared struct {
	ctx    context.Context
	in     io.Reader
	sum    hash.Hash
	wait   func(context.Context, int64) error
	turn   int64 // bytes that may be read without waiting again
	failed error // of reading, whatever the program makes of it
}

// step is how many bytes are read between two waits.
const step = 1 << 20

// Read implements io.Reader.
func (c *compared) Read(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	if c.turn <= 0 {
		if c.failed = c.wait(c.ctx, step); c.failed != nil {
			return 0, c.failed
		}
		c.turn = step
	}
	n, err := c.in.Read(p)
	c.sum.Write(p[:n])
	c.turn -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// How long a program gives way to readers and repairs before it reads on all the same: so it reads at least 8 MiB/s.
const (
	yieldFor  = 125 * time.Millisecond
	yieldStep = 5 * time.Millisecond
)

// wait returns when a program may read n bytes more: readers and repairs go first, and all programs together keep the
// node's pace.
func (w *worker) wait(ctx context.Context, n int64) error {
	for waited := time.Duration(0); waited < yieldFor && w.cfg.Files.Busy(); waited += yieldStep {
		if err := sleep(ctx, yieldStep); err != nil {
			return err
		}
	}
	if w.cfg.Limits.Pace <= 0 {
		return ctx.Err()
	}
	return sleep(ctx, w.pace.take(n, w.cfg.Limits.Pace, time.Now()))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
