package jobset

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
	"time"

	"holdfast/index/shelf"
	"holdfast/internal/disk"
)

// stock has lines of jobs, and counts how often those of each were asked for.
type stock struct {
	mu      sync.Mutex
	lines   map[uint64][]string
	edition map[uint64]string
	fails   map[uint64]int // so often
	asked   map[uint64]int
	wait    chan struct{} // nil, or closed when answers may be given
}

func (s *stock) Edition(job uint64) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.lines[job]; !there {
		return "", fmt.Errorf("job %d: %w", job, ErrNone)
	}
	return "1" + s.edition[job], nil
}

func (s *stock) Lines(ctx context.Context, kind Kind, job uint64, take func([]byte) error) error {
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[job]++
	for _, line := range s.lines[job] {
		if err := take([]byte(string(kind) + " " + line)); err != nil {
			return err
		}
	}
	if s.fails[job] > 0 {
		s.fails[job]--
		return errors.New("cannot be read on")
	}
	return nil
}

type jobsetTest struct {
	*testing.T
	stock *stock
	cfg   Config
	cache *Cache
}

func newJobsetTest(t *testing.T, jobs ...uint64) *jobsetTest {
	c := &jobsetTest{T: t, stock: &stock{lines: map[uint64][]string{}, edition: map[uint64]string{},
		fails: map[uint64]int{}, asked: map[uint64]int{}}}
	for _, job := range jobs {
		c.stock.lines[job] = []string{fmt.Sprint("b", job), fmt.Sprint("a", job)}
	}
	c.cfg = Config{Config: shelf.Config{Dir: filepath.Join(t.TempDir(), "sets"), Disk: disk.New(), Most: 1 << 30,
		Age: time.Hour, Room: func() (int64, error) { return 1 << 40, nil }, Now: time.Now,
		Log: slog.New(slog.DiscardHandler)}, Source: c.stock, Memory: 64 << 10}
	c.cache = NewCache(c.cfg)
	return c
}

// has opens the index of jobs and wants the lines of those of want in it.
func (c *jobsetTest) has(kind Kind, jobs []uint64, want ...uint64) {
	c.Helper()
	l, used, err := c.cache.Open(c.Context(), kind, jobs)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var lines, got []string
	for _, job := range want {
		for _, line := range c.stock.lines[job] {
			lines = append(lines, string(kind)+" "+line)
		}
	}
	slices.Sort(lines)
	var text bytes.Buffer
	if n, err := l.WriteTo(&text); err != nil || n != int64(text.Len()) {
		c.Fatal(n, err)
	}
	for line := range strings.Lines(text.String()) {
		got = append(got, strings.TrimSuffix(line, "\n"))
	}
	if !slices.Equal(used, want) || !slices.Equal(got, lines) {
		c.Fatalf("jobs %v, want %v: %d lines, want %d: %.200q", used, want, len(got), len(lines), text.String())
	}
}

// What there is of jobs is read once for all sets; what is missing is left out and looked for again.
func TestSets(t *testing.T) {
	c := newJobsetTest(t, 1, 2, 3)
	c.has(CDX, []uint64{3, 1, 1, 9}, 1, 3)
	c.has(CDX, []uint64{2, 3, 1}, 1, 2, 3)
	c.has(CDX, []uint64{1, 3}, 1, 3)
	c.has(CDX, nil)
	if c.stock.asked[1] != 1 || c.stock.asked[3] != 1 {
		t.Errorf("asked for %v", c.stock.asked)
	}
	c.has(Full, []uint64{1, 3}, 1, 3)
	if c.stock.asked[1] != 2 {
		t.Errorf("asked for %v", c.stock.asked)
	}
	c.stock.lines[9] = []string{"z"}
	c.has(CDX, []uint64{3, 1, 9}, 1, 3, 9)
	c.cache = NewCache(c.cfg)
	c.has(CDX, []uint64{3, 1, 9}, 1, 3, 9)
	if c.stock.asked[1] != 2 || c.stock.asked[9] != 1 {
		t.Errorf("asked for %v", c.stock.asked)
	}
	c.stock.lines[9], c.stock.edition[9] = []string{"z", "y"}, "_2" // a file of an earlier attempt was brought in
	c.has(CDX, []uint64{1, 9}, 1, 9)
}

