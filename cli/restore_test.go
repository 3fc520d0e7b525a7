package cli

import (
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/demo"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Who follows a crawl is not told its end when it is started from a checkpoint again, not for a moment.
func TestACrawlIsFollowedOverARestore(t *testing.T) {
	t.Parallel()
	site, err := demo.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(t.TempDir(), "out")
	code := make(chan int, 1)
	go func() {
		code <- Main([]string{"crawl", "--out", dir, "--allow-private", "--contact", "me@demo.test", "--min-delay", "1m", "--set", "max_delay=1m", "--nameserver", site.Nameserver, site.Seeds[0]},
			nil, io.Discard, io.Discard)
	}()
	a := &app{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	deadline := time.Now().Add(time.Minute)
	give := func(o act.Act) harvest.Reply { // as soon as it is taken
		t.Helper()
		for {
			r, err := a.order(dir, o)
			if err == nil {
				return r
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", o.Kind(), err)
			}
		}
	}
	give(act.Live{})
	give(act.Checkpoint{Name: "a"})
	give(act.Restore{Name: "a"})
	var kinds []string
	after, ended := "", false
	for !ended {
		if time.Now().After(deadline) {
			t.Fatalf("it did not end: %v", kinds)
		}
		r := give(act.Events{After: after, Limit: 1000})
		for _, text := range r.Events {
			var e struct{ Kind, Reason string }
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatal(err)
			}
			if kinds = append(kinds, e.Kind+" "+e.Reason); e.Kind == "started" && len(kinds) > 1 {
				give(act.Stop{Reason: "enough"})
			}
		}
		if r.Next != "" {
			after = r.Next
		}
		if ended = r.Ended; ended && !slices.Contains(kinds, "finished enough") {
			t.Errorf("told as its end: %v", kinds)
			give(act.Stop{})
		}
	}
	if c := <-code; c != exitOK && c != exitFailed {
		t.Errorf("exit code %d", c)
	}
}
