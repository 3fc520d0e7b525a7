package lookup

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/index"
)

// Indexer keeps the index in step with the files that lie on this node. Its queue is rebuilt from the files at each
// start, so that a crash loses nothing.
type Indexer struct {
	index *index.Index
	files Files
	room  func(context.Context) bool // waits until there is room to write
	log   *slog.Logger
	wake  chan struct{}

	mu      sync.Mutex
	queue   []catalog.FileName
	pending map[catalog.FileName]bool
	open    [catalog.Shards]int // files of the shard that wait to be indexed
	scanned bool                // the start's walk over the files has ended
	failed  map[catalog.FileName]trouble
	damaged map[catalog.FileName]string // indexed as far as they can be read
	reread  map[catalog.FileName]bool   // to be read again though they are indexed
	lacking [catalog.Shards]bool        // files that are meant to be here are not
}

// Files are the archive's files on this node.
type Files interface {
	Has(name catalog.FileName) bool
	Open(name catalog.FileName) (io.ReadCloser, error)
	List(s catalog.Shard) ([]catalog.FileName, error)
	Shards() []catalog.Shard
}

// trouble is why a file could not be indexed, and how often that was tried.
type trouble struct {
	why   string
	tries int
}

// NewIndexer returns the indexer of the files. room waits until there is room on the index's disk, and reports false
// when the context ends first.
func NewIndexer(x *index.Index, files Files, room func(context.Context) bool, log *slog.Logger) *Indexer {
	return &Indexer{index: x, files: files, room: room, log: log.With("room", "index"),
		wake:    make(chan struct{}, indexAtOnce),
		pending: map[catalog.FileName]bool{}, failed: map[catalog.FileName]trouble{},
		reread:  map[catalog.FileName]bool{},
		damaged: map[catalog.FileName]string{}}
}

// Ready reports whether all files of the shard that are meant to be here are, and are indexed.
func (x *Indexer) Ready(s catalog.Shard) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.scanned && x.open[s] == 0 && !x.lacking[s]
}

// setLacking says of which shards files are meant to be here that are not.
func (x *Indexer) setLacking(lacking [catalog.Shards]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lacking = lacking
}

// Stored tells the indexer that a file is kept on this node from now on.
func (x *Indexer) Stored(name catalog.FileName) {
	x.mu.Lock()
	if !x.pending[name] {
		x.pending[name] = true
		x.open[name.Shard()]++
		x.queue = append(x.queue, name)
	}
	x.mu.Unlock()
	x.poke()
}

