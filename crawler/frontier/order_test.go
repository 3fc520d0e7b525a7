package frontier

import (
	"testing"
	"time"
)

// What is given back to a queue that holds nothing in memory comes when it does; what is found after that keeps its place behind what waits.
func TestOrderAfterReturn(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	found := func(n int, priority byte) {
		u := uri("h", n)
		u.Priority = priority
		add(t, f, u)
		commit(t, f)
	}
	found(1, Medium)
	found(2, Medium)
	back := take(t, f)
	filter := QueueFilter{Name: "h"}
	if _, err := f.Retire(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Unretire(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	found(3, High)
	f.Return(back, 0)
	found(4, High)
	var order []string
	for range 4 {
		u := take(t, f)
		if u == nil {
			t.Fatalf("only %v came", order)
		}
		order = append(order, u.URL)
		if _, err := f.Finish(u, Outcome{Status: 200, Fetched: true}, nil); err != nil {
			t.Fatal(err)
		}
	}
	at := func(n int) int {
		for i, url := range order {
			if url == uri("h", n).URL {
				return i
			}
		}
		return -1
	}
	if at(3) > at(4) || at(4) > at(2) {
		t.Errorf("%v", order)
	}
}

// A prerequisite comes before what waits for it, also where the queue does not have all that waits in memory.
func TestPrerequisiteOfWhatWasGivenBack(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	for n := range 3 {
		add(t, f, uri("h", n))
	}
	commit(t, f)
	u := take(t, f)
	filter := QueueFilter{Name: "h"}
	if _, err := f.Retire(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Unretire(t.Context(), filter); err != nil {
		t.Fatal(err)
	}
	robots := uri("h", 100)
	if err := f.Defer(u, robots); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	f.cfg.Now = func() time.Time { return time.Now().Add(time.Minute) }
	if got := take(t, f); got == nil || got.URL != robots.URL {
		t.Errorf("%+v came", got)
	}
}

// However many more urgent URIs are found than fit into memory, they come in order, and before what waited.
func TestManyMoreUrgent(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	const n = 2 * headMax
	var want []string
	for i := range 2 * n {
		u := uri("h", i)
		if i >= n {
			u.Priority = Medium
			want = append(want, u.URL)
		}
		add(t, f, u)
		if i%100 == 0 {
			commit(t, f)
		}
		if f.heads > headMax {
			t.Fatalf("%d in memory", f.heads)
		}
	}
	commit(t, f)
	for i := range n {
		want = append(want, uri("h", i).URL)
	}
	for i := range want {
		u := take(t, f)
		if u == nil || u.URL != want[i] {
			t.Fatalf("%d: got %v, want %s", i, u, want[i])
		}
		if i%3 == 0 {
			f.Return(u, 0)
			u = take(t, f)
		}
		if _, err := f.Finish(u, Outcome{Status: 200}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if f.heads != 0 || f.Counters().Queued != 0 {
		t.Errorf("%d in memory, %+v", f.heads, f.Counters())
	}
	commit(t, f)
	verify(t, f)
}
