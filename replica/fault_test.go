package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// errBroken is how a source of the tests breaks off.
var errBroken = errors.New("connection reset")

// reading returns a reader with the given Read.
type reading func([]byte) (int, error)

func (r reading) Read(p []byte) (int, error) { return r(p) }

func body(r io.Reader) io.ReadCloser { return io.NopCloser(r) }

// silent sends nothing until it is closed.
type silent chan struct{}

func (s silent) Read([]byte) (int, error) { <-s; return 0, errBroken }
func (s silent) Close() error             { close(s); return nil }

// TestSourcesMisbehave lets south's only source be busy, break off, stop sending, send too little, too much
// and something else, and demands that the copy is made all the same and nothing bad is ever stored.
func TestSourcesMisbehave(t *testing.T) {
	t.Parallel()
	size := 3 << 20
	good := content(7, size)
	tests := []struct {
		name   string
		answer func(try int, offset int64) (io.ReadCloser, error) // nil, nil: the real bytes
		want   func(t *testing.T, tries int, offsets []int64)
	}{
		{"busy", func(try int, _ int64) (io.ReadCloser, error) {
			if try <= 4 {
				return nil, ErrBusy
			}
			return nil, nil
		}, nil},
		{"not here", func(try int, _ int64) (io.ReadCloser, error) {
			if try <= 2 {
				return nil, ErrNotHere
			}
			return nil, nil
		}, nil},
		{"breaks off", func(try int, offset int64) (io.ReadCloser, error) {
			if try <= 2 {
				return body(io.MultiReader(bytes.NewReader(good[offset:offset+1<<20]), reading(func([]byte) (int, error) { return 0, errBroken }))), nil
			}
			return nil, nil
		}, func(t *testing.T, _ int, offsets []int64) {
			if len(offsets) != 3 || offsets[1] != 1<<20 || offsets[2] != 2<<20 {
				t.Fatalf("fetched from %v: it did not resume", offsets)
			}
		}},
		{"stalls", func(try int, _ int64) (io.ReadCloser, error) {
			if try == 1 {
				return make(silent), nil
			}
			return nil, nil
		}, nil},
		{"too short", func(try int, offset int64) (io.ReadCloser, error) {
			if try == 1 {
				return body(bytes.NewReader(good[:100])), nil
			}
			return nil, nil
		}, nil},
		{"endless", func(try int, _ int64) (io.ReadCloser, error) {
			if try == 1 {
				return body(reading(func(p []byte) (int, error) { clear(p); return len(p), nil })), nil
			}
			return nil, nil
		}, nil},
		{"wrong", func(try int, _ int64) (io.ReadCloser, error) {
			if try == 1 {
				return body(bytes.NewReader(content(8, size))), nil
			}
			return nil, nil
		}, nil},
		{"wrong after a break", func(try int, offset int64) (io.ReadCloser, error) {
			switch try {
			case 1:
				return body(io.MultiReader(bytes.NewReader(content(8, 1<<20)), reading(func([]byte) (int, error) { return 0, errBroken }))), nil
			case 2:
				return nil, nil
			}
			return nil, nil
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "north-1", "south-1")
				tries := 0
				var offsets []int64
				c.node("north-1").wrap = func(name catalog.FileName, offset int64, in io.ReadCloser) (io.ReadCloser, error) {
					tries++
					offsets = append(offsets, offset)
					if other, err := tt.answer(tries, offset); other != nil || err != nil {
						in.Close()
						return other, err
					}
					return answered(in)
				}
				defer c.run("north-1", "south-1")()
				c.node("north-1").put("a.warc.gz", 7, size)
				c.complete("a.warc.gz")
				if !bytes.Equal(read(t, c.node("south-1").r.store, "a.warc.gz"), good) {
					t.Fatal("other bytes were stored")
				}
				if tt.want != nil {
					tt.want(t, tries, offsets)
				}
			})
		})
	}
}

// TestPullSurvivesFaults fails every write step of south's pulling of two files in turn, with a power cut or
// a kill, restarts it, and demands that manifests hold and the copies are completed.
func TestPullSurvivesFaults(t *testing.T) {
	t.Parallel()
	names := siblings(2)
	for n := 1; ; n++ {
		fault := false
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1")
			north, south := c.node("north-1"), c.node("south-1")
			scratch := t.TempDir()
			twin := disk.NewFaulty(scratch)
			south.disk, south.config.Pulls = twin.Disk(), 1
			south.open()
			for i, name := range names {
				north.put(catalog.FileName(name), uint64(i), 70_000)
			}
			before := twin.Ops()
			twin.FailAt(n, nil)
			stop := c.run("north-1", "south-1")
			for range 5 {
				sleep(t.Context(), time.Second)
			}
			fault = twin.Ops()-before >= n
			stop()
			twin.FailAt(0, nil)
			if n%2 == 0 {
				if err := twin.Crash(); err != nil {
					t.Fatal(err)
				}
			}
			south.open()
			checkManifests(t, south.r.store)
			for _, name := range names {
				if f, err := south.r.entry(catalog.FileName(name)); err != nil || f.Copy("south").State == catalog.UploadCompleted && !south.r.store.Has(f.Name) {
					t.Fatalf("fault %d: completed %s is lost: %v", n, name, err)
				}
			}
			stop = c.run("north-1", "south-1")
			defer stop()
			c.complete(catalog.FileName(names[0]), catalog.FileName(names[1]))
			checkManifests(t, south.r.store)
		})
		if !fault {
			t.Logf("%d steps", n-1)
			return
		}
	}
}