func (x *Indexer) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Gone tells the indexer that a file is no longer kept on this node.
func (x *Indexer) Gone(name catalog.FileName) {
	if err := x.index.Remove(string(name)); err != nil {
		x.log.Error("file stays in the index", "file", name, "error", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.failed, name)
	delete(x.damaged, name)
}

// noteDamage records the damage of an indexed file, if there was any. The caller holds the lock.
func (x *Indexer) noteDamage(f index.File) {
	if f.Damage != "" {
		x.damaged[catalog.FileName(f.Name)] = f.Damage
	}
}

// indexAtOnce is how many files are read into the index at once: while one waits for the disk another is parsed.
const indexAtOnce = 3

// Run indexes what waits until ctx ends.
func (x *Indexer) Run(ctx context.Context) error {
	if err := x.scan(ctx); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	for range indexAtOnce {
		all.Go(func() { x.work(ctx) })
	}
	<-ctx.Done()
	return ctx.Err()
}

func (x *Indexer) work(ctx context.Context) {
	for {
		name, some := x.next()
		if some {
			if !x.room(ctx) {
				return
			}
			err := x.add(ctx, name)
			if ctx.Err() != nil {
				return
			}
			x.settle(name, err)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
	}
}

// scan queues every file here that the index lacks, and drops from the index the files that are no longer here.
func (x *Indexer) scan(ctx context.Context) error {
	for f, err := range x.index.Files(ctx) {
		if err != nil {
			return fmt.Errorf("list the files of the index: %w", err)
		}
		if !x.files.Has(catalog.FileName(f.Name)) {
			x.Gone(catalog.FileName(f.Name))
			continue
		}
		x.mu.Lock()
		x.noteDamage(f)
		if f.Outdated() {
			x.again(catalog.FileName(f.Name))
		}
		x.mu.Unlock()
	}
	for _, shard := range x.files.Shards() {
		held, err := x.files.List(shard)
		if err != nil {
			return fmt.Errorf("list shard %s for the index: %w", shard, err)
		}
		for _, name := range held {
			if !x.index.Has(string(name)) {
				x.Stored(name)
			}
		}
	}
	x.mu.Lock()
	x.scanned = true
	x.mu.Unlock()
	return nil
}

func (x *Indexer) next() (catalog.FileName, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return "", false
	}
	name := x.queue[0]
	x.queue = x.queue[1:]
	return name, true
}

func (x *Indexer) add(ctx context.Context, name catalog.FileName) error {
	if !x.files.Has(name) {
		return nil
	}
	open := func() (io.ReadCloser, error) { return x.files.Open(name) }
	x.mu.Lock()
	again := x.reread[name]
	x.mu.Unlock()
	if again {
		return x.index.Renew(ctx, string(name), open)
	}
	return x.index.Add(ctx, string(name), open)
}

// The pauses before a file that could not be indexed is tried again.
const (
	indexPause    = 5 * time.Second
	indexLongest  = 10 * time.Minute
	indexDoubling = 8
)

// settle takes an indexed file off the waiting list. One that could not be read stays on it, so that its shard is
// answered by others, and is tried again after a while.
func (x *Indexer) settle(name catalog.FileName, err error) {
	file, _ := x.index.File(string(name))
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		if !x.reread[name] {
			x.open[name.Shard()]--
		}
		delete(x.pending, name)
		delete(x.failed, name)
		delete(x.reread, name)
		delete(x.damaged, name)
		x.noteDamage(file)
		return
	}
	tries := x.failed[name].tries
	x.failed[name] = trouble{err.Error(), tries + 1}
	x.log.Warn("file not indexed yet", "file", name, "error", err)
	time.AfterFunc(min(indexPause<<min(tries, indexDoubling), indexLongest), func() {
		x.mu.Lock()
		x.queue = append(x.queue, name)
		x.mu.Unlock()
		x.poke()
	})
}

// Rebuild reads every file on this node again; the old captures answer until the new ones do.
func (x *Indexer) Rebuild() error {
	for _, shard := range x.files.Shards() {
		held, err := x.files.List(shard)
		if err != nil {
			return fmt.Errorf("list shard %s for the index: %w", shard, err)
		}
		for _, name := range held {
			x.mu.Lock()
			x.again(name)
			x.mu.Unlock()
			x.poke()
		}
	}
	return nil
}

// again queues a file that is indexed already. The caller holds the lock.
func (x *Indexer) again(name catalog.FileName) {
	if !x.pending[name] {
		x.pending[name], x.reread[name] = true, true
		x.queue = append(x.queue, name)
	}
}

// Status is the state of an index.
type Status struct {
	Files, Captures int64
	Waiting         int                         // files that wait to be indexed
	Failed, Damaged map[catalog.FileName]string // could not be indexed; are indexed as far as they can be read
	Building        bool                        // files that were indexed are read again
}

// Status returns the state of the index.
func (x *Indexer) Status() Status {
	has := x.index.Status()
	x.mu.Lock()
	defer x.mu.Unlock()
	out := Status{Files: int64(has.Files), Captures: has.Captures, Waiting: len(x.pending),
		Damaged: maps.Clone(x.damaged), Failed: make(map[catalog.FileName]string, len(x.failed)),
		Building: len(x.reread) > 0}
	for name, t := range x.failed {
		out.Failed[name] = t.why
	}
	return out
}

// Alerts says that files could not be indexed, if there are some.
func (x *Indexer) Alerts() []alert.Alert {
	failed := len(x.Status().Failed)
	if failed == 0 {
		return nil
	}
	return []alert.Alert{alert.New(alert.FilesNotIndexed, "", "files", alert.Number(failed))}
}
