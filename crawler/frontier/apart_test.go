package frontier

import (
	"testing"
	"time"
)

// A URI whose site does not answer moves into a queue of its own, which waits; what else is in its queue goes on. Where all in a queue is
// of that site, the queue waits as it is.
func TestRetryApart(t *testing.T) {
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
