package frontier

import (
	"testing"
	"time"
)

// A URI whose site does not answer moves into a queue of its own, which waits; what else is in its queue goes on. Where all in a queue is
// of that site, the queue waits as it is.
func TestRetryApart(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(time.Now().UnixMilli())
	f, err := Open(Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := func() string {
		t.Helper()
		u, err := f.next(now)
		if err != nil {
			t.Fatal(err)
		}
		if u == nil {
			return ""
		}
		if _, err := f.Finish(u, Outcome{Status: 200, Fetched: true}, nil); err != nil {
			t.Fatal(err)
		}
		return u.URL
	}
	apart := func(want bool) {
		t.Helper()
		u := take(t, f)
		u.Status = -2
		moved, err := f.RetryApart(u, "https://h", "https://h/", time.Minute, time.Second)
		if err != nil || moved != want {
			t.Fatalf("%s moved: %v, %v", u.URL, moved, err)
		}
	}
	for _, url := range []string{"https://h/1", "http://h/2", "https://h/3"} {
		add(t, f, URI{URL: url, Queue: "h", Priority: Normal, Cost: 1})
	}
	apart(true)
	commit(t, f)
	verify(t, f)
	if got := next(); got != "" {
		t.Fatalf("%s does not wait for its slot", got)
	}
	now = now.Add(time.Second)
	if got := next(); got != "http://h/2" {
		t.Fatalf("%q goes on", got)
	}
	u := take(t, f)
	if err := f.Move(u, "https://h"); err != nil || u.URL != "https://h/3" {
		t.Fatal(u.URL, err)
	}
	if got := next(); got != "" {
		t.Fatalf("%s came too early", got)
	}
	if q, err := f.Queues(t.Context(), QueueFilter{Name: "https://h"}); err != nil || len(q) != 1 || q[0].Remaining != 2 || !q[0].WakeAt.Equal(now.Add(59*time.Second)) {
		t.Fatalf("%+v, %v", q, err)
	}
	commit(t, f)
	verify(t, f)
	now = now.Add(59 * time.Second)
	apart(false) // it is in that queue
	if got := next(); got != "" {
		t.Fatalf("%s came too early", got)
	}
	now = now.Add(time.Minute)
	if got := next() + next(); got != "https://h/1https://h/3" {
		t.Fatalf("%s came", got)
	}
	add(t, f, URI{URL: "https://h/4", Queue: "h", Priority: Normal})
	add(t, f, URI{URL: "https://h/5", Queue: "h", Priority: Normal})
	apart(false) // there is nothing else
	if got := next(); got != "" {
		t.Fatalf("%s came too early", got)
	}
	commit(t, f)
	verify(t, f)
}

// A prerequisite that waits in another queue, not as one, is brought to the front of the queue that needs it.
func TestPrerequisiteFromAnotherQueue(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	add(t, f, uri("h", 1))
	u := take(t, f)
	add(t, f, uri("g", 1))
	add(t, f, uri("g", 2))
	commit(t, f)
	if err := f.Defer(u, URI{URL: uri("g", 2).URL, Path: "P", Via: u.URL, Host: "g"}); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	verify(t, f)
	got := map[string]string{}
	for range 2 {
		u := take(t, f)
		got[u.Queue] = u.URL
	}
	if got["h"] != uri("g", 2).URL || got["g"] != uri("g", 1).URL {
		t.Errorf("%v", got)
	}
}

// Who needs a prerequisite that waits in another queue asks again when that may be through with it, not all the time.
func TestPrerequisiteOfAnotherQueueThatWaits(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(time.Now().UnixMilli())
	f, err := Open(Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first := URI{URL: "http://g/robots.txt", Queue: "g", Path: "P", Priority: Prerequisite}
	add(t, f, first)
	u := take(t, f)
	for _, tt := range []struct {
		rests, waits time.Duration
		frozen       bool
	}{{0, deferWait, false}, {4 * time.Second, 4 * time.Second, false}, {time.Hour, longDeferWait, false}, {0, longDeferWait, true}} {
		f.Retry(u, tt.rests, 0, true)
		if tt.frozen {
			if _, err := f.Freeze(t.Context(), QueueFilter{Name: "g"}); err != nil {
				t.Fatal(err)
			}
		}
		add(t, f, uri("h", int(tt.rests)+int(tt.waits)))
		needs, err := f.next(now)
		for err == nil && needs.Queue != "h" { // the other may be ready, too
			f.Return(needs, 0)
			needs, err = f.next(now)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Defer(needs, first); err != nil {
			t.Fatal(err)
		}
		q, err := f.Queues(t.Context(), QueueFilter{Name: "h"})
		if err != nil || len(q) != 1 || q[0].WakeAt.Sub(now) != tt.waits {
			t.Errorf("%+v: waits as %+v, %v", tt, q, err)
		}
		now = now.Add(2 * time.Hour)
		if tt.frozen {
			break
		}
		for u = take(t, f); u.Queue != "g"; u = take(t, f) {
			if _, err := f.Finish(u, Outcome{Status: 200}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A prerequisite in a queue that gives out nothing any more is brought to the queue that needs it.
func TestPrerequisiteOfARetiredQueue(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	first := URI{URL: "http://g/robots.txt", Queue: "g", Path: "P", Priority: Prerequisite}
	add(t, f, first)
	add(t, f, uri("g", 1))
	if _, err := f.Retire(t.Context(), QueueFilter{Name: "g"}); err != nil {
		t.Fatal(err)
	}
	add(t, f, uri("h", 1))
	commit(t, f)
	if err := f.Defer(take(t, f), first); err != nil {
		t.Fatal(err)
	}
	if u := take(t, f); u == nil || u.URL != first.URL || u.Queue != "h" {
		t.Fatalf("%+v comes first", u)
	}
	commit(t, f)
	verify(t, f)
	if q, err := f.Queues(t.Context(), QueueFilter{Name: "g"}); err != nil || q[0].Remaining != 1 {
		t.Errorf("%+v, %v", q, err)
	}
}
