package logbook

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// screen is where a program's log goes.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) at(l slog.Level) slog.Handler {
	return slog.NewTextHandler(s, &slog.HandlerOptions{Level: l})
}

// messages are the messages of the lines that a query finds.
func messages(t *testing.T, b *Book, q Query) []string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = mostLines
	}
	found, err := b.ring.find(q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range found.Lines {
		out = append(out, l.Message)
	}
	return out
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestLinesAreStructuredAndFound(t *testing.T) {
	t.Parallel()
	b := Open(Config{Level: slog.LevelInfo, Out: slog.DiscardHandler})
	defer b.Close()
	log := slog.New(b.Handler()).With("node", "north-1")
	log.With("room", "index").Info("file indexed", "file", "A.warc", "captures", 7)
	log.Debug("nobody wants this")
	start := time.Now()
	log.WithGroup("put").With("by", "p1").Warn("slow", "took", 3*time.Second, slog.Group("at", "disk", "/d"), "error", errors.New("no room"),
		"when", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	log.Error("bad", "text", "\x1b[31m\xff", "size", []byte("raw"))
	all, err := b.ring.find(Query{Limit: 10})
	if err != nil || len(all.Lines) != 3 {
		t.Fatalf("%v %v", all, err)
	}
	got := fmt.Sprint(all.Lines[1].Level, all.Lines[1].Attributes)
	if got != "warn[{node north-1} {put.by p1} {put.took 3s} {put.at.disk /d} {put.error no room} {put.when 2026-01-02T03:04:05Z}]" {
		t.Error(got)
	}
	if v := all.Lines[2].Attributes[1].Value; v != "\x1b[31m�" {
		t.Errorf("%q", v)
	}
	for _, tt := range []struct {
		name string
		q    Query
		want []string
	}{
		{"all", Query{}, []string{"file indexed", "slow", "bad"}},
		{"level", Query{Level: "warn"}, []string{"slow", "bad"}},
		{"errors alone", Query{Level: "error"}, []string{"bad"}},
		{"room", Query{Room: "index"}, []string{"file indexed"}},
		{"a part of a room's name is no room", Query{Room: "ind"}, nil},
		{"text in an attribute", Query{Text: "FILE=a.WARC"}, []string{"file indexed"}},
		{"text in the message", Query{Text: "SLO"}, []string{"slow"}},
		{"since", Query{Since: start}, []string{"slow", "bad"}},
		{"the last", Query{Limit: 1}, []string{"bad"}},
		{"nothing", Query{Text: "none"}, nil},
	} {
		want(t, tt.name, messages(t, b, tt.q), tt.want...)
	}
}

func TestFollowingMissesNothingInSilence(t *testing.T) {
	t.Parallel()
	r := newRing(77)
	add := func(n int) {
		for range n {
			r.add(Line{Level: "info", Message: fmt.Sprint(r.first + uint64(len(r.lines)))})
		}
	}
	find := func(after string, limit int, text string) Found {
		t.Helper()
		f, err := r.find(Query{After: after, Limit: limit, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	empty := find("", 10, "")
	add(5)
	first := find(empty.Next, 3, "")
	if len(first.Lines) != 3 || first.Lines[0].Message != "1" || first.Missed != 0 {
		t.Errorf("after nothing: %+v", first)
	}
	rest := find(first.Next, 3, "")
	if len(rest.Lines) != 2 || rest.Lines[0].Message != "4" {
		t.Errorf("the rest: %+v", rest)
	}
	if again := find(rest.Next, 3, ""); len(again.Lines) != 0 || again.Next != rest.Next {
		t.Errorf("nothing new: %+v", again)
	}
	add(ringLines)
	late := find(first.Next, 1, "")
	if late.Missed != 2 || late.Lines[0].Message != "6" {
		t.Errorf("lines 4 and 5 are gone: %+v", late)
	}
	if other := find("4c-9", 1, ""); !other.Restarted || other.Lines[0].Message != "6" || other.Missed != 5 {
		t.Errorf("a cursor of an earlier run: %+v", other)
	}
	if ahead := find("4d-999999", 1, ""); len(ahead.Lines) != 0 || ahead.Next != fmt.Sprintf("4d-%d", ringLines+5) {
		t.Errorf("a cursor that was not given: %+v", ahead)
	}
	if last := find("", 2, ""); last.Lines[0].Message != fmt.Sprint(ringLines+4) || last.Next != fmt.Sprintf("4d-%d", ringLines+5) {
		t.Errorf("the last two: %+v", last)
	}
	for _, bad := range []string{"x", "4d", "4d-", "4d-x", "-", "4d--1", "4d-99999999999999999999"} {
		if _, err := r.find(Query{After: bad, Limit: 1}); err == nil {
			t.Errorf("%q is no cursor", bad)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := Open(Config{Out: slog.DiscardHandler})
	defer b.Close()
	log := slog.New(b.Handler())
	long := strings.Repeat("ä", 1<<20)
	var many []any
	for i := range 200 {
		many = append(many, fmt.Sprint("key", i), long)
	}
	for range 20 {
		log.Info(long, many...)
	}
	if b.ring.bytes > ringBytes+(maxAttributes+1)*(maxValue+300) {
		t.Errorf("%d bytes", b.ring.bytes)
	}
	for range 5000 {
		log.Info("short")
	}
	if n := len(b.ring.lines); n != ringLines {
		t.Errorf("%d lines", n)
	}
	sum := 0
	for i := range b.ring.lines {
		sum += b.ring.lines[i].size()
	}
	if sum != b.ring.bytes {
		t.Errorf("%d bytes, counted %d", sum, b.ring.bytes)
	}
	found, err := b.ring.find(Query{Limit: mostLines})
	if err != nil || len(found.Lines) != mostLines {
		t.Error(err, len(found.Lines))
	}
}

// An answer is bounded in bytes, and following goes on where it stopped.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	r := newRing(1)
	for i := range 20 {
		r.add(Line{Level: "info", Message: fmt.Sprint(i) + strings.Repeat("x", 100<<10)})
	}
	seen, after := 0, "1-0"
	for range 20 {
		f, err := r.find(Query{After: after, Limit: mostLines})
		if err != nil || len(f.Lines) > 10 {
			t.Fatal(err, len(f.Lines))
		}
		seen, after = seen+len(f.Lines), f.Next
	}
	if seen != 20 {
		t.Errorf("%d lines", seen)
	}
}

func TestLevelIsRaisedForATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out screen
		b := Open(Config{Level: slog.LevelError, Out: out.at(slog.LevelError)})
		log := slog.New(b.Handler())
		log.Info("one")
		if err := b.Raise(slog.LevelDebug, time.Hour, "p1"); err != nil {
			t.Fatal(err)
		}
		log.Debug("two")
		if usual, raised := b.Level(); usual != slog.LevelError || raised.By != "p1" || !raised.Until.Equal(time.Now().Add(time.Hour)) {
			t.Error(usual, raised)
		}
		time.Sleep(59 * time.Minute)
		log.Debug("three")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		log.Debug("four")
		wanted := []string{"log level changed for a time", "two", "three", "log level is the usual one again"}
		want(t, "raised for an hour", messages(t, b, Query{}), wanted...)
		for _, m := range wanted {
			if !strings.Contains(out.String(), m) {
				t.Errorf("the program's log lacks %q:\n%s", m, out.String())
			}
		}
		if !strings.Contains(out.String(), "by=p1") || strings.Contains(out.String(), "four") {
			t.Error(out.String())
		}

		// A second raise replaces the first, whose end does not end it; the usual level ends it.
		for i, length := range []time.Duration{time.Minute, time.Hour} {
			if err := b.Raise(slog.LevelInfo, length, fmt.Sprint("p", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, raised := b.Level(); raised == nil || raised.By != "p1" {
			t.Errorf("%+v", raised)
		}
		if err := b.Raise(slog.LevelError, 0, "p2"); err != nil {
			t.Fatal(err)
		}
		log.Warn("five")
		if _, raised := b.Level(); raised != nil || slices.Contains(messages(t, b, Query{}), "five") {
			t.Errorf("%+v %q", raised, messages(t, b, Query{}))
		}
		for _, tt := range []struct {
			to     slog.Level
			length time.Duration
		}{{slog.LevelDebug, 25 * time.Hour}, {slog.LevelDebug, 0}, {slog.LevelDebug, -1}} {
			if err := b.Raise(tt.to, tt.length, "p1"); !errors.Is(err, ErrLevel) {
				t.Errorf("%v for %v: %v", tt.to, tt.length, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Raise(slog.LevelDebug, time.Hour, "p1"); !errors.Is(err, ErrLevel) {
			t.Errorf("of a closed log: %v", err)
		}
	})
}

// Nobody can make a node log less than its settings say.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	b := Open(Config{Level: slog.LevelInfo, Out: slog.DiscardHandler})
	defer b.Close()
	for _, to := range []slog.Level{slog.LevelWarn, slog.LevelError, 100} {
		if err := b.Raise(to, time.Hour, "p1"); !errors.Is(err, ErrLevel) {
			t.Errorf("%v: %v", to, err)
		}
	}
	slog.New(b.Handler()).Info("kept")
	want(t, "all", messages(t, b, Query{}), "kept")
}
