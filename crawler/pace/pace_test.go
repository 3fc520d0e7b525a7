package pace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cluster is some nodes in one process, whose messages take time and can be cut off.
type cluster struct {
	mu     sync.Mutex
	homes  map[string]*Home
	pacers map[string]*Pacer
	dead   map[string]bool
	log    []visit
}

// visit is what a host's own log has: when a job asked, when that ended, and how long it was to rest.
type visit struct {
	host, job  string
	begin, end time.Time
	rest       time.Duration
}

type link struct {
	c    *cluster
	from string
}

var errCut = errors.New("no way there")

func (l link) Ask(ctx context.Context, node string, asks []Ask) ([]Answer, error) {
	pause(time.Duration(rand.IntN(30)) * time.Millisecond)
	l.c.mu.Lock()
	home := l.c.homes[node]
	cut := l.c.dead[node] || l.c.dead[l.from] || home == nil
	l.c.mu.Unlock()
	if cut {
		<-ctx.Done()
		return nil, errCut
	}
	out := home.Serve(asks, time.Now())
	pause(time.Duration(rand.IntN(30)) * time.Millisecond)
	return out, nil
}

// pause waits on the bubble's clock.
func pause(d time.Duration) { <-time.After(d) }

func (c *cluster) start(ctx context.Context, wg *sync.WaitGroup, names ...string) {
	for _, name := range names {
		home := NewHome(name)
		p := New(Config{Self: name, Home: home, Homes: link{c, name}, Log: slog.New(slog.DiscardHandler)})
		c.mu.Lock()
		c.homes[name], c.pacers[name] = home, p
		c.mu.Unlock()
		wg.Go(func() { p.Run(ctx) })
	}
}

func (c *cluster) crawl(ctx context.Context, wg *sync.WaitGroup, node, job string, hosts []string, delay time.Duration) {
	c.mu.Lock()
	p := c.pacers[node]
	c.mu.Unlock()
	for _, host := range hosts {
		wg.Go(func() {
			for ctx.Err() == nil {
				g := p.Admit(job, host)
				if g.Wait > 0 {
					pause(g.Wait)
					continue
				}
				v := visit{host: host, job: job, begin: time.Now(), rest: delay * time.Duration(g.Factor)}
				pause(time.Duration(rand.IntN(300)) * time.Millisecond)
				v.end = time.Now()
				p.Done(job, host, v.rest)
				c.mu.Lock()
				c.log = append(c.log, v)
				c.mu.Unlock()
				pause(v.rest)
			}
		})
	}
}

// check looks at the hosts' logs: two visits never overlap, and each leaves the host its rest.
func (c *cluster) check(t *testing.T, least int) {
	t.Helper()
	byHost := map[string][]visit{}
	for _, v := range c.log {
		byHost[v.host] = append(byHost[v.host], v)
	}
	for host, log := range byHost {
		slices.SortFunc(log, func(a, b visit) int { return a.begin.Compare(b.begin) })
		jobs := map[string]int{}
		for i, v := range log {
			jobs[v.job]++
			if i > 0 && v.begin.Before(log[i-1].end.Add(log[i-1].rest)) {
				t.Errorf("%s: %s came %v after %s had ended, which asked for a rest of %v", host, v.job, v.begin.Sub(log[i-1].end), log[i-1].job, log[i-1].rest)
			}
		}
		for job, n := range jobs {
			if n < least {
				t.Errorf("%s: %s came %d times only, of %d", host, job, n, len(log))
			}
		}
	}
}

func hostNames(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("host%d.example.org", i))
	}
	return out
}

func TestJobsOfAllNodesTogetherArePolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		c := &cluster{homes: map[string]*Home{}, pacers: map[string]*Pacer{}, dead: map[string]bool{}}
		nodes := []string{"a", "b", "c"}
		var wg sync.WaitGroup
		c.start(ctx, &wg, nodes...)
		for _, p := range c.pacers {
			p.SetLiving(nodes, 0, time.Now())
		}
		for i, node := range []string{"a", "b", "c", "c"} {
			c.crawl(ctx, &wg, node, fmt.Sprint("job", i), hostNames(5), time.Second)
		}
		wg.Wait()
		c.check(t, 25)
	})
}

func TestNodesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c := &cluster{homes: map[string]*Home{}, pacers: map[string]*Pacer{}, dead: map[string]bool{}}
		all := []string{"a", "b", "c", "d"}
		var wg sync.WaitGroup
		c.start(ctx, &wg, all...)
		tell := func(living []string) { // each node hears of it at its own time
			for _, p := range c.pacers {
				wg.Go(func() {
					pause(time.Duration(rand.IntN(4000)) * time.Millisecond)
					p.SetLiving(living, 0, time.Now())
				})
			}
		}
		for _, p := range c.pacers {
			p.SetLiving([]string{"a", "b"}, 0, time.Now())
		}
		c.crawl(ctx, &wg, "a", "job1", hostNames(8), 500*time.Millisecond)
		c.crawl(ctx, &wg, "b", "job2", hostNames(8), 500*time.Millisecond)
		for _, living := range [][]string{{"a", "b", "c"}, {"a", "b", "c", "d"}, {"a", "b", "d"}, {"a", "b"}} {
			pause(time.Minute)
			tell(living) // c and d still answer: what leaves in good order
		}
		wg.Wait()
		c.check(t, 50)
	})
}

