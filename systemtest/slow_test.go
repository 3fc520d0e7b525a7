//go:build e2e

package systemtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// rate asks for the URL again and again, each time over a new connection and from another address, and returns how often
// a second it was answered well.
func rate(t *testing.T, target string, lasts time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		from := &net.TCPAddr{IP: net.IPv4(127, 2, byte(rand.IntN(250)), byte(1+rand.IntN(250)))}
		return (&net.Dialer{LocalAddr: from}).DialContext(ctx, network, addr)
	}
	var answers atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range 4 {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := client.Do(request)
				if err != nil {
					continue // it is not counted
				}
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err == nil && response.StatusCode == http.StatusOK {
					answers.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(answers.Load()) / time.Since(began).Seconds()
}

// worked returns how much processor time a process has used.
func worked(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// slowRound is what one round measured: readers alone, and beside slow callers.
type slowRound struct {
	quiet, busy     float64 // answers a second
	callers         float64 // processors that the callers kept busy
	node, nodeQuiet float64 // processors that the node kept busy
	held            int
}

// share is what readers got of their rate, of the processors that the callers left: these are on other machines otherwise.
func (r slowRound) share() float64 {
	return r.raw() / max(0.05, 1-r.callers/float64(runtime.NumCPU()))
}

// cost is how many processors the node spends on the callers: what it worked beyond what the readers' answers take it
// when it is left alone. Other processes on the machine slow both halves down, but do not change what an answer takes.
func (r slowRound) cost() float64 { return max(0, r.node-r.nodeQuiet*r.busy/max(r.quiet, 0.001)) }

// left is the share of the machine's processors that the callers leave to the readers.
func (r slowRound) left() float64 { return 1 - r.cost()/float64(runtime.NumCPU()) }

// raw is what readers got of their rate beside callers on the same processors.
func (r slowRound) raw() float64 { return r.busy / max(r.quiet, 0.001) }

// median is the middle one of what of says of the rounds.
func median(rounds []slowRound, of func(slowRound) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// slowTimes are how long a round measures, and how long the callers are there before.
type slowTimes struct{ window, before, after time.Duration }

// oneRound measures, by turns, so that what else goes on in the machine meets both halves alike.
func oneRound(t *testing.T, c *Cluster, target string, call func() *callers, times slowTimes) (r slowRound) {
	t.Helper()
	pid := c.PID("north-1")
	window := times.window.Seconds()
	at := worked(t, pid)
	r.quiet = rate(t, target, times.window/2)
	quiet := worked(t, pid) - at
	slowly := call()
	rest(t.Context(), times.before)
	r.held = slowly.held(t)
	callers, node := worked(t, slowly.cmd.Process.Pid), worked(t, pid)
	r.busy = rate(t, target, times.window)
	r.callers = (worked(t, slowly.cmd.Process.Pid) - callers).Seconds() / window
	r.node = (worked(t, pid) - node).Seconds() / window
	slowly.end(t)
	rest(t.Context(), times.after)
	at = worked(t, pid)
	r.quiet = (r.quiet + rate(t, target, times.window/2)) / 2
	r.nodeQuiet = (quiet + worked(t, pid) - at).Seconds() / window
	return r
}

// TestSlowCallers holds many connections of each slow kind at each TCP port, without a token. In the median of several
// rounds they must leave 80 % of the processors to the readers, and these must be served at a part of their rate at least
// that no busy machine explains. HOLDFAST_SLOW sets how many connections (default 1 000), HOLDFAST_SLOW_ROUNDS how many
// rounds (default 3), HOLDFAST_SLOW_SHARE the share of the rate in percent (default 25; 80 on a machine with nothing else
// to do). Windows are longer where more than the default are held.
func TestSlowCallers(t *testing.T) {
	const usual, least = 1000, 0.8
	leastRate := float64(number(t, "HOLDFAST_SLOW_SHARE", 25)) / 100
	n := int(number(t, "HOLDFAST_SLOW", usual))
	rounds := int(number(t, "HOLDFAST_SLOW_ROUNDS", 3))
	times := slowTimes{window: 2 * time.Second, before: 2 * time.Second, after: 300 * time.Millisecond}
	if n > usual {
		times = slowTimes{window: 4 * time.Second, before: 6 * time.Second, after: time.Second}
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if uint64(n)+1000 > files.Max {
		t.Fatalf("%d files may be open, too few for %d connections", files.Max, n)
	}
	c := alone(t)
	st, err := statusOf(t.Context(), c, "north-1")
	if err != nil {
		t.Fatal(err)
	}
	listen := st.Node.Listen
	for _, port := range []struct{ name, addr, path string }{{"api", listen.API, "/openapi.json"}, {"access", listen.Access, "/"}} {
		target := (&url.URL{Scheme: "http", Host: port.addr, Path: port.path}).String()
		for i, kind := range slowKinds(port.addr, port.path) {
			t.Run(port.name+"/"+kind.name, func(t *testing.T) {
				var all []slowRound
				for range rounds {
					r := oneRound(t, c, target, func() *callers { return callSlowly(t, i, port.addr, port.path, n) }, times)
					all = append(all, r)
					t.Logf("%6d held: readers got %5.0f/s of %5.0f/s, %3.0f %%; processors: callers %.2f, node %.2f (%.2f without), for the callers %.2f",
						r.held, r.busy, r.quiet, 100*r.raw(), r.callers, r.node, r.nodeQuiet, r.cost())
					if n <= usual && r.share() >= leastRate && r.left() >= least {
						break
					}
				}
				share, left := median(all, slowRound.share), median(all, slowRound.left)
				t.Logf("%-6s %-22s medians: %3.0f %% of the rate, %3.0f %% of the processors are left", port.name, kind.name, 100*share, 100*left)
				if share < leastRate {
					t.Errorf("readers got %.0f %% of their rate, want %.0f %%", 100*share, 100*leastRate)
				}
				if left < least {
					t.Errorf("the callers leave %.0f %% of the processors, want %.0f %%", 100*left, 100*least)
				}
				if !c.Running("north-1") {
					t.Fatal("the node has ended")
				}
			})
		}
	}
}