// TestPutSurvivesFaults fails every write step of a put in turn, and demands that the file put is untouched,
// that what was acknowledged is in the outbox after a restart, and that the put then succeeds.
func TestPutSurvivesFaults(t *testing.T) {
	t.Parallel()
	for _, own := range []Ownership{Foreign, Owned} {
		for n := 1; ; n++ {
			path, b := sourceFile(t, 3, 5000)
			dir := t.TempDir()
			twin := disk.NewFaulty(t.TempDir())
			s := openStore(t, storeConfig(dir), twin.Disk())
			as := catalog.Addition{Name: "p.warc.gz", Collection: "web"}
			twin.FailAt(n, nil)
			_, _, err := s.Adopt(t.Context(), path, as, own)
			fault := err != nil
			twin.FailAt(0, nil)
			if n%2 == 0 {
				if err := twin.Crash(); err != nil {
					t.Fatal(err)
				}
			}
			s = openStore(t, storeConfig(dir), twin.Disk())
			left, err := s.Outbox()
			if err != nil || !fault && len(left) != 1 {
				t.Fatalf("fault %d: outbox %v, %v", n, left, err)
			}
			got, _, err := s.Adopt(t.Context(), path, as, own)
			if err != nil || got.SHA256 != heldOf("", b).SHA256 || got.Size != 5000 {
				t.Fatalf("fault %d: then Adopt: %v, %v", n, got, err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
				t.Fatalf("fault %d: the file put was changed: %v", n, err)
			}
			if !bytes.Equal(read(t, s, "p.warc.gz"), b) {
				t.Fatalf("fault %d: other bytes", n)
			}
			if entries, err := os.ReadDir(filepath.Join(dir, "outbox")); err != nil || len(entries) != 2 {
				t.Fatalf("fault %d: the outbox has %v, %v", n, entries, err)
			}
			if !fault {
				break
			}
		}
	}
}

func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	s := openStore(t, storeConfig(t.TempDir()), disk.New())
	path, _ := sourceFile(t, 1, 3<<20)
	put := func(name string, own Ownership) error {
		_, _, err := s.Adopt(t.Context(), path, catalog.Addition{Name: catalog.FileName(name)}, own)
		return err
	}
	for _, name := range []string{"", ".hidden", "a/b", ManifestName} {
		if put(name, Foreign) == nil {
			t.Errorf("name %q was taken", name)
		}
	}
	if err := put("a", Foreign); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := put("a", Owned); !errors.Is(err, ErrExists) {
		t.Errorf("other bytes under the name: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Adopt(ctx, path, catalog.Addition{Name: "b"}, Foreign); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := s.Adopt(t.Context(), t.TempDir(), catalog.Addition{Name: "b"}, Owned); err == nil {
		t.Error("a folder was taken")
	}
}

// TestAFileThatChangesWhileItIsPut writes to the file as soon as its first bytes have been read.
func TestAFileThatChangesWhileItIsPut(t *testing.T) {
	t.Parallel()
	path, b := sourceFile(t, 1, 2<<20)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]func() error{
		"grown":     func() error { return os.Truncate(path, 3<<20) },
		"shrunk":    func() error { return os.Truncate(path, 1<<20) },
		"rewritten": func() error { return os.Chtimes(path, time.Time{}, before.ModTime().Add(time.Second)) },
		"replaced":  func() error { return errors.Join(os.Remove(path), os.WriteFile(path, b, 0o644)) },
		"gone":      func() error { return os.Remove(path) },
	}
	for name, change := range changes {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := unchanged(before, path, int64(len(b))); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if before, err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDiskIsReported gives south a disk that is full for a while.
func TestAFullDiskIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		twin := disk.NewFaulty(t.TempDir())
		south.disk = twin.Disk()
		south.open()
		twin.FailAt(6, disk.ErrFull)
		c.node("north-1").put("a.warc.gz", 1, 5<<20)
		defer c.run("north-1", "south-1")()
		c.until("the failure is in the catalog", func(v catalog.View) bool {
			f, err := v.File("a.warc.gz")
			return err == nil && f.Copy("south").State == catalog.UploadFailed && f.Copy("south").Reason != ""
		})
		twin.FailAt(0, nil)
		c.complete("a.warc.gz")
	})
}

func TestAdmissionAndLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1")
		r := c.node("north-1").r
		c.node("north-1").put("a", 1, 1000)
		var held []*io.PipeReader
		for range r.cfg.Serves {
			in, out := io.Pipe()
			held = append(held, in)
			go func() { out.CloseWithError(r.Serve(context.Background(), "x", "a", 0, out)) }()
		}
		synctest.Wait()
		if err := r.Serve(t.Context(), "x", "a", 0, io.Discard); !errors.Is(err, ErrBusy) {
			t.Errorf("one more copy: %v", err)
		}
		var b bytes.Buffer
		if err := r.ServeRange(t.Context(), "x", "a", 10, 5, &b); err != nil || !bytes.Equal(b.Bytes(), content(1, 1000)[10:15]) {
			t.Errorf("a range beside them: %v", err)
		}
		for _, in := range held {
			in.Close()
		}
		synctest.Wait()
		if err := r.Serve(t.Context(), "x", "a", 0, io.Discard); err != nil {
			t.Errorf("when they are gone: %v", err)
		}
		for _, bad := range [][2]int64{{-1, 1}, {0, 1001}, {1001, 0}, {5, -2}, {1 << 62, 1 << 62}} {
			if err := r.ServeRange(t.Context(), "x", "a", bad[0], bad[1], io.Discard); !errors.Is(err, ErrRange) {
				t.Errorf("range %v: %v", bad, err)
			}
			if _, err := r.OpenRange(t.Context(), "a", bad[0], bad[1]); !errors.Is(err, ErrRange) && bad[1] >= 0 {
				t.Errorf("open range %v: %v", bad, err)
			}
		}
		began := time.Now()
		l := newLimiter(1 << 20)
		for range 100 {
			if err := l.wait(t.Context(), 100<<10); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 8*time.Second || took > 9*time.Second {
			t.Errorf("10 000 KiB at 1 MiB/s took %s", took)
		}
	})
}

// TestAuditsPauseAndSurvive pauses an audit in the middle of a shard, restarts its node, and lets it go on.
func TestAuditsPauseAndSurvive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		south.config.AuditRate = 1 << 20
		south.open()
		stop := c.run("north-1", "south-1")
		names := siblings(7)
		stranger := names[6]
		names = names[:6]
		shard := catalog.FileName(names[0]).Shard()
		for i, name := range names {
			c.node("north-1").put(catalog.FileName(name), uint64(i), 1<<20)
		}
		for _, name := range names {
			c.complete(catalog.FileName(name))
		}
		if err := keep(south.r.store, stranger, []byte("x")); err != nil {
			t.Fatal(err)
		}
		flip(t, south.r.store.Path(catalog.FileName(names[1])))
		a, err := south.r.StartAudit("", []catalog.Shard{shard})
		if err != nil || a.TotalFiles != 6 || a.TotalBytes != 6<<20 {
			t.Fatalf("StartAudit: %+v, %v", a, err)
		}
		sleep(t.Context(), 2500*time.Millisecond)
		a, err = south.r.PauseAudit(a.ID)
		if err != nil || a.State != AuditPaused {
			t.Fatalf("PauseAudit: %+v, %v", a, err)
		}
		synctest.Wait()
		stop()
		south.open()
		if a, err = south.r.Audit(a.ID); err != nil || a.Files < 1 || a.Files > 4 || a.State != AuditPaused {
			t.Fatalf("after the restart: %+v, %v", a, err)
		}
		stop = c.run("north-1", "south-1")
		defer stop()
		if _, err := south.r.ResumeAudit(a.ID); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 20*time.Second)
		a, err = south.r.Audit(a.ID)
		if err != nil || a.State != AuditDone || a.Files != 6 || a.Excepted != 1 || a.Unknowns != 1 || string(a.Extras[0].Name) != stranger {
			t.Fatalf("at the end: %+v, %v", a, err)
		}
		if _, err := south.r.PauseAudit(a.ID); err == nil {
			t.Fatal("an audit that is done was paused")
		}
		south.mu.Lock()
		south.due = []catalog.Shard{shard}
		south.mu.Unlock()
		sleep(t.Context(), 3*time.Minute)
		all := south.r.Audits()
		if len(all) != 2 || !all[1].Scheduled || all[1].State != AuditDone || all[1].Files != 6 {
			t.Fatalf("the due audit: %+v", all)
		}
	})
}
