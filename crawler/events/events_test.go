package events

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123_000_000, time.UTC)

func TestLineComesBack(t *testing.T) {
	deadline := noon.Add(time.Hour)
	for _, e := range []Event{
		{Number: 1, Time: noon, Kind: Started, By: "anna"},
		{Number: 2, Time: noon, Kind: Paused, Reason: "disk \"full\"\nnow", Deadline: &deadline, By: "anna"},
		{Number: 3, Time: noon, Kind: SettingsChanged, Names: []string{"min_delay", "workers"}, By: "b c"},
		{Number: 1 << 60, Time: noon, Kind: URIFinished, URI: "http://h/<>&", Status: -2, Count: 1 << 50},
		{Number: 5, Time: noon, Kind: Finished},
	} {
		line := e.AppendTo(nil)
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("not one line: %q", line)
		}
		back, err := Parse(line)
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s came back as %+v, %v", line, back, err)
		}
	}
	want := `2026-03-04T12:00:00.123Z 7 host-blocked {"reason":"asked","by":"anna","host":"h.org"}` + "\n"
	if got := (&Event{Number: 7, Time: noon, Kind: HostBlocked, Host: "h.org", By: "anna", Reason: "asked"}).AppendTo(nil); string(got) != want {
		t.Errorf("got  %swant %s", got, want)
	}
	for _, bad := range []string{"", "x y z {}", "2026-03-04T12:00:00Z -1 paused {}", "2026-03-04T12:00:00Z 1 paused", "2026-03-04T12:00:00Z 1 paused {"} {
		if e, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q was taken for %+v", bad, e)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`2026-03-04T12:00:00.123Z 7 host-blocked {"by":"anna","host":"h.org","deadline":"2026-03-04T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if err != nil {
			return
		}
		if _, err := Parse(e.AppendTo(nil)); err != nil && !bytes.ContainsAny(line, "\n") {
			t.Errorf("%q came back as %q: %v", line, e.AppendTo(nil), err)
		}
	})
}

func numbers(events []Event) (n []uint64) {
	for _, e := range events {
		n = append(n, e.Number)
	}
	return n
}

func TestSinceTellsWhatCameAndWhatWasMissed(t *testing.T) {
	h := NewHub(Config{Keep: 4})
	defer h.Close()
	if p := h.Since(0, 10); len(p.Events) != 0 || p.Missed || p.Last != 0 {
		t.Errorf("before the first %+v", p)
	}
	for i := range 10 {
		h.Publish(Event{Kind: Alert, Reason: fmt.Sprint(i)})
		if i == 2 {
			if p := h.Since(0, 10); !reflect.DeepEqual(numbers(p.Events), []uint64{1, 2, 3}) || p.Missed {
				t.Errorf("of three %+v", p)
			}
		}
	}
	for _, tt := range []struct {
		after  uint64
		max    int
		want   []uint64
		missed bool
	}{{0, 10, []uint64{7, 8, 9, 10}, true}, {5, 10, []uint64{7, 8, 9, 10}, true}, {6, 2, []uint64{7, 8}, false}, {8, 10, []uint64{9, 10}, false},
		{10, 10, nil, false}, {99, 10, nil, false}} {
		p := h.Since(tt.after, tt.max)
		if !reflect.DeepEqual(numbers(p.Events), tt.want) || p.Missed != tt.missed || p.Last != 10 {
			t.Errorf("after %d: %+v", tt.after, p)
		}
	}
}

func TestSlowListenersStopNobody(t *testing.T) {
	h := NewHub(Config{})
	slow, quick := h.Subscribe(2), h.Subscribe(100)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				h.Publish(Event{Kind: Alert})
			}
		})
	}
	wg.Wait()
	if slow.Dropped() != 78 || quick.Dropped() != 0 {
		t.Errorf("dropped %d and %d", slow.Dropped(), quick.Dropped())
	}
	h.Close()
	n := uint64(0)
	for e := range quick.C {
		if n++; e.Number != n {
			t.Errorf("event %d came as number %d", e.Number, n)
		}
	}
	if n != 80 {
		t.Errorf("%d events", n)
	}
	slow.Close()
	quick.Close()
	if late := h.Subscribe(1); h.Publish(Event{Kind: Alert}) != 0 || len(late.C) != 0 {
		t.Error("a closed hub took an event")
	} else if _, open := <-late.C; open {
		t.Error("a closed hub has subscribers")
	}
}

