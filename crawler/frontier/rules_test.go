package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func openWith(t testing.TB, cfg Config) *Frontier {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	f, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func finish(t testing.TB, f *Frontier, u *URI, o Outcome) {
	t.Helper()
	if o.Status == 0 {
		o.Status, o.Fetched = 200, true
	}
	if _, err := f.Finish(u, o, nil); err != nil {
		t.Fatal(err)
	}
}

// fillQueues adds n URIs of cost 1 to each of the queues a, b, c …
func fillQueues(t testing.TB, f *Frontier, queues string, n int) {
	t.Helper()
	for i := range n {
		for _, name := range queues {
			u := uri(string(name), i)
			u.Cost = 1
			add(t, f, u)
		}
	}
	commit(t, f)
}

// drain fetches all that comes and returns the queues in their order, one letter for each URI.
func drain(t testing.TB, f *Frontier) (order string) {
	t.Helper()
	for {
		u, err := nextNow(f)
		if errors.Is(err, ErrEmpty) {
			return order
		}
		if err != nil {
			t.Fatal(err)
		}
		if u != nil {
			order += u.Queue
			finish(t, f, u, Outcome{})
		}
		commit(t, f)
	}
}

// Queues take turns by their session budgets, those of better precedence before.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		maxActive int
		policy    Policy
		first     string // queues of precedence 1, others have 5
		want      string
	}{
		{"one at a time", 1, Policy{SessionBudget: 2}, "", "aabbccaabbccabc"},
		{"no session budget", 1, Policy{}, "", "aaaaabbbbbccccc"},
		{"two at a time", 2, Policy{}, "", "abababababccccc"},
		{"room for all", 9, Policy{SessionBudget: 2}, "", "abcabcabcabcabc"},
		{"precedence", 1, Policy{SessionBudget: 2}, "b", "aabbbbbccaaccac"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := openWith(t, Config{MaxActive: tt.maxActive, Policy: func(queue string, _ func() string) Policy {
				p := tt.policy
				if p.Precedence = 5; queue == tt.first {
					p.Precedence = 1
				}
				return p
			}})
			defer f.Close()
			fillQueues(t, f, "abc", 5)
			if got := drain(t, f); got != tt.want {
				t.Errorf("order %s, want %s", got, tt.want)
			}
		})
	}
}

// How many queues take part can be changed while the crawl runs.
func TestSetMaxActive(t *testing.T) {
	t.Parallel()
	f := openWith(t, Config{MaxActive: 3})
	defer f.Close()
	fillQueues(t, f, "abc", 4)
	for range 3 {
		finish(t, f, take(t, f), Outcome{})
	}
	commit(t, f)
	f.SetMaxActive(1)
	order := drain(t, f)
	if order != "cccaaabbb" && order != "aaabbbccc" || f.index.active != 0 {
		t.Errorf("order %s, %d active", order, f.index.active)
	}
}

// A queue that has spent its total budget is retired: its URIs stay, the crawl ends without them; with more budget they come back.
func TestTotalBudget(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Policy: func(string, func() string) Policy { return Policy{TotalBudget: 3} }}
	f := openWith(t, cfg)
	fillQueues(t, f, "ab", 5)
	if got := drain(t, f); got != "ababab" {
		t.Errorf("order %s", got)
	}
	if s := f.Summary(); s.States[Retired] != 2 || s.Queued != 4 {
		t.Errorf("summary %+v", s)
	}
	f.Close()
	f = openWith(t, cfg)
	defer f.Close()
	if got := drain(t, f); got != "" {
		t.Errorf("opened again: %s", got)
	}
	more := int64(4)
	if n, err := f.Rebudget(t.Context(), QueueFilter{Name: "b"}, Budgets{Total: &more}); n != 1 || err != nil {
		t.Errorf("%d changed, %v", n, err)
	}
	if got := drain(t, f); got != "b" {
		t.Errorf("with more budget: %s", got)
	}
	infos, err := f.Queues(t.Context(), QueueFilter{State: Retired, Sort: ByRemaining})
	if err != nil || len(infos) != 2 || infos[0].Name != "a" || infos[1].Remaining != 1 || infos[1].TotalBudget != 4 || infos[1].Spent != 4 {
		t.Errorf("queues %+v, %v", infos, err)
	}
	cfg.Policy = func(string, func() string) Policy { return Policy{} }
	f.cfg.Policy = cfg.Policy
	if err := f.Repolicy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, f); got != "aa" {
		t.Errorf("without a budget: %s", got)
	}
}

