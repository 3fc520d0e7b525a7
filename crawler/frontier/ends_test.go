package frontier

import (
	"fmt"
	"testing"
	"time"
)

// How the URIs of a queue ended, and the tries before, is told of it, also after the frontier is opened again; look-ups are of a host of their own.
func TestEndsOfAQueue(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir()}
	f := openWith(t, cfg)
	add(t, f, URI{URL: "dns:h", Queue: "h:8080", Priority: Prerequisite})
	for i := range 5 {
		add(t, f, URI{URL: fmt.Sprint("http://h:8080/", i), Queue: "h:8080", Host: "h", Priority: Normal})
	}
	finish(t, f, take(t, f), Outcome{Status: 1, Fetched: true, Bytes: 50})
	finish(t, f, take(t, f), Outcome{Status: 200, Fetched: true, Bytes: 100})
	finish(t, f, take(t, f), Outcome{Status: 200, Fetched: true, Bytes: 7, Dedup: Discarded})
	u := take(t, f)
	u.Status = -2
	f.Retry(u, 0, 0, false)
	u = take(t, f)
	u.Status = 503
	f.Retry(u, 0, 0, false)
	finish(t, f, take(t, f), Outcome{Status: -2, Kind: Failed})
	finish(t, f, take(t, f), Outcome{Status: -9998, Kind: Disregarded, Robots: true})
	check := func(when string) {
		t.Helper()
		infos, err := f.Queues(t.Context(), QueueFilter{})
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		q := infos[0]
		got := fmt.Sprint(q.Remaining, q.URLs, q.Bytes, q.Failed, q.Disregarded, q.Robots, q.Unanswered)
		if want := "1 3 157 1 1 1 2"; got != want || time.Since(q.LastSuccess) > time.Minute {
			t.Errorf("%s: %s, want %s; last success %v", when, got, want, q.LastSuccess)
		}
		if s := f.Summary(); s.Longest != 1 {
			t.Errorf("%s: the longest queue has %d", when, s.Longest)
		}
		hosts := ""
		if err := f.Hosts(func(name string, h Host, remaining int) {
			hosts += fmt.Sprintln(name, h.URLs, h.Bytes, h.Robots, h.NovelURLs, h.NovelBytes, remaining)
		}); err != nil {
			t.Fatal(err)
		}
		if want := "dns: 1 50 0 1 50 0\nh 2 107 1 1 100 1\n"; hosts != want {
			t.Errorf("%s: hosts\n%swant\n%s", when, hosts, want)
		}
	}
	commit(t, f)
	check("at once")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openWith(t, cfg)
	defer f.Close()
	f.scanning.Wait()
	check("opened again")
}

func TestLongestQueues(t *testing.T) {
	t.Parallel()
	var l longest
	for i := range 100 {
		l.put(fmt.Sprint("q", i), int64(i))
	}
	if l.most() != 99 || len(l.queues) != ranked || l.least != 80 {
		t.Errorf("%+v", l)
	}
	for i := 99; i > 70; i-- {
		l.put(fmt.Sprint("q", i), 0)
	}
	if l.most() != 0 || len(l.queues) != 0 {
		t.Errorf("%+v", l)
	}
	l.put("q3", 3)
	l.put("q3", 7)
	l.put("q4", 5)
	l.put("q3", 2)
	if l.most() != 5 || len(l.queues) != 2 {
		t.Errorf("%+v", l)
	}
}