// Many lines are put in order with little memory, in several blocks.
func TestManyLines(t *testing.T) {
	c := newJobsetTest(t, 1)
	for i := range 20_000 {
		c.stock.lines[2] = append(c.stock.lines[2], fmt.Sprintf("%d %d", i*7919%20_000, i))
	}
	c.has(CDX, []uint64{1, 2}, 1, 2)
	c.stock.lines[3] = []string{strings.Repeat("x", maxLine+1)}
	l, used, err := c.cache.Open(t.Context(), CDX, []uint64{3})
	if err != nil || len(used) != 1 {
		t.Fatal(used, err)
	}
	defer func() { _ = l.Close() }()
	if n, err := l.WriteTo(io.Discard); n != 0 || err != nil {
		t.Errorf("%d bytes of a line that is too long: %v", n, err)
	}
}

// Many ask at once: each is read once.
func TestOneMakes(t *testing.T) {
	c := newJobsetTest(t, 1, 2)
	c.stock.wait = make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			l, used, err := c.cache.Open(t.Context(), CDX, []uint64{1, 2})
			if err != nil || len(used) != 2 {
				t.Errorf("%v %v", used, err)
				return
			}
			_ = l.Close()
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.cache.Open(gone, CDX, []uint64{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	close(c.stock.wait)
	all.Wait()
	if c.stock.asked[1] != 1 || c.stock.asked[2] != 1 {
		t.Errorf("asked for %v", c.stock.asked)
	}
}

// Whatever is damaged on the disk is made again before any of it is handed out, and what cannot be read is tried once
// more.
func TestDamage(t *testing.T) {
	c := newJobsetTest(t, 1, 2)
	c.has(CDX, []uint64{1, 2}, 1, 2)
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		path := filepath.Join(c.cfg.Dir, e.Name())
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{3, 10, 20, len(good) / 2, len(good) - 14, len(good) - 1} {
			bad := bytes.Clone(good)
			bad[at] ^= 4
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			c.has(CDX, []uint64{2, 1}, 1, 2)
			if err := os.WriteFile(path, good[:at], 0o600); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(e.Name(), "set-") { // what a set is made of is read only when it is made
				c.stock.lines[4] = []string{fmt.Sprint(at)}
				c.stock.edition[4] = fmt.Sprint(e.Name(), at)
				c.has(CDX, []uint64{1, 2, 4}, 1, 2, 4)
			}
			c.has(CDX, []uint64{1, 2}, 1, 2)
		}
	}
	c.stock.lines[3], c.stock.fails[3] = []string{"c"}, 1
	c.has(CDX, []uint64{1, 3}, 1, 3)
	c.stock.lines[5], c.stock.fails[5] = []string{"c"}, 2
	c.has(CDX, []uint64{1, 5}, 1)
	c.has(CDX, []uint64{1, 5}, 1, 5)
}

func TestNoRoom(t *testing.T) {
	c := newJobsetTest(t, 1)
	c.cfg.Room = func() (int64, error) { return 1 << 20, nil }
	c.cache = NewCache(c.cfg)
	if _, _, err := c.cache.Open(t.Context(), CDX, []uint64{1}); !errors.Is(err, disk.ErrFull) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(c.cfg.Dir); err != nil || len(entries) != 0 {
		t.Errorf("%v are left: %v", entries, err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(linesMagic + strings.Repeat("\x00", 12) + linesMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLines(path)
		if err != nil {
			return
		}
		_, _ = l.WriteTo(io.Discard)
		_ = l.Close()
	})
}