// A queue that its budget retires is named with one commit, and no second time when the frontier is opened again, thawed, or an operator takes back
// what he did; again when it may have spent more. One that has nothing left is not retired, nor is what an operator retires named.
func TestRetiredQueuesAreNamed(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Policy: func(queue string, _ func() string) Policy {
		return Policy{TotalBudget: map[string]int64{"a": 3, "b": 5}[queue]}
	}}
	f := openWith(t, cfg)
	defer func() { f.Close() }()
	fillQueues(t, f, "abc", 5)
	step := func(what string, do func() error, want ...string) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		var named []string
		for {
			if b := f.Take(); b != nil {
				named = append(named, b.Retired...)
				if err := f.Commit(b); err != nil {
					t.Fatal(err)
				}
			}
			u, err := nextNow(f)
			if err != nil || u == nil {
				break
			}
			finish(t, f, u, Outcome{})
		}
		if !slices.Equal(named, want) {
			t.Errorf("%s: named %q, want %q", what, named, want)
		}
	}
	steer := func(do func(context.Context, QueueFilter) (int64, error), queue string) func() error {
		return func() error {
			_, err := do(t.Context(), QueueFilter{Name: queue})
			return err
		}
	}
	more := func(queue string, total int64) func() error {
		return func() error {
			_, err := f.Rebudget(t.Context(), QueueFilter{Name: queue}, Budgets{Total: &total})
			return err
		}
	}
	nothing := func() error { return nil }
	step("an operator retires c", steer(f.Retire, "c"), "a")
	step("the same goes on", nothing)
	step("frozen", steer(f.Freeze, "a"))
	step("thawed", steer(f.Unfreeze, "a"))
	step("retired by an operator, too", steer(f.Retire, "a"))
	step("that taken back", steer(f.Unretire, "a"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openWith(t, cfg)
	step("opened again", func() error { return f.Repolicy(t.Context()) })
	step("one more", more("a", 4), "a")
	step("all it needs", more("a", 0))
	step("one of c", func() error { return errors.Join(steer(f.Unretire, "c")(), more("c", 1)()) }, "c")
}

// Each slot of a queue has a pause of its own, and they never start together.
func TestValence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := openWith(t, Config{Dir: dir, Policy: func(string, func() string) Policy { return Policy{Valence: 2} }})
		defer f.Close()
		for i := range 20 {
			add(t, f, uri("h", i))
		}
		// Each fetch takes 1 s, each slot rests 4 s.
		begin := time.Now()
		var starts []time.Duration
		for range 2 {
			go func() {
				for {
					u, err := f.Next(t.Context())
					if err != nil {
						return
					}
					f.mu.Lock()
					starts = append(starts, time.Since(begin))
					f.mu.Unlock()
					<-time.After(time.Second)
					if _, err := f.Finish(u, Outcome{Status: 200, Fetched: true, Wait: 4 * time.Second}, nil); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		<-time.After(32 * time.Second)
		f.Stop()
		synctest.Wait()
		want := "[0s 1s 5s 7s 10s 12s 15s 17s 20s 22s 25s 27s 30s 32s]"
		if got := fmt.Sprint(starts); got != want && got != want[:len(want)-5]+"]" {
			t.Errorf("starts %s, want %s", got, want)
		}
		<-time.After(10 * time.Second) // the last one ends
	})
}

// A queue is asked for admission before each URI, and rests as long as it is told.
func TestAdmit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := openWith(t, Config{Dir: dir, Admit: func(queue string, now time.Time) time.Duration {
			return begin.Add(5 * time.Second).Sub(now) // nothing for five seconds
		}})
		defer f.Close()
		add(t, f, uri("h", 1))
		if _, err := f.Next(t.Context()); err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v, %v", time.Since(begin), err)
		}
	})
}

