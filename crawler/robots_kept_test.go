package crawler

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdfast/harvest"
)

// Rules that were known stay valid for up to a day when their robots.txt cannot be fetched any more, and nothing waits
// for it; where RFC 9309 is followed to the letter, the site is shut after all tries. 429 counts as a 4xx after all
// tries.
func TestKnownRobotsAreKept(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /private\n"
	tests := []struct {
		name    string
		reply   string // of robots.txt
		set     harvest.RobotsFailure
		age     time.Duration // of the rules that are known; 0: none
		open    string
		private string
		asked   int // for robots.txt
	}{
		{"503", "503|busy", harvest.RobotsKeep, 30 * time.Hour, "200", "-9998", 1},
		{"429", "429|busy", harvest.RobotsKeep, 30 * time.Hour, "200", "-9998", 1},
		{"500, to the letter", "500|busy", harvest.RobotsForbid, 30 * time.Hour, "-9998", "-9998", 3},
		{"too old", "500|busy", harvest.RobotsKeep, 50 * time.Hour, "-9998", "-9998", 3},
		{"not known", "500|busy", harvest.RobotsKeep, 0, "-9998", "-9998", 3},
		{"429, not known", "429|busy", harvest.RobotsKeep, 0, "200", "200", 5},
		{"429, to the letter", "429|busy", harvest.RobotsForbid, 30 * time.Hour, "200", "200", 5},
		{"broken gzip", "200|Content-Encoding: gzip|\x1f\x8b\x08broken", harvest.RobotsKeep, 30 * time.Hour, "200", "-9998", 1},
		{"broken gzip, not known", "200|Content-Encoding: gzip|\x1f\x8b\x08broken", harvest.RobotsKeep, 0, "-61", "-61", 5},
		{"other rules", "200|Content-Type: text/plain|User-agent: *\nDisallow: /open\n", harvest.RobotsKeep, 30 * time.Hour, "-9998", "200", 1},
		{"no rules any more", "404|gone", harvest.RobotsKeep, 30 * time.Hour, "200", "200", 1},
		{"cut off in a rule", "200|Content-Length: 400|User-agent: *\nDisallow: /private\nDisallow: /op", harvest.RobotsKeep, 0, "200", "-9998", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultySite(t, rule{"/robots.txt", "", 0, tt.reply}, rule{"/open", "", 0, "200|open"}, rule{"/private", "", 0, "200|private"})
			job := newJob(s.URL+"/open", s.URL+"/private")
			job.Settings.MaxRetries, job.Settings.RobotsFailure, job.Settings.AnswerRetries = 2, tt.set, 4
			dir := t.TempDir()
			c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
			if err != nil {
				t.Fatal(err)
			}
			if tt.age > 0 {
				at := time.Now().Add(-tt.age)
				known, err := json.Marshal(map[string]any{"body": []byte(rules), "fetched": at, "expires": at.Add(24 * time.Hour)})
				if err != nil {
					t.Fatal(err)
				}
				c.frontier.SetValue("robots/"+s.URL+"/robots.txt", known)
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			open, _ := logged(t, dir, s.URL+"/open")
			private, _ := logged(t, dir, s.URL+"/private")
			got := fmt.Sprint(open, " ", private, " ", s.counts()["/robots.txt"])
			if want := fmt.Sprint(tt.open, " ", tt.private, " ", tt.asked); got != want {
				t.Errorf("open, private, and how often robots.txt was asked for: %s; want %s", got, want)
			}
		})
	}
}
