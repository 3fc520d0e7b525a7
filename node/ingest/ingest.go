// Package ingest brings lists of domains into the catalog, line by line. A list lies on the disk of the node that was
// asked, and the catalog knows how far it was read: after a restart the node goes on there.
package ingest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/internal/disk"
)

// Agreement is what is read and decided.
type Agreement interface {
	View(func(catalog.View) error) error
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// Config is what a Runner is opened with.
type Config struct {
	Self  catalog.NodeID
	Dir   string // for the lists, made if it is not there
	Disk  disk.Disk
	Room  func() (int64, error) // bytes that may still be written there
	Agree Agreement
	Now   func() time.Time
	Pause time.Duration // between tries when nobody decides; default: 2 s
	Log   *slog.Logger
}

// MaxSize is how many bytes a list may have.
const MaxSize = 256 << 20

// Runner brings in the lists that this node was given. Its methods may be called at the same time.
type Runner struct {
	cfg  Config
	wake chan struct{}

	mu       sync.Mutex
	arriving map[string]bool // lists that are not agreed on yet, as far as is known
	reading  map[string]bool // ingests that run here now
}

// New returns the runner of a node.
func New(cfg Config) *Runner {
	if cfg.Pause == 0 {
		cfg.Pause = 2 * time.Second
	}
	return &Runner{cfg: cfg, wake: make(chan struct{}, 1), arriving: map[string]bool{}, reading: map[string]bool{}}
}

func (r *Runner) path(id string) string { return filepath.Join(r.cfg.Dir, id+suffix) }

const suffix = ".list"

// Begin takes a list and begins to bring it in. When it returns, the list is on stable storage and the ingest is
// agreed.
func (r *Runner) Begin(ctx context.Context, asked api.IngestRequest) (out domains.Ingest, err error) {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return out, err
	}
	id := r.cfg.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random)
	r.note(r.arriving, id, true)
	decided := true
	defer func() {
		if decided {
			r.note(r.arriving, id, false)
		}
	}()
	begin := domains.IngestBeginning{ID: id, Collection: asked.Collection, Node: r.cfg.Self}
	if begin.Size, begin.SHA256, err = r.receive(id, asked.Body); err != nil {
		return out, err
	}
	result, err := r.cfg.Agree.Propose(ctx, domains.BeginIngest, begin, asked.Actor)
	if err != nil { // it may be decided later: the list is kept until this node starts again
		decided = false
		return out, err
	}
	if result.Refusal != nil {
		return out, errors.Join(result.Refusal, r.cfg.Disk.Remove(r.path(id)))
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return out, json.Unmarshal(result.Value, &out)
}

// note puts an ingest into a set or takes it out, and reports whether that changed the set.
func (r *Runner) note(set map[string]bool, id string, in bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if set[id] == in {
		return false
	}
	if set[id] = in; !in {
		delete(set, id)
	}
	return true
}

// receive writes a list to the disk.
func (r *Runner) receive(id string, body io.Reader) (size int64, sum catalog.Digest, err error) {
	if err := r.cfg.Disk.MkdirAll(r.cfg.Dir); err != nil {
		return 0, sum, err
	}
	hash := sha256.New()
	err = r.cfg.Disk.WriteFile(r.path(id), func(w io.Writer) error {
		room := &roomWriter{to: io.MultiWriter(w, hash), room: r.cfg.Room}
		size, err = io.Copy(room, io.LimitReader(body, MaxSize+1))
		if err == nil && size > MaxSize {
			err = fmt.Errorf("%w: the list has more than %d bytes", api.ErrInvalid, MaxSize)
		}
		return err
	})
	if errors.Is(err, disk.ErrFull) {
		err = fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	return size, catalog.Digest(hash.Sum(nil)), err
}

// roomWriter writes as long as there is room.
type roomWriter struct {
	to    io.Writer
	room  func() (int64, error)
	since int // bytes until it looks again
}

// roomEvery is after how many bytes a roomWriter looks again.
const roomEvery = 16 << 20

func (w *roomWriter) Write(p []byte) (int, error) {
	if w.since -= len(p); w.since < 0 {
		left, err := w.room()
		if err != nil {
			return 0, err
		}
		if left < roomEvery {
			return 0, fmt.Errorf("%w: %d bytes are left above the reserve", disk.ErrFull, max(left, 0))
		}
		w.since = roomEvery
	}
	return w.to.Write(p)
}

// lookEvery is how often Run looks for ingests that it does not know of.
const lookEvery = 15 * time.Second

// Run brings in the lists of this node until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	swept := false
	for {
		err := r.cfg.Agree.Linear(ctx)
		if err == nil && !swept {
			err = r.sweep(ctx)
			swept = err == nil
		}
		var ids []string
		if err == nil {
			ids, err = r.due()
		}
		if err != nil && ctx.Err() == nil {
			r.cfg.Log.Debug("lists of domains wait", "error", err)
		}
		for _, id := range ids {
			if r.note(r.reading, id, true) {
				all.Go(func() {
					defer r.note(r.reading, id, false)
					r.read(ctx, id)
				})
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// due lists the ingests that run on this node.
func (r *Runner) due() (ids []string, err error) {
	err = r.cfg.Agree.View(func(v catalog.View) (err error) {
		ids, err = catalog.DomainsIn(v).Reading(r.cfg.Self)
		return err
	})
	return ids, err
}

// sweep removes lists of which no ingest runs: what a crash left of uploads that nobody was told of, and of those that
// have ended.
func (r *Runner) sweep(ctx context.Context) error {
	entries, err := os.ReadDir(r.cfg.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for lists of domains: %w", err)
	}
	r.mu.Lock()
	keep := maps.Clone(r.arriving)
	r.mu.Unlock()
	// What arrives no more has been decided by now, perhaps in a command that this node has not carried out yet.
	if err := r.cfg.Agree.Linear(ctx); err != nil {
		return err
	}
	ids, err := r.due()
	if err != nil {
		return err
	}
	for _, id := range ids {
		keep[id] = true
	}
	for _, e := range entries {
		if id, ours := strings.CutSuffix(e.Name(), suffix); ours && !keep[id] {
			if err := r.cfg.Disk.Remove(filepath.Join(r.cfg.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
