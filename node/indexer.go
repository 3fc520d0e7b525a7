package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/index"
	"holdfast/replica"
)

// indexer keeps the index in step with the files that lie on this node. Its queue is rebuilt from the files at each
// start, so that a crash loses nothing.
type indexer struct {
	index *index.Index
	store *replica.Store
	room  func() (int64, error) // bytes that may still be written
	log   *slog.Logger
	wake  chan struct{}

	mu      sync.Mutex
	queue   []catalog.FileName
	pending map[catalog.FileName]bool
	open    [catalog.Shards]int // files of the shard that wait to be indexed
	scanned bool                // the start's walk over the files has ended
	failed  map[catalog.FileName]trouble
	damaged map[catalog.FileName]string // indexed as far as they can be read
	anew    map[catalog.FileName]bool   // to be read again though they are indexed
	lacking [catalog.Shards]bool        // files that are meant to be here are not
}

// trouble is why a file could not be indexed, and how often that was tried.
type trouble struct {
	why   string
	tries int
}

func newIndexer(x *index.Index, store *replica.Store, room func() (int64, error), log *slog.Logger) *indexer {
	return &indexer{index: x, store: store, room: room, log: log.With("room", "index"), wake: make(chan struct{}, indexAtOnce),
		pending: map[catalog.FileName]bool{}, failed: map[catalog.FileName]trouble{}, anew: map[catalog.FileName]bool{},
		damaged: map[catalog.FileName]string{}}
}

// ready reports whether all files of the shard that are meant to be here are, and are indexed.
func (x *indexer) ready(s catalog.Shard) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.scanned && x.open[s] == 0 && !x.lacking[s]
}

// setLacking says of which shards files are meant to be here that are not.
func (x *indexer) setLacking(lacking [catalog.Shards]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lacking = lacking
}

// stored tells the indexer that a file is kept on this node from now on.
func (x *indexer) stored(name catalog.FileName) {
	x.mu.Lock()
	if !x.pending[name] {
		x.pending[name] = true
		x.open[name.Shard()]++
		x.queue = append(x.queue, name)
	}
	x.mu.Unlock()
	x.poke()
}

func (x *indexer) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// gone tells the indexer that a file is no longer kept on this node.
func (x *indexer) gone(name catalog.FileName) {
	if err := x.index.Remove(string(name)); err != nil {
		x.log.Error("file stays in the index", "file", name, "error", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.failed, name)
	delete(x.damaged, name)
}

// noteDamage keeps what was wrong with an indexed file, if anything was. The caller holds the lock.
func (x *indexer) noteDamage(f index.File) {
	if f.Damage != "" {
		x.damaged[catalog.FileName(f.Name)] = f.Damage
	}
}

// indexAtOnce is how many files are read into the index at once: while one waits for the disk another is parsed.
const indexAtOnce = 3

// Run indexes what waits until ctx ends.
func (x *indexer) Run(ctx context.Context) error {
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

func (x *indexer) work(ctx context.Context) {
	for {
		name, some := x.next()
		if some {
			if !waitForRoom(ctx, x.room) {
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

// scan queues every file here that the index lacks, and drops from the index what is here no longer.
func (x *indexer) scan(ctx context.Context) error {
	for f, err := range x.index.Files(ctx) {
		if err != nil {
			return fmt.Errorf("list the files of the index: %w", err)
		}
		if !x.store.Has(catalog.FileName(f.Name)) {
			x.gone(catalog.FileName(f.Name))
			continue
		}
		x.mu.Lock()
		x.noteDamage(f)
		if f.Outdated() {
			x.again(catalog.FileName(f.Name))
		}
		x.mu.Unlock()
	}
	for _, shard := range x.store.Shards() {
		held, err := x.store.List(shard)
		if err != nil {
			return fmt.Errorf("list shard %s for the index: %w", shard, err)
		}
		for _, h := range held {
			if !x.index.Has(string(h.Name)) {
				x.stored(h.Name)
			}
		}
	}
	x.mu.Lock()
	x.scanned = true
	x.mu.Unlock()
	return nil
}

func (x *indexer) next() (catalog.FileName, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return "", false
	}
	name := x.queue[0]
	x.queue = x.queue[1:]
	return name, true
}

func (x *indexer) add(ctx context.Context, name catalog.FileName) error {
	if !x.store.Has(name) {
		return nil
	}
	open := func() (io.ReadCloser, error) {
		b, err := x.store.Open(name)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	x.mu.Lock()
	anew := x.anew[name]
	x.mu.Unlock()
	if anew {
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
func (x *indexer) settle(name catalog.FileName, err error) {
	file, _ := x.index.File(string(name))
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		if !x.anew[name] {
			x.open[name.Shard()]--
		}
		delete(x.pending, name)
		delete(x.failed, name)
		delete(x.anew, name)
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

// rebuild reads every file on this node again; what was indexed answers until the new captures do.
func (x *indexer) rebuild() error {
	for _, shard := range x.store.Shards() {
		held, err := x.store.List(shard)
		if err != nil {
			return fmt.Errorf("list shard %s for the index: %w", shard, err)
		}
		for _, h := range held {
			x.mu.Lock()
			x.again(h.Name)
			x.mu.Unlock()
			x.poke()
		}
	}
	return nil
}

// again queues a file that is indexed already. The caller holds the lock.
func (x *indexer) again(name catalog.FileName) {
	if !x.pending[name] {
		x.pending[name], x.anew[name] = true, true
		x.queue = append(x.queue, name)
	}
}

// status returns how many files wait, those that could not be indexed whole, and whether files are read anew.
func (x *indexer) status() (waiting int, failed, damaged map[catalog.FileName]string, building bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	failed = make(map[catalog.FileName]string, len(x.failed))
	for name, t := range x.failed {
		failed[name] = t.why
	}
	return len(x.pending), failed, maps.Clone(x.damaged), len(x.anew) > 0
}
