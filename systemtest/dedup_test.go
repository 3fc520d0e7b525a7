//go:build e2e

package systemtest

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// TestSecondJobIsDeduplicated crawls an unchanged site three times: images are recorded as revisits of what the first job archived, wherever
// that lies; with conditional requests what the server says has not changed; and every capture replays as what the server sends.
func TestSecondJobIsDeduplicated(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "127.0.21", "")
	listener, err := net.Listen("tcp", "127.0.21.101:0")
	check(t, err)
	bodies := map[string]string{"/": `<img src=/a.png><img src=/b.png><a href=/t.txt>t</a>`, "/a.png": "picture a", "/b.png": "picture b", "/t.txt": "some text"}
	kinds := map[string]string{"/": "text/html", "/a.png": "image/png", "/b.png": "image/png", "/t.txt": "text/plain"}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := bodies[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kinds[r.URL.Path])
		if r.URL.Path == "/b.png" {
			w.Header().Set("ETag", `"b1"`)
			if r.Header.Get("If-None-Match") == `"b1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		_, _ = fmt.Fprint(w, body)
	})}
	go func() { _ = s.Serve(listener) }() // ends with Close
	t.Cleanup(func() { check(t, s.Close()) })
	site := "http://" + listener.Addr().String()

	jobs := []struct {
		set      []string
		revisits []string
	}{
		{nil, nil},
		{[]string{"--set", "deduplicate=digest"}, []string{"/a.png", "/b.png"}},
		{[]string{"--set", "deduplicate=url", "--set", `deduplicate_types=["*"]`, "--set", "conditional=true"}, []string{"/", "/a.png", "/b.png", "/t.txt"}},
	}
	for i, j := range jobs {
		var job wire.Job
		args := append([]string{"job", "create", "--name", fmt.Sprint("round", i), "--allow-private", "--contact", "test@demo.test", "--min-delay", "0s", "--set", "delay_factor=0"}, j.set...)
		check(t, c.JSON(t.Context(), &job, []string{"north-1", "south-1"}[i%2], append(args, site+"/")...))
		_, err := c.Done(t.Context(), "north-1", job.ID, 2*time.Minute)
		check(t, err)
		_, err = c.Stored(t.Context(), "north-1", 2*time.Minute)
		check(t, err)
	}
	found, err := c.Captures(t.Context(), "south-1", site+"/*")
	check(t, err)
	first := map[string]string{}
	revisits := map[string]int{}
	for _, one := range found {
		path := strings.TrimPrefix(one.URL, site)
		if one.MIME != "warc/revisit" {
			if first[path] != "" && path != "/t.txt" && path != "/" && path != "/robots.txt" {
				t.Errorf("%s is archived again: %+v", path, one)
			}
			if first[path] == "" {
				first[path] = one.Timestamp
			}
		} else {
			revisits[path]++
			if one.RefersURL != one.URL || one.RefersTimestamp != first[path] && path != "/" && path != "/t.txt" {
				t.Errorf("%s refers to %s %s, not %s", path, one.RefersURL, one.RefersTimestamp, first[path])
			}
		}
		if bodies[path] == "" {
			continue
		}
		for _, node := range []string{"north-1", "south-1"} {
			at := fmt.Sprintf("http://%s/web/%sid_/%s", c.Address(node, "access"), one.Timestamp, one.URL)
			status, got, err := answerOf(t.Context(), http.DefaultTransport.RoundTrip, at)
			if err != nil || status != http.StatusOK || string(got) != bodies[path] {
				t.Errorf("%s: %d, %q, %v", at, status, got, err)
			}
		}
	}
	want := map[string]int{}
	for _, j := range jobs {
		for _, path := range j.revisits {
			want[path]++
		}
	}
	if fmt.Sprint(revisits) != fmt.Sprint(want) {
		t.Errorf("revisits %v, want %v", revisits, want)
	}
	paths, err := c.Paths("north-1")
	check(t, err)
	var warcs []string
	for name, path := range paths {
		if IsWARC(name) {
			warcs = append(warcs, path)
		}
	}
	check(t, c.Valid(t.Context(), validator, warcs))
}
