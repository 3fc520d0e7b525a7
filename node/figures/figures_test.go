package figures

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/disk"
)

// quiet is a log that is kept.
type quiet struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (q *quiet) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.text.Write(b)
}

func (q *quiet) said(what string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Count(q.text.String(), what)
}

func (q *quiet) log() *slog.Logger { return slog.New(slog.NewTextHandler(q, nil)) }

// known are the values that are known.
func known(all []float32) (out []float32) {
	for _, v := range all {
		if !math.IsNaN(float64(v)) {
			out = append(out, v)
		}
	}
	return out
}

// run keeps the figures until the returned function is called.
func run(t *testing.T, f *Figures) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestFiguresOverTimeSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int64
		var log quiet
		cfg := Config{Path: filepath.Join(dir, "figures"), Log: log.log(), Sources: []Source{
			{Name: "level", Unit: "files", Read: func() (float64, error) { return 7, nil }},
			{Name: "rate", Unit: "bytes/s", Rate: true, Read: func() (float64, error) { return float64(count.Add(50)), nil }},
			{Name: "sick", Of: "/d", Unit: "bytes", Read: func() (float64, error) { return 1, errors.New("no disk") }},
		}}
		f := New(cfg)
		stop := run(t, f)
		time.Sleep(30*time.Minute + time.Second)
		synctest.Wait()
		from, hour := f.Show(Hour(), time.Now())
		if !from.Equal(time.Now().Truncate(10 * time.Second).Add(-3590 * time.Second)) {
			t.Errorf("from %v, now %v", from, time.Now())
		}
		level, rate := known(hour[0].Values), known(hour[1].Values)
		if len(level) != 181 || level[0] != 7 || len(rate) != 180 || rate[9] != 5 || len(known(hour[2].Values)) != 0 || len(hour[0].Values) != 360 || hour[2].Of != "/d" {
			t.Errorf("%d levels, %d rates %v, %v", len(level), len(rate), rate[:3], known(hour[2].Values))
		}
		_, week := f.Show(Week(), time.Now())
		if level, rate := known(week[0].Values), known(week[1].Values); len(level) != 6 || len(rate) != 6 || rate[0] != 5 || len(week[0].Values) != 2016 || len(known(week[2].Values)) != 0 {
			t.Errorf("a week: %v %v", level, rate)
		}
		stop()

		// Ten minutes later it runs again, with another figure; what is gone is gone, and the gap is one.
		time.Sleep(10 * time.Minute)
		cfg.Sources = []Source{{Name: "new", Read: func() (float64, error) { return 1, nil }}, cfg.Sources[0]}
		f = New(cfg)
		defer run(t, f)()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		_, hour = f.Show(Hour(), time.Now())
		_, week = f.Show(Week(), time.Now())
		if got := known(hour[1].Values); len(got) != 242 || len(known(hour[0].Values)) != 61 {
			t.Errorf("after a restart: %d and %d", len(got), len(known(hour[0].Values)))
		}
		if got := known(week[1].Values); len(got) != 8 {
			t.Errorf("after a restart, a week: %v", got)
		}
		if n := log.said("level="); n != 0 {
			t.Errorf("said: %s", log.text.String())
		}
	})
}

// What is kept is bounded, and a step of the week is the mean of what is known of it.
func TestFiguresAreBounded(t *testing.T) {
	t.Parallel()
	f := New(Config{Path: filepath.Join(t.TempDir(), "none", "figures"), Sources: []Source{{Name: "a"}, {Name: "b"}}, Log: slog.New(slog.DiscardHandler)})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 8 * 24 * 360 {
		b := unknown()
		if i%30 == 4 {
			b = 9
		}
		f.note(at.Add(time.Duration(i)*10*time.Second), []float32{float32(i % 30), b})
	}
	f.mu.Lock()
	if len(f.hour.all) != 360 || len(f.week.all) != 2016 || cap(f.week.all) > 3*2016 {
		t.Errorf("%d and %d points", len(f.hour.all), len(f.week.all))
	}
	f.mu.Unlock()
	_, all := f.Show(Week(), at.Add(8*24*time.Hour-time.Second))
	if a, b := known(all[0].Values), known(all[1].Values); len(a) != 2016 || a[0] != 14.5 || b[0] != 9 {
		t.Errorf("%d values, %v %v", len(a), a[:2], b[:2])
	}

	// A clock that is set back: what was of the future goes, and nothing is out of order.
	f.note(at.Add(24*time.Hour), []float32{1, 1})
	_, all = f.Show(Hour(), at.Add(24*time.Hour))
	if got := known(all[0].Values); len(got) != 1 || got[0] != 1 {
		t.Errorf("after the clock was set back: %v", got)
	}
	f.note(at.Add(24*time.Hour+6*time.Minute), []float32{1, 1})
	f.note(at.Add(24*time.Hour+12*time.Minute), []float32{1, 1})
	f.mu.Lock()
	for i := 1; i < len(f.week.all); i++ {
		if f.week.all[i].slot <= f.week.all[i-1].slot {
			t.Errorf("out of order at %d", i)
		}
	}
	f.mu.Unlock()
	f.writing <- struct{}{} // nothing writes any more
}

