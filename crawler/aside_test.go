package crawler

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// A site that does not answer holds up nothing but itself, though others share its queue: its URIs wait in a queue of
// their own, are tried again together, also after the crawl is opened again, and fetched once the site is there.
func TestDeadSiteWaitsAlone(t *testing.T) {
	t.Parallel()
	for _, robots := range []harvest.RobotsPolicy{harvest.RobotsObey, harvest.RobotsIgnore} {
		t.Run(string(robots), func(t *testing.T) {
			const pages = 30
			dead, revive := deadPort(t)
			s := newSite(t)
			var links strings.Builder
			for i := range pages {
				fmt.Fprintf(&links, "<a href=http://%s/dead/%d>d</a> <a href=/p/%d>p</a> ", dead, i, i)
			}
			s.html("/{$}", links.String())
			s.html("/p/", "page")
			job := newJob(s.URL + "/")
			job.Settings.Scope, job.Settings.QueueBy, job.Settings.Robots = harvest.ScopeDomain, scope.QueueByDomain, robots
			job.Settings.MaxRetries, job.Settings.RetryDelay = 1000, harvest.Duration(time.Second)
			job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(time.Millisecond), harvest.Duration(time.Millisecond)
			dir := t.TempDir()
			alive := start(t, Config{Dir: dir, Job: job})
			until(t, "the others of the queue are fetched", func() bool { return s.counts()[fmt.Sprintf("/p/%d", pages-1)] > 0 })
			until(t, "those of the dead site have a queue of their own", func() bool {
				q := alive.obey(act.Queues{Queue: "^http://"}).Queues
				return len(q) == 1 && q[0].Name == "http://"+dead && q[0].State == "snoozed" && len(alive.queued("/dead/")) == pages
			})
			for _, u := range alive.obey(act.URIs{Pattern: "."}).URIs {
				if u.Tries > 0 != (u.Priority == 0 || robots == harvest.RobotsIgnore && strings.HasSuffix(u.URL, "/dead/0")) {
					t.Errorf("%s was tried %d times", u.URL, u.Tries)
				}
			}
			if e := alive.obey(act.Explain{URL: "http://" + dead + "/dead/1"}).Explained; e.Known != "queued" {
				t.Errorf("one of them is said to be %s", e.Known)
			}
			alive.Stop("enough")
			alive.end()

			late := &httptest.Server{Listener: revive(), Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/dead/") {
					fmt.Fprint(w, "late")
				} else {
					http.NotFound(w, r)
				}
			})}}
			late.Start()
			defer late.Close()
			c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
			if err != nil {
				t.Fatal(err)
			}
			again := begin(t, c)
			again.obey(act.Seeds{Seeds: []string{"http://" + dead + "/dead/seed"}})
			again.end()
			for i := range pages {
				if status, _ := logged(t, dir, fmt.Sprintf("http://%s/dead/%d", dead, i)); status != "200" {
					t.Errorf("/dead/%d has status %s", i, status)
				}
			}
			checkFiles(t, dir)
		})
	}
}

// deadPort is the address of a port that refuses connections, and that nobody else gets, until revive listens there.
func deadPort(t *testing.T) (addr string, revive func() net.Listener) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "dead port")
	t.Cleanup(func() { _ = file.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), func() net.Listener {
		t.Helper()
		err := syscall.Listen(fd, 128)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// A host whose name cannot be found for now holds up nothing else in its queue.
func TestUnknownHostWaitsAlone(t *testing.T) {
	t.Parallel()
	nobody, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nameserver := nobody.LocalAddr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.html("/{$}", "<a href=http://nowhere.example/1>n</a> <a href=/p/1>p</a> <a href=http://nowhere.example/2>n</a> <a href=/p/2>p</a>")
	s.html("/p/", "page")
	job := newJob(s.URL + "/")
	job.Settings.Scope, job.Settings.QueueName, job.Settings.Nameserver = harvest.ScopeAny, "shared", nameserver
	job.Settings.MaxRetries, job.Settings.RetryDelay = 3, harvest.Duration(time.Hour)
	l := start(t, Config{Dir: t.TempDir(), Job: job})
	until(t, "the others are fetched", func() bool { return s.counts()["/p/1"] == 1 && s.counts()["/p/2"] == 1 })
	until(t, "the unknown host has a queue of its own", func() bool {
		q := l.obey(act.Queues{Queue: "^http://"}).Queues
		return len(q) == 1 && q[0].Name == "http://nowhere.example" && q[0].Queued == 3 && q[0].State == "snoozed"
	})
	l.Stop("enough")
	l.end()
}
