package frontier

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Environment of the large generated crawl: HOLDFAST_TEST_HOSTS=1000000 is that of doc/benchmarks.md, with 20 URIs a host.
const envHosts = "HOLDFAST_TEST_HOSTS"

// world is a web without a network. Hosts differ in size; a page links within its host and to others, more to some than to most.
type world struct {
	hosts, perHost int
	rnd            uint64
	found          []URI
}

// random is a fast generator (splitmix64).
func (w *world) random(n int) int {
	w.rnd += 0x9e3779b97f4a7c15
	z := w.rnd
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func hostName(n int) string { return "www.host-" + strconv.Itoa(n) + ".example" }

// size is how many pages a host has: half have a few, some have many, the mean is perHost.
func (w *world) size(host int) int {
	switch {
	case host%10 == 0:
		return w.perHost * 6
	case host%2 == 0:
		return w.perHost / 2
	}
	return w.perHost * 2 / 5
}

func (w *world) page(host, n int, via *URI) URI {
	name := hostName(host)
	u := URI{URL: "http://" + name + "/section-" + strconv.Itoa(n%7) + "/page-" + strconv.Itoa(n) + ".html", Queue: name, Priority: Normal, Cost: 1}
	if via != nil {
		u.Path, u.Via, u.Source = "LLL", via.URL, "http://www.host-0.example/"
	}
	return u
}

// links are those of a page: the next ones of its host, as in a tree, some known ones, and two to the first pages of other hosts,
// so that every host is found and none before its turn in a tree of hosts.
func (w *world) links(u *URI) []URI {
	var host, page int
	rest := u.URL[len("http://www.host-"):]
	host, _ = strconv.Atoi(rest[:strings.IndexByte(rest, '.')])
	page, _ = strconv.Atoi(rest[strings.LastIndexByte(rest, '-')+1 : len(rest)-len(".html")])
	w.found = w.found[:0]
	add := func(h, p int) { w.found = append(w.found, w.page(h, p, u)) }
	size := w.size(host)
	for i := 1; i <= 3; i++ {
		if n := 3*page + i; n < size {
			add(host, n)
		}
	}
	for range 4 {
		add(host, w.random(size))
	}
	if page == 0 {
		for i := 1; i <= 2; i++ {
			if h := 2*host + i; h < w.hosts {
				add(h, 0)
			}
		}
	}
	h := w.random(w.hosts)
	if w.random(2) == 0 {
		h = w.random(1 + w.hosts/1000) // the known ones
	}
	add(h, w.random(w.size(h)))
	return w.found
}

func (w *world) total() (n int) {
	for h := range w.hosts {
		n += w.size(h)
	}
	return n
}

// memory is what the process takes, in MiB: all, and without the pages of files that the kernel may drop.
func memory(t testing.TB) (rss, own int) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		switch {
		case len(words) < 2:
		case words[0] == "VmRSS:":
			rss, _ = strconv.Atoi(words[1])
		case words[0] == "RssAnon:":
			own, _ = strconv.Atoi(words[1])
		}
	}
	return rss >> 10, own >> 10
}

