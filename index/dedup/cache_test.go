package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/disk"
)

// stock has pieces, and counts how often each was asked for.
type stock struct {
	mu     sync.Mutex
	pieces map[uint64][]byte
	asked  map[uint64]int
	wait   chan struct{}  // nil, or closed when answers may be given
	faults map[uint64]int // how often a job's piece cannot be read before it can
}

func (s *stock) Piece(ctx context.Context, job uint64) (io.ReadCloser, error) {
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[job]++
	if s.faults[job] > 0 {
		s.faults[job]--
		return nil, errors.New("no answer")
	}
	if p, there := s.pieces[job]; there {
		return io.NopCloser(bytes.NewReader(p)), nil
	}
	return nil, fmt.Errorf("job %d: %w", job, ErrNone)
}

type cacheTest struct {
	*testing.T
	stock *stock
	cfg   Config
	cache *Cache
	now   time.Time
}

func newCacheTest(t *testing.T, jobs ...uint64) *cacheTest {
	c := &cacheTest{T: t, stock: &stock{pieces: map[uint64][]byte{}, asked: map[uint64]int{}},
		now: time.Unix(1_800_000_000, 0)}
	for _, job := range jobs {
		c.put(job)
	}
	c.cfg = Config{Dir: filepath.Join(t.TempDir(), "sets"), Disk: disk.New(), Source: c.stock, Memory: 64 << 10,
		Most: 1 << 30, Age: time.Hour, Room: func() (int64, error) { return 1 << 40, nil },
		Now: func() time.Time { return c.now }, Log: slog.New(slog.DiscardHandler)}
	c.again()
	return c
}

func (c *cacheTest) put(job uint64) {
	c.stock.pieces[job] = pieceOf(c, job, []Document{{URL: fmt.Sprintf("http://j%d.test/", job),
		Time: time.Unix(int64(job), 0).UTC(), Digest: fmt.Sprint("sha1:", job), File: "f"}})
}

func (c *cacheTest) again() {
	c.cache = NewCache(c.cfg)
}

// has opens the set of jobs and wants those of want in it.
func (c *cacheTest) has(jobs []uint64, want ...uint64) {
	c.Helper()
	s, used, err := c.cache.Open(c.Context(), jobs)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if !slices.Equal(used, want) || s.Len() != uint64(len(want)) {
		c.Fatalf("%d documents of jobs %v, want those of %v", s.Len(), used, want)
	}
	for _, job := range want {
		if _, found, err := s.Latest(fmt.Sprintf("http://j%d.test/", job)); err != nil || !found {
			c.Fatalf("the document of job %d: %v %v", job, found, err)
		}
	}
}