// TestAnOldHomeKeepsWhatIsHeld has the holder of a lease hear of a new home four seconds before the old home and
// another job do: the old home does not take the lease for one that nobody renews.
func TestAnOldHomeKeepsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := &cluster{homes: map[string]*Home{}, pacers: map[string]*Pacer{}, dead: map[string]bool{}}
		var wg sync.WaitGroup
		before, after := []string{"a", "b", "c"}, []string{"a", "b", "c", "d"}
		c.start(ctx, &wg, after...)
		for _, p := range c.pacers {
			p.SetLiving(before, 0, time.Now())
		}
		var hosts []string
		for i := 0; len(hosts) < 20; i++ {
			if host := fmt.Sprint("host", i); HomeOf(host, before) == "c" && HomeOf(host, after) == "d" {
				hosts = append(hosts, host)
			}
		}
		c.crawl(ctx, &wg, "a", "job1", hosts, 100*time.Millisecond)
		pause(settling + time.Second) // all hosts are leased by job1
		c.crawl(ctx, &wg, "b", "job2", hosts, 100*time.Millisecond)
		pause(time.Second)
		c.pacers["a"].SetLiving(after, 0, time.Now())
		c.pacers["d"].SetLiving(after, 0, time.Now())
		pause(4 * time.Second)
		c.pacers["b"].SetLiving(after, 0, time.Now())
		c.pacers["c"].SetLiving(after, 0, time.Now())
		wg.Wait()
		c.check(t, 10)
	})
}

func TestAHomeThatCannotBeReachedSlowsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c := &cluster{homes: map[string]*Home{}, pacers: map[string]*Pacer{}, dead: map[string]bool{"b": true, "c": true}}
		var wg sync.WaitGroup
		c.start(ctx, &wg, "a", "b", "c")
		c.pacers["a"].SetLiving([]string{"a", "b", "c"}, 0, time.Now())
		hosts := hostNames(6)
		c.crawl(ctx, &wg, "a", "job1", hosts, time.Second)
		c.crawl(ctx, &wg, "a", "job2", hosts, time.Second)
		wg.Wait()
		c.check(t, 5) // jobs of one node still take turns
		for _, v := range c.log {
			want := 3 * time.Second
			if HomeOf(v.host, []string{"a", "b", "c"}) == "a" {
				want = time.Second
			}
			if v.rest != want {
				t.Fatalf("%s rests %v, want %v", v.host, v.rest, want)
			}
		}
	})
}

func TestAHolderThatDiesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHome("a")
		h.SetLiving([]string{"a"}, time.Now())
		ask := func(holder string) Answer { return h.Serve([]Ask{{Host: "x", Holder: holder}}, time.Now())[0] }
		if !ask("dies").Granted {
			t.Fatal("a free host is not granted")
		}
		began := time.Now()
		for !ask("lives").Granted {
			pause(100 * time.Millisecond)
		}
		if took := time.Since(began); took < Length || took > Length+time.Second {
			t.Errorf("it took %v until the lease was free, want %v", took, Length)
		}
	})
}

// A node that joins does not grant what the others, who have not heard of it yet, may have granted just before.
func TestAHomeThatBeginsSettles(t *testing.T) {
	now := time.Now()
	h := NewHome("a")
	ask := Ask{Host: "x", Holder: "b/1"}
	if h.Serve([]Ask{ask}, now)[0].Granted {
		t.Error("granted before it was known who lives")
	}
	host := "x"
	for i := 0; HomeOf(host, []string{"a", "b"}) != "a"; i++ {
		host = fmt.Sprint("x", i)
	}
	ask.Host = host
	h.SetLiving([]string{"a", "b"}, now)
	if h.Serve([]Ask{ask}, now.Add(settling-time.Millisecond))[0].Granted {
		t.Error("granted while another home may have granted it, too")
	}
	held := ask
	held.Holder, held.Held = "b/2", true
	if !h.Serve([]Ask{held}, now.Add(time.Second))[0].Granted {
		t.Error("what is held is not granted on")
	}
	if ask.Holder = "b/3"; h.Serve([]Ask{ask}, now.Add(2*time.Second))[0].Granted {
		t.Error("granted twice")
	}
}

func TestHomesAreSpreadAndMoveLittle(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	count, moved := map[string]int{}, 0
	for _, host := range hostNames(4000) {
		home := HomeOf(host, nodes)
		count[home]++
		if after := HomeOf(host, nodes[:3]); after != home && home != "d" {
			moved++
		}
	}
	for node, n := range count {
		if n < 850 || n > 1150 {
			t.Errorf("%s is home of %d of 4000 hosts", node, n)
		}
	}
	if moved > 0 {
		t.Errorf("%d hosts moved whose home still lives", moved)
	}
}

func BenchmarkAdmit(b *testing.B) {
	p := New(Config{Self: "a", Home: NewHome("a"), Log: slog.New(slog.DiscardHandler)})
	p.SetLiving([]string{"a"}, 0, time.Now())
	for b.Loop() {
		p.Admit("job", "host")
		p.Done("job", "host", 0)
	}
}
