package runner

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// outbox is an archive whose catalog cannot be told just now: what is put waits.
type outbox struct {
	mu      sync.Mutex
	waiting map[catalog.FileName]catalog.Addition
	refuse  error // what is put again gets it
}

func (o *outbox) Put(_ context.Context, _ string, as catalog.Addition) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		return o.refuse
	}
	o.waiting[as.Name] = as
	return nil
}

func (o *outbox) InOutbox(name catalog.FileName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, there := o.waiting[name]
	return there
}

func (o *outbox) Outbox() (all []catalog.Addition, _ error) { return nil, nil }

// take gives a file to the catalog, or drops it as one that was refused.
func (o *outbox) take(a *alone, name catalog.FileName, refuse error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	as := o.waiting[name]
	delete(o.waiting, name)
	if o.refuse = refuse; refuse == nil {
		as.SHA256[0] = 1
		a.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{as}})
	}
}

// TestAJobEndsWhenTheCatalogKnowsItsFiles lets the cluster decide late about a job's files: the job waits for it. A file
// that is refused by then is the job's fault, and no success.
func TestAJobEndsWhenTheCatalogKnowsItsFiles(t *testing.T) {
	t.Parallel()
	for _, refuse := range []error{nil, os.ErrPermission} {
		synctest.Test(t, func(t *testing.T) {
			a, o := newAlone(t), &outbox{waiting: map[catalog.FileName]catalog.Addition{}}
			c := claiming(t, a, &shelf{}, new(atomic.Int64))
			c.cfg.Archive = o
			r := &Attempt{Dir: t.TempDir(), Job: catalog.Job{ID: 7, Attempt: 1, Collection: "web"}}
			warcs, record := filepath.Join(r.Dir, "warcs", "7-0-a.warc.gz"), filepath.Join(r.Dir, string(MetadataName(r.Job)))
			for _, path := range []string{warcs, record} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("bytes"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := c.intake().enter(t.Context(), r.Job, path, 5, catalog.Digest{}); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			go func() {
				time.Sleep(time.Minute)
				o.take(a, catalog.FileName(filepath.Base(warcs)), nil)
				time.Sleep(time.Minute)
				o.take(a, MetadataName(r.Job), refuse)
			}()
			err := c.intake().settle(t.Context(), r, slog.New(slog.DiscardHandler))
			if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
				t.Errorf("it ended after %v", took)
			}
			if refuse == nil && err != nil || refuse != nil && (err == nil || !strings.Contains(err.Error(), refuse.Error())) {
				t.Errorf("refused with %v: %v", refuse, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.intake().settle(ctx, r, slog.New(slog.DiscardHandler)); refuse == nil && err != nil {
				t.Errorf("what is known already waits: %v", err)
			}
		})
	}
}
