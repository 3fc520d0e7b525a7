package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRatesLookBackTwentySeconds(t *testing.T) {
	v := NewLive()
	at := time.Unix(1_000_000, 0)
	for i := range 100 { // 100 s at 3 a second, of 10 bytes
		for range 3 {
			v.Add(&Line{Status: 200, Size: 10, URI: "http://h/"}, at.Add(time.Duration(i)*time.Second))
		}
	}
	r := v.Rates(at.Add(100*time.Second), 200*time.Second, Count{300, 3000})
	if r != (Rates{3, 30, 1.5, 15}) {
		t.Errorf("at the end %+v", r)
	}
	if r := v.Rates(at.Add(110*time.Second), 0, Count{}); r.URIs != 1.5 {
		t.Errorf("ten seconds later %+v", r)
	}
	if r := v.Rates(at.Add(time.Hour), 0, Count{}); r != (Rates{}) {
		t.Errorf("an hour later %+v", r)
	}
	young := NewLive()
	young.Add(&Line{Status: 200, URI: "http://h/"}, at)
	if r := young.Rates(at, 0, Count{}); r != (Rates{}) {
		t.Errorf("in the first second %+v", r)
	}
	if r := young.Rates(at.Add(2*time.Second), 0, Count{}); r.URIs != 0.5 {
		t.Errorf("after two seconds %+v", r)
	}
}

func TestLiveHostsAreBoundedAndExactInSum(t *testing.T) {
	v := NewLive()
	for i := range 10 * maxHosts {
		v.Add(&Line{Status: 200, Size: 1, URI: fmt.Sprintf("http://h%d.org/", i), Begin: noon, Duration: time.Millisecond}, noon)
		for range 3 {
			v.Add(&Line{Status: 200, Size: 2, URI: "http://big.org:8080/x", Begin: noon, Duration: time.Millisecond}, noon)
		}
		if i%100 == 0 {
			v.Add(&Line{Status: 404, URI: "https://u@slow.org/", Begin: noon, Duration: 10 * time.Second}, noon)
		}
		v.Add(&Line{Status: -2, URI: "http://down.org/"}, noon)
	}
	if len(v.urls) > maxHosts || len(v.slow) > maxHosts {
		t.Errorf("%d and %d hosts kept", len(v.urls), len(v.slow))
	}
	top, rest := v.Busiest(2)
	if len(top) != 2 || top[0].Host != "big.org" || top[0].URLs != 30*maxHosts || top[0].Bytes != 60*maxHosts {
		t.Errorf("busiest %+v", top)
	}
	if sum := top[0].URLs + top[1].URLs + rest.URLs; sum != 40*maxHosts+maxHosts/10 {
		t.Errorf("%d URIs in all", sum)
	}
	if slow := v.Slowest(1); slow[0].Host != "slow.org" || slow[0].Mean() != 10*time.Second {
		t.Errorf("slowest %+v", slow)
	}
}

func TestHostOf(t *testing.T) {
	for uri, want := range map[string]string{"http://h.org/": "h.org", "https://u:p@h.org:8443/a@b:c": "h.org", "http://[::1]:80/": "[::1]", "http://h": "h",
		"dns:h.org": "dns:", "": "", "x": "x", "http://h?x": "h", "http://[bad": "[bad"} {
		if got := hostOf(uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
}

func TestStatsStaySmall(t *testing.T) {
	s := NewStats()
	for i := range 100_000 {
		s.Add(&Line{Status: i - 50_000, Size: 1, MIME: fmt.Sprintf("application/%s%d", strings.Repeat("x", i%120), i)})
	}
	data, err := json.Marshal(s)
	if err != nil || len(data) > 64<<10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	_, restTypes := s.TopTypes(10)
	topStatuses, restStatuses := s.TopStatuses(10)
	sum := restStatuses
	for _, c := range topStatuses {
		sum += c.URLs
	}
	if sum != 100_000 || restTypes.URLs < 1000 || s.Captures.Novel.URLs != 49_999 {
		t.Errorf("%d URIs, %d of rare types, %d captured", sum, restTypes.URLs, s.Captures.Novel.URLs)
	}
	var back Stats
	if err := json.Unmarshal(data, &back); err != nil || back.Objects != s.Objects || len(back.Types) != len(s.Types) {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

func TestHostsReportOfVeryManyHosts(t *testing.T) {
	var out bytes.Buffer
	err := WriteHosts(&out, func(yield func(Host) bool) {
		for i := range maxSorted + 10 {
			if !yield(Host{Name: fmt.Sprint("h", i), URLs: int64(i), Captures: Captures{Novel: Count{URLs: int64(i)}}}) {
				return
			}
		}
	})
	if err != nil || strings.Count(out.String(), "\n") != maxSorted+11 || !strings.HasSuffix(out.String(), fmt.Sprintf(" h%d 0 0 %d 0 0 0 0 0 \n", maxSorted+9, maxSorted+9)) {
		t.Errorf("%d lines, %v", strings.Count(out.String(), "\n"), err)
	}
}

func TestBoardShowsAndAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBoard("pre-fetch", "fetch")
		var wg sync.WaitGroup
		seen := make(chan struct{})
		for n := range 3 {
			wg.Go(func() {
				w := b.Worker(n + 1)
				defer w.Leave()
				for range 2 {
					w.Begin("http://h/", "L", "", 1)
					w.Stage(0)
					<-time.After(time.Second)
					w.Stage(1)
					<-time.After(3 * time.Second)
					w.End()
				}
				w.Stage(99) // no such stage
				<-seen
			})
		}
		<-time.After(2 * time.Second)
		doing := b.Workers()
		if len(doing) != 3 || doing[0].Worker != 1 || doing[2].Stage != "fetch" || time.Since(doing[1].Since) != 2*time.Second || time.Since(doing[1].StageSince) != time.Second {
			t.Errorf("after two seconds %+v", doing)
		}
		close(seen)
		wg.Wait()
		if len(b.Workers()) != 0 {
			t.Errorf("still %v", b.Workers())
		}
		if s := b.Stages(); s[0] != (StageCount{"pre-fetch", 6, 6 * time.Second}) || s[1] != (StageCount{"fetch", 6, 18 * time.Second}) {
			t.Errorf("stages %+v", s)
		}
		if err := WriteThreads(io.Discard, "x", doing, time.Now()); err != nil {
			t.Error(err)
		}
	})
}