func (c *cacheTest) names(suffix string) (names []string) {
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil {
		c.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Pieces are got once, for all sets; what is missing is left out and looked for again.
func TestCache(t *testing.T) {
	c := newCacheTest(t, 1, 2, 3)
	c.has([]uint64{3, 1, 1, 9}, 1, 3)
	c.has([]uint64{1, 2, 3}, 1, 2, 3)
	c.has([]uint64{3, 1}, 1, 3)
	c.has(nil)
	if c.stock.asked[1] != 1 || c.stock.asked[3] != 1 || c.stock.asked[9] != 1 {
		t.Errorf("asked for %v", c.stock.asked)
	}
	if sets := c.names(setSuffix); len(sets) != 3 || !strings.HasPrefix(sets[0], "1-2-3-") &&
		!strings.HasPrefix(sets[1], "1-2-3-") {
		t.Errorf("sets %v", sets)
	}
	c.put(9)
	c.has([]uint64{1, 3, 9}, 1, 3, 9)
	c.again()
	c.has([]uint64{1, 3, 9}, 1, 3, 9)
	if c.stock.asked[1] != 1 || c.stock.asked[9] != 2 {
		t.Errorf("asked for %v", c.stock.asked)
	}
}

// Many ask at once: each piece is got once.
func TestOneMakes(t *testing.T) {
	c := newCacheTest(t, 1, 2)
	c.stock.wait = make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, used, err := c.cache.Open(t.Context(), []uint64{1, 2})
			if err != nil || len(used) != 2 {
				t.Errorf("%v %v", used, err)
				return
			}
			_ = s.Close()
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.cache.Open(gone, []uint64{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	close(c.stock.wait)
	all.Wait()
	if c.stock.asked[1] != 1 || c.stock.asked[2] != 1 {
		t.Errorf("asked for %v", c.stock.asked)
	}
}

// TestDamagedSetIsMadeAgain: wherever a kept set is damaged, that is noticed when it is opened, and the set is made again
// of the pieces that are here. Nothing of the damaged one is seen.
func TestDamagedSetIsMadeAgain(t *testing.T) {
	c := newCacheTest(t, 1, 2)
	c.has([]uint64{1, 2}, 1, 2)
	path := filepath.Join(c.cfg.Dir, c.names(setSuffix)[0])
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 11 {
		bad := bytes.Clone(good)
		bad[at] ^= 4
		for _, damaged := range [][]byte{bad, good[:at]} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			c.has([]uint64{2, 1}, 1, 2)
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, good) {
				t.Fatalf("byte %d: the damaged set is still there: %v", at, err)
			}
		}
	}
	if c.stock.asked[1] != 1 || c.stock.asked[2] != 1 {
		t.Errorf("pieces were got again: %v", c.stock.asked)
	}
}

// Whatever is damaged on the disk is made again; a piece that is damaged in the archive is left out.
func TestDamageIsMended(t *testing.T) {
	c := newCacheTest(t, 1, 2)
	c.has([]uint64{1, 2}, 1, 2)
	flip := func(name string) {
		path := filepath.Join(c.cfg.Dir, name)
		data, err := os.ReadFile(path)
		if err == nil {
			data[len(data)/2] ^= 4
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flip(c.names(setSuffix)[0])
	c.again()
	s, _, err := c.cache.Open(t.Context(), []uint64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	flip(pieceName(2))
	c.put(3)
	c.has([]uint64{1, 2, 3}, 1, 2, 3)
	if c.stock.asked[1] != 1 || c.stock.asked[2] != 2 {
		t.Errorf("asked for %v", c.stock.asked)
	}
	c.put(4)
	c.stock.pieces[4] = c.stock.pieces[4][:90]
	c.has([]uint64{1, 4}, 1)
	c.put(4)
	c.has([]uint64{1, 4}, 1, 4)
}

// What is not used goes, the oldest first; a set that is open stays readable.
func TestTidy(t *testing.T) {
	c := newCacheTest(t, 1, 2, 3)
	c.has([]uint64{1}, 1)
	s, _, err := c.cache.Open(t.Context(), []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c.now = c.now.Add(2 * time.Hour)
	c.has([]uint64{2}, 2)
	if all := c.names(""); len(all) != 2 {
		t.Errorf("%v are left of the first and the second", all)
	}
	if _, found, err := s.Latest("http://j1.test/"); err != nil || !found {
		t.Errorf("a set that is open: %v %v", found, err)
	}
	c.cfg.Most = 1
	c.again()
	c.has([]uint64{2, 3}, 2, 3)
	if all := c.names(""); len(all) != 0 {
		t.Errorf("%v are left", all)
	}
}

func TestNoRoom(t *testing.T) {
	c := newCacheTest(t, 1)
	c.cfg.Room = func() (int64, error) { return 1 << 20, nil }
	c.again()
	if _, _, err := c.cache.Open(t.Context(), []uint64{1}); !errors.Is(err, disk.ErrFull) {
		t.Errorf("%v", err)
	}
	if all := c.names(""); len(all) != 0 {
		t.Errorf("%v are left", all)
	}
}

// TestAFaultThatPassesIsWaitedFor has pieces that cannot be read at first: they are in the set all the same. For those
// that stay out of reach nobody waits longer than for one.
func TestAFaultThatPassesIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCacheTest(t, 1, 2, 3)
		c.stock.faults = map[uint64]int{1: 1, 3: 2}
		began := time.Now()
		c.has([]uint64{1, 2, 3}, 1, 2, 3)
		if took := time.Since(began); took != 26*time.Second {
			t.Errorf("it took %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		const many = 50
		c := newCacheTest(t, 2)
		c.stock.faults = map[uint64]int{}
		jobs := []uint64{2}
		for job := uint64(10); job < 10+many; job++ {
			jobs, c.stock.faults[job] = append(jobs, job), many
		}
		began := time.Now()
		c.has(jobs, 2)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