// processorTime is what the process has used.
func processorTime(t testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A crawl of many hosts keeps its pace and its memory from first to last, and fetches every page once.
func TestMillionHosts(t *testing.T) {
	hosts := 5000
	if testing.Short() {
		hosts = 1000
	}
	if s := os.Getenv(envHosts); s != "" {
		var err error
		if hosts, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	if hosts >= 20_000 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(1400 << 20))
	}
	w := &world{hosts: hosts, perHost: 20, rnd: 1}
	total := w.total()
	active := min(20_000, hosts/10)
	now := time.Now() // the clock of the crawl: it moves on when nothing is ready
	f, err := Open(Config{Dir: t.TempDir(), MaxActive: active, Now: func() time.Time { return now },
		Policy: func(string, func() string) Policy { return Policy{SessionBudget: 30, Precedence: 3} }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	add(t, f, w.page(0, 0, nil))
	m := newMeter(t, total)
	done := crawlWorld(t, f, w, &now, m)
	if done != total {
		t.Errorf("%d pages were fetched, want %d", done, total)
	}
	if c := f.Counters(); c.Discovered != int64(total) || c.Succeeded != int64(total) || c.Queued != 0 {
		t.Errorf("counters %+v, want %d", c, total)
	}
	if s := f.Summary(); s.Queues != int64(hosts) || s.States[Empty] != int64(hosts) {
		t.Errorf("summary %+v, want %d queues", s, hosts)
	}
	m.check(hosts >= 5000)
}

// crawlWorld fetches until there is nothing left, with one commit under way at a time, and returns how many pages that were.
func crawlWorld(t testing.TB, f *Frontier, w *world, now *time.Time, m *meter) (done int) {
	committed := make(chan error, 1)
	committing := false
	settle := func() {
		if committing {
			if err := <-committed; err != nil {
				t.Fatal(err)
			}
			committing = false
		}
	}
	begin := func() {
		settle()
		if b := f.Take(); b != nil {
			committing = true
			go func() { committed <- f.Commit(b) }()
		}
	}
	for {
		u, err := nextNow(f)
		switch {
		case errors.Is(err, ErrEmpty):
			settle()
			begin()
			settle()
			return done
		case err != nil:
			t.Fatal(err)
		case u == nil:
			select {
			case <-f.Hungry():
				begin()
				settle()
			default:
				f.mu.Lock()
				at, ok := f.nextWake()
				f.mu.Unlock()
				if ok && at.After(*now) {
					*now = at
				} else {
					begin()
					settle()
				}
			}
			continue
		}
		if _, err := f.Finish(u, Outcome{Status: 200, Bytes: 10_000, Fetched: true, Attach: done, Wait: time.Second}, w.links(u)); err != nil {
			t.Fatal(err)
		}
		done++
		if done%2048 == 0 {
			begin()
		}
		m.tick(done)
	}
}

// meter prints the pace of each twentieth of a crawl.
type meter struct {
	t             testing.TB
	total, part   int
	begin, last   time.Time
	spent         time.Duration
	paces         []float64 // URIs a second of processor time
	most, mostOwn int
}

func newMeter(t testing.TB, total int) *meter {
	now := time.Now()
	return &meter{t: t, total: total, begin: now, last: now, spent: processorTime(t)}
}

func (m *meter) tick(done int) {
	if done < (m.part+1)*m.total/20 {
		return
	}
	m.part++
	now := time.Now()
	part := float64(m.total) / 20
	pace := part / now.Sub(m.last).Seconds()
	m.last = now
	spent := processorTime(m.t)
	own := part / (spent - m.spent).Seconds()
	m.spent = spent
	m.paces = append(m.paces, own)
	rss, anon := memory(m.t)
	m.most, m.mostOwn = max(m.most, rss), max(m.mostOwn, anon)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	line := fmt.Sprintf("%3d %%  %6.0f URIs/s  %6.0f/s of processor time  RSS %5d MiB, without files %5d MiB, heap %4d MiB  %s",
		m.part*5, pace, own, rss, anon, mem.HeapAlloc>>20,
		now.Sub(m.begin).Round(time.Second))
	m.t.Log(line)
	if m.total > 1_000_000 {
		fmt.Println(line)
	}
}

// check checks the memory, and of a large crawl the processor time of its last quarter against its second's: the clock would measure others, too.
func (m *meter) check(large bool) {
	m.t.Logf("%d URIs in %s, at most RSS %d MiB, without files %d MiB", m.total, time.Since(m.begin).Round(time.Second), m.most, m.mostOwn)
	if m.mostOwn > 2048 {
		m.t.Errorf("%d MiB", m.mostOwn)
	}
	if !large {
		return
	}
	mean := func(paces []float64) (s float64) {
		for _, p := range paces {
			s += 1 / p
		}
		return float64(len(paces)) / s
	}
	if early, late := mean(m.paces[5:10]), mean(m.paces[15:]); late < early/2 {
		m.t.Errorf("the pace fell from %.0f to %.0f URIs a second of processor time", early, late)
	}
}

// What was put in is never new; of the rest almost all is, but nothing while the filter is not complete.
func TestFilterKnowsWhatWasPutIn(t *testing.T) {
	t.Parallel()
	const n = 500_000
	s := filter{complete: true}
	if !s.isNew(fingerprint("http://example.org/")) {
		t.Error("an empty filter has something")
	}
	for i := range n {
		s.put(fingerprint(filterKey(i)))
	}
	wrong := 0
	for i := range n {
		if s.isNew(fingerprint(filterKey(i))) {
			t.Fatalf("%s is new", filterKey(i))
		}
		if !s.isNew(fingerprint(filterKey(n + i))) {
			wrong++
		}
	}
	if wrong > n/20 {
		t.Errorf("%d of %d new ones were overlooked", wrong, n)
	}
	if perURI := s.size * 64 / n; perURI > 26 {
		t.Errorf("%d bits for a URI", perURI)
	}
	s.complete = false
	if s.isNew(fingerprint(filterKey(n))) {
		t.Error("a filter that is not complete says what is new")
	}
}