func TestClosedSubscriptionGetsNothing(t *testing.T) {
	h := NewHub(Config{})
	s := h.Subscribe(1)
	s.Close()
	s.Close()
	h.Publish(Event{Kind: Alert})
	if _, open := <-s.C; open {
		t.Error("it got an event")
	}
	h.Close()
}

func TestChangedWakesWhoWaits(t *testing.T) {
	h := NewHub(Config{})
	c := h.Changed(0)
	select {
	case <-c:
		t.Error("woken without an event")
	default:
	}
	h.Publish(Event{Kind: Alert})
	<-c
	<-h.Changed(0)
	again := h.Changed(1)
	h.Close()
	<-again
	<-h.Changed(99)
}

func TestURIsAreSampled(t *testing.T) {
	now := noon
	h := NewHub(Config{Sample: 3, Now: func() time.Time { return now }})
	defer h.Close()
	published := 0
	for i := range 100 {
		if wanted := h.Wanted(); h.Publish(Event{Kind: URIFinished}) != 0 {
			published++
			if !wanted {
				t.Error("published, though not wanted")
			}
		}
		if i == 49 {
			now = now.Add(time.Second)
		}
	}
	if published != 6 || h.Publish(Event{Kind: Alert}) == 0 {
		t.Errorf("%d published", published)
	}
}

func TestNumbersAreNotGivenTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	if last, err := LastNumber(path); last != 0 || err != nil {
		t.Fatal(last, err)
	}
	var log []byte
	first := NewHub(Config{Sample: 1 << 30, Write: func(line []byte) { log = append(log, line...) }})
	var highest uint64
	for _, kind := range []Kind{Started, URIFinished, Alert, URIFinished, URIFinished} {
		highest = first.Publish(Event{Kind: kind, Time: noon})
	}
	first.Close()
	if lines := strings.Count(string(log), "\n"); lines != 2 {
		t.Errorf("%d lines: %s", lines, log)
	}
	if err := os.WriteFile(path, append(log, "2026-03-04T12:00:00.123Z 9999 torn"...), 0o644); err != nil {
		t.Fatal(err)
	}
	last, err := LastNumber(path)
	if err != nil || last != 3 {
		t.Fatal(last, err)
	}
	second := NewHub(Config{Last: last})
	defer second.Close()
	if n := second.Publish(Event{Kind: Started}); n <= highest+step/2 {
		t.Errorf("number %d after a restart", n)
	}
	if p := second.Since(highest, 10); len(p.Events) != 1 || !p.Missed {
		t.Errorf("after a restart %+v", p)
	}
}

func TestNumbersOfManySamplesAreWrittenNowAndThen(t *testing.T) {
	var last uint64
	now := noon
	h := NewHub(Config{Sample: 1 << 30, Now: func() time.Time { return now }, Write: func(line []byte) {
		if e, err := Parse(line); err == nil {
			last = e.Number
		}
	}})
	defer h.Close()
	var n uint64
	for range 2*step + 10 {
		n = h.Publish(Event{Kind: URIFinished})
	}
	if again := NewHub(Config{Last: last}); again.Publish(Event{Kind: Alert}) <= n {
		t.Errorf("after %d, with %d written, numbers begin again", n, last)
	}
}

// BenchmarkPublish is what telling an event costs with ten listeners, of which one does not listen.
func BenchmarkPublish(b *testing.B) {
	h := NewHub(Config{})
	var wg sync.WaitGroup
	h.Subscribe(1)
	for range 9 {
		s := h.Subscribe(1000)
		wg.Go(func() {
			for range s.C {
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Publish(Event{Kind: Alert, Reason: "something"})
	}
	h.Close()
	wg.Wait()
}