// Queues that rest for long make room for others, also across opening again, and wake up in time.
func TestSleepers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		cfg := Config{Dir: dir, MaxActive: 1}
		f := openWith(t, cfg)
		fillQueues(t, f, "abc", 2)
		for _, name := range []string{"a", "b"} {
			u, err := f.Next(t.Context())
			if err != nil || u.Queue != name {
				t.Fatalf("%+v, %v", u, err)
			}
			f.Retry(u, time.Hour, 0, true)
			commit(t, f)
		}
		if s := f.Summary(); s.States[Snoozed] != 2 {
			t.Errorf("summary %+v", s)
		}
		f.Close()
		f = openWith(t, cfg)
		defer f.Close()
		next := func() string {
			t.Helper()
			answer := make(chan *URI)
			go func() {
				u, err := f.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				answer <- u
			}()
			for {
				select {
				case u := <-answer:
					finish(t, f, u, Outcome{})
					commit(t, f)
					return u.Queue
				case <-f.Hungry():
					commit(t, f)
				}
			}
		}
		if a, b := next(), next(); a+b != "cc" || time.Since(begin) != 0 {
			t.Errorf("%s%s after %v", a, b, time.Since(begin))
		}
		got := next() + next() + next() + next()
		if got != "aabb" || time.Since(begin) < time.Hour || time.Since(begin) > time.Hour+time.Second {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
	})
}

// A frozen queue keeps the crawl from ending; one retired by an operator does not.
func TestFreezeAndRetire(t *testing.T) {
	t.Parallel()
	f := openWith(t, Config{})
	defer f.Close()
	if n, err := f.Freeze(t.Context(), QueueFilter{Name: "a"}); n != 1 || err != nil { // not known yet
		t.Errorf("%d, %v", n, err)
	}
	fillQueues(t, f, "ab", 2)
	for range 2 {
		u := take(t, f)
		if u == nil || u.Queue != "b" {
			t.Fatalf("%+v", u)
		}
		finish(t, f, u, Outcome{})
	}
	if u := take(t, f); u != nil {
		t.Fatalf("%+v", u)
	}
	if _, err := f.Unfreeze(t.Context(), QueueFilter{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Retire(t.Context(), QueueFilter{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.next(time.Now()); !errors.Is(err, ErrEmpty) {
		t.Errorf("error %v", err)
	}
	if _, err := f.Unretire(t.Context(), QueueFilter{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, f); got != "aa" {
		t.Errorf("order %s", got)
	}
}

// A policy that depends on the URI is asked for with one of the queue's, again when another site's turn comes, and also when the queue is read
// from disk or its policy is to be another; a prerequisite says nothing.
func TestPolicyIsAskedForASite(t *testing.T) {
	t.Parallel()
	var asked []string
	cfg := Config{Dir: t.TempDir(), Policy: func(queue string, uri func() string) Policy {
		url := uri()
		asked = append(asked, url)
		if strings.HasPrefix(url, "https:") {
			return Policy{Valence: 2}
		}
		return Policy{}
	}}
	f := openWith(t, cfg)
	want := func(when string, urls ...string) {
		t.Helper()
		if !slices.Equal(slices.Compact(asked), urls) {
			t.Errorf("%s: asked with %q, want %q", when, asked, urls)
		}
		asked = nil
	}
	add(t, f, URI{URL: "dns:h", Queue: "h", Priority: Prerequisite})
	for _, url := range []string{"http://h/", "https://h/1", "https://h/2", "https://h/3"} {
		add(t, f, URI{URL: url, Queue: "h", Priority: Normal})
	}
	commit(t, f)
	finish(t, f, take(t, f), Outcome{})
	finish(t, f, take(t, f), Outcome{})
	finish(t, f, take(t, f), Outcome{})
	if take(t, f).URL != "https://h/2" || take(t, f).URL != "https://h/3" {
		t.Error("the valence of https does not hold")
	}
	want("at first", "", "http://h/", "https://h/1")
	commit(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openWith(t, cfg)
	defer f.Close()
	if u := take(t, f); u.URL != "https://h/2" {
		t.Errorf("%+v", u)
	}
	want("from disk", "https://h/2")
	if err := f.Repolicy(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("again", "https://h/3")
}