// A source that does not answer keeps no other back, is not asked again meanwhile, and its figure is unknown.
func TestASilentSourceIsUnknown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan struct{})
		f := New(Config{Path: filepath.Join(dir, "figures"), Log: slog.New(slog.DiscardHandler), Sources: []Source{
			{Name: "silent", Read: func() (float64, error) { asked++; <-answer; return 1, nil }}, {Name: "good", Read: func() (float64, error) { return 2, nil }}}})
		stop := run(t, f)
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		_, all := f.Show(Hour(), time.Now())
		if len(known(all[0].Values)) != 0 || len(known(all[1].Values)) != 6 || asked != 1 {
			t.Errorf("%v %v, asked %d times", known(all[0].Values), known(all[1].Values), asked)
		}
		close(answer)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		_, all = f.Show(Hour(), time.Now())
		if len(known(all[0].Values)) == 0 {
			t.Error("not asked again")
		}
		stop()
	})
}

func TestARateIsKnownOnlyBetweenTwoCounts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	r := &reader{source: Source{Rate: true}}
	for i, tt := range []struct {
		value float64
		err   error
		want  string
	}{{100, nil, "NaN"}, {150, nil, "5"}, {150, nil, "0"}, {20, nil, "NaN"}, {40, nil, "2"}, {0, errors.New("gone"), "NaN"}, {90, nil, "NaN"}, {100, nil, "1"},
		{math.NaN(), nil, "NaN"}, {math.Inf(1), nil, "NaN"}, {200, nil, "NaN"}} {
		at = at.Add(10 * time.Second)
		if got := fmt.Sprint(r.figure(tt.value, tt.err, at)); got != tt.want {
			t.Errorf("%d: %s, want %s", i, got, tt.want)
		}
	}
	if got := r.figure(300, nil, at); !math.IsNaN(float64(got)) {
		t.Errorf("no time has passed: %v", got)
	}
}

func TestADamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	whole, err := encode([]named{{"a", ""}}, []point{{1, []float32{2}}, {3, []float32{4}}}, []point{{5, []float32{6}}})
	if err != nil {
		t.Fatal(err)
	}
	if of, hour, week, err := decode(whole); err != nil || of[0].Name != "a" || hour[1].slot != 3 || week[0].values[0] != 6 {
		t.Fatal(of, hour, week, err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if _, _, _, err := decode(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("a flipped bit at %d: %v", i, err)
		}
		if _, _, _, err := decode(whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	path := filepath.Join(t.TempDir(), "figures")
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	var log quiet
	f := New(Config{Path: path, Sources: []Source{{Name: "a"}}, Log: log.log()})
	aside, err := os.ReadFile(path + ".damaged")
	if err != nil || !bytes.Equal(aside, whole[:len(whole)-1]) || log.said("set aside") != 1 {
		t.Errorf("%v %q", err, log.text.String())
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, all := f.Show(Hour(), time.Unix(10, 0)); len(known(all[0].Values)) != 0 {
		t.Error("figures of a damaged file are shown")
	}
}

// A disk that fails is said once, and the figures go on in memory.
func TestABrokenDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	scratch, dir := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		faulty := disk.NewFaulty(scratch)
		var log quiet
		f := New(Config{Path: filepath.Join(dir, "figures"), Disk: faulty.Disk(), Log: log.log(), Sources: []Source{{Name: "a", Read: func() (float64, error) { return 1, nil }}}})
		stop := run(t, f)
		faulty.FailAt(1, disk.ErrFull)
		time.Sleep(21 * time.Minute)
		synctest.Wait()
		if n := log.said("cannot be written"); n != 1 {
			t.Errorf("said %d times", n)
		}
		faulty.FailAt(0, nil)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := log.said("written again"); n != 1 {
			t.Errorf("said %d times that it is over", n)
		}
		if _, all := f.Show(Hour(), time.Now()); len(known(all[0].Values)) != 157 {
			t.Errorf("%d values", len(known(all[0].Values)))
		}
		stop()
	})
}

func TestThisProcess(t *testing.T) {
	t.Parallel()
	if cpu, err := CPU(); err != nil || cpu <= 0 {
		t.Error(cpu, err)
	}
	if memory, err := Memory(); err != nil || memory < 1<<20 {
		t.Error(memory, err)
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := encode([]named{{"a", "b"}}, []point{{1, []float32{2}}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[len(magic) : len(whole)-4])
	f.Add([]byte("[]\n\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = append([]byte(magic), text...) // with the checksum that it should have
		of, hour, week, err := decode(binary.LittleEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
		if err != nil {
			return
		}
		again, err := encode(of, hour, week)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := decode(again); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
