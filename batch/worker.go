package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// worker runs programs over the files of this node.
type worker struct {
	cfg    Config
	slots  chan struct{}
	spools spools
	pace   pace
}

func newWorker(cfg Config) *worker {
	return &worker{cfg: cfg, slots: make(chan struct{}, cfg.Limits.Files),
		spools: spools{dir: cfg.Work, disk: cfg.Disk, room: cfg.Room}}
}

// pace spreads what programs read over the time.
type pace struct {
	mu   sync.Mutex
	free time.Time // when all that was taken is paid for
}

// take returns how long to wait before n bytes are read at a rate per second.
func (p *pace) take(n, rate int64, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	due := p.free.Sub(now)
	p.free = p.free.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	return due
}

// errNotYours says that a node asks for what it does not drive, as far as is known here.
var errNotYours = errors.New("the batch is not running, or the node that asks does not drive it")

// taskLimit is how long a request may take to come.
const taskLimit = 30 * time.Second

// Serve answers the task of a driving node on one stream.
func (w *worker) Serve(ctx context.Context, from catalog.NodeID, s net.Conn) {
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = s.SetReadDeadline(time.Now().Add(taskLimit))
	in, out := bufio.NewReader(s), bufio.NewWriterSize(s, 64<<10)
	var t task
	line, err := readTask(in)
	if err == nil {
		err = json.Unmarshal(line, &t)
	}
	if err == nil {
		_ = s.SetReadDeadline(time.Time{})
		go func() { // who asked goes away
			_, _ = in.ReadByte()
			cancel()
		}()
		err = w.work(ctx, from, t, func(o outcome, body io.Reader) error {
			return errors.Join(send(out, o, body), out.Flush())
		})
	}
	last := outcome{End: true}
	if errors.Is(err, errCut) {
		return
	}
	if err != nil {
		w.cfg.Log.Debug("a task of a batch ends", "batch", t.Batch, "for", from, "error", err)
		last = outcome{Error: reason(err.Error())}
	}
	_ = send(out, last, nil)
	_ = out.Flush()
}

// readTask reads the line of a task, which has many names.
func readTask(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > 1<<20 {
			return nil, fmt.Errorf("read a task: %w", err)
		}
	}
}

// work processes the files of a task, some at a time, and answers for each. emit is called by one goroutine at a time;
// after its error nothing more is done.
func (w *worker) work(ctx context.Context, from catalog.NodeID, t task, emit func(outcome, io.Reader) error) error {
	b, err := w.accept(ctx, from, &t)
	if err != nil {
		return err
	}
	program, values, err := w.cfg.Programs.Find(b.Program, b.Parameters)
	if err != nil {
		return err
	}
	selects, err := batches.NewSelector(b)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var one sync.Mutex
	for _, name := range t.Files {
		if !enter(ctx, w.slots) {
			break
		}
		all.Go(func() {
			defer func() { <-w.slots }()
			out := &spool{of: &w.spools, left: t.Left}
			o := w.file(ctx, program, &Env{Values: values, Memory: w.cfg.Limits.Memory}, name, selects, out)
			one.Lock()
			defer one.Unlock()
			err := ctx.Err()
			if err == nil {
				err = emit(o, out.content())
			}
			if err = errors.Join(err, out.close()); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// enter takes a slot, unless ctx has ended: then it takes none and returns false.
func enter(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		if ctx.Err() == nil {
			return true
		}
		<-slots
	case <-ctx.Done():
	}
	return false
}

// file processes one file.
func (w *worker) file(ctx context.Context, p *Program, env *Env, name catalog.FileName, selects *batches.Selector,
	out *spool) outcome {
	fail := func(fault string, err error) outcome {
		return outcome{File: name, Failed: fault, Why: reason(err.Error())}
	}
	err := w.cfg.Catalog.View(func(v catalog.View) (err error) { env.File, err = v.File(name); return err })
	switch {
	case err != nil:
		return fail(faultCopy, err)
	case !selects.Selects(&env.File):
		return fail(faultProgram, errors.New("the file is not one of those that the batch processes"))
	case env.File.RemovedAt() != 0:
		return fail(faultCopy, errors.New("the file was removed"))
	}
	fault, err := w.process(ctx, p, env, out)
	if err != nil {
		return fail(fault, err)
	}
	return outcome{File: name, Bytes: out.size}
}

// accept returns the batch of a task if it runs, and if the node that asks drives it. When this node does not know, it
// first learns what is agreed.
func (w *worker) accept(ctx context.Context, from catalog.NodeID, t *task) (*batches.Batch, error) {
	if len(t.Files) > taskFiles {
		return nil, fmt.Errorf("a task of %d files: at most %d", len(t.Files), taskFiles)
	}
	for again := true; ; again = false {
		var b batches.Batch
		err := w.cfg.Catalog.View(func(v catalog.View) (err error) {
			b, err = catalog.BatchesIn(v).Batch(t.Batch)
			return err
		})
		there := err == nil && b.State == batches.Running && b.Node == from && b.Term == t.Term
		if there && w.knows(&b, t.Files) {
			return &b, nil
		}
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return nil, err
		}
		if !again {
			if there {
				return &b, nil
			}
			return nil, errNotYours
		}
		if err := w.cfg.Catalog.Linear(ctx); err != nil {
			return nil, err
		}
	}
}

// knows reports whether all files are in the catalog as this node has it.
func (w *worker) knows(_ *batches.Batch, files []catalog.FileName) bool {
	err := w.cfg.Catalog.View(func(v catalog.View) error {
		for _, name := range files {
			if _, err := v.File(name); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil && !slices.Contains(files, "")
}
