package web

import (
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// What came in is compared with the days before if all their jobs were looked at, from three days with jobs on.
func TestUsualDay(t *testing.T) {
	t.Parallel()
	since := now().Add(-yesterday)
	job := func(days float64, objects, bytes int64) wire.Job {
		return wire.Job{State: wire.JobDone, Ended: now().Add(-time.Duration(days * float64(yesterday))), Stats: wire.JobStats{Objects: objects, Bytes: bytes}}
	}
	three := []wire.Job{job(1.5, 40, 400), job(1.6, 60, 600), job(2.5, 50, 500), job(6.9, 300, 3000), job(7.5, 9999, 9)}
	six := []wire.Job{job(1.5, 100, 1000), job(2.5, 100, 1000), job(3.5, 100, 1000), job(4.5, 100, 1000), job(5.5, 100, 1000), job(6.5, 100, 1000)}
	for what, tt := range map[string]struct {
		today  []wire.Job
		before []wire.Job
		next   string
		want   *usualDay
	}{
		"three days":              {[]wire.Job{job(0.5, 100, 1000)}, three, "", &usualDay{3, 100, 1000, false}},
		"half is not under it":    {[]wire.Job{job(0.5, 50, 500)}, three, "", &usualDay{3, 100, 1000, false}},
		"under half":              {[]wire.Job{job(0.5, 49, 1000)}, three, "", &usualDay{3, 100, 1000, true}},
		"over three times":        {[]wire.Job{job(0.5, 100, 3001)}, three, "", &usualDay{3, 100, 1000, true}},
		"nothing, as some days":   {nil, three, "", &usualDay{3, 100, 1000, false}},
		"nothing, as on no day":   {nil, six, "", &usualDay{6, 100, 1000, true}},
		"two days":                {nil, three[1:3], "", nil},
		"not all were looked at":  {nil, six, "j-1", nil},
		"at the border of a day":  {nil, []wire.Job{job(2, 1, 1), job(3, 2, 2), job(4, 3, 3)}, "", &usualDay{3, 2, 2, false}},
		"so many bytes, no fault": {[]wire.Job{job(0.5, 1<<62, 1<<62)}, three, "", &usualDay{3, 100, 1000, true}},
	} {
		e := &ended{}
		page := wire.Page[wire.Job]{Items: append(append([]wire.Job{}, tt.today...), tt.before...), Next: tt.next}
		e.add(page, since)
		e.compare(page, since)
		if (e.Usual == nil) != (tt.want == nil) || e.Usual != nil && *e.Usual != *tt.want {
			t.Errorf("%s: %+v, want %+v", what, e.Usual, tt.want)
		}
	}
}

// Runs that differ are counted once each, though several alerts are about them.
func TestRunsThatDiffer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	alerts := []wire.Alert{{Kind: "run-unusual", Subject: "3/7"}, {Kind: "run-silent", Subject: "3/7"}, {Kind: "run-limited", Subject: "4/1"}, {Kind: "node-away", Subject: "3/8"}}
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: alerts}
	const differ = `<a href="/_/en/alerts">2 runs differ from what is usual</a>`
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, differ+"</p>") {
		t.Errorf("%s", body)
	}
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: append(alerts, wire.Alert{Kind: "more-runs-unusual"})}
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, differ+` <span class="look">`) {
		t.Errorf("%s", body)
	}
	s.api.answers["/alerts"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/"); strings.Contains(body, "from what is usual") {
		t.Errorf("nobody said so: %s", body)
	}
}

// Where the other nodes were not asked, the backup is that of the node that answers; that there is none is said only if
// its folder was read.
func TestLastBackup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: []wire.Alert{}} // by an older node
	st, ok := s.api.answers["/status"].(wire.Status)
	if !ok {
		t.Fatal("no status")
	}
	texts := []string{"backed up the catalog last <bdi>05:30, 3 h ago", "has made no backup", "is not known", "makes no backups of the catalog by itself", "The last try failed"}
	for what, tt := range map[string]struct {
		state *wire.BackupState
		want  []int
	}{
		"made":       {&wire.BackupState{Looked: true, Newest: now().Add(-3 * time.Hour)}, []int{0}},
		"failed":     {&wire.BackupState{Looked: true, Newest: now().Add(-3 * time.Hour), Failed: now()}, []int{0, 4}},
		"none":       {&wire.BackupState{Looked: true}, []int{1}},
		"none made":  {&wire.BackupState{Looked: true, Failed: now()}, []int{1, 4}},
		"not looked": {&wire.BackupState{}, []int{2}},
		"unread":     {&wire.BackupState{Failed: now()}, []int{2, 4}},
		"not here":   {nil, []int{3}},
	} {
		st.Node.Backup = tt.state
		s.api.answers["/status"] = st
		_, body := s.get(t, "/_/en/")
		want := map[string]bool{}
		for _, i := range tt.want {
			want[texts[i]] = true
		}
		for _, text := range texts {
			if strings.Contains(body, text) != want[text] {
				t.Errorf("%s: says %q: %v\n%s", what, text, !want[text], body)
			}
		}
	}
	s.api.answers["/status"] = refusal(503, wire.CodeUnavailable, "busy")
	_, body := s.get(t, "/_/en/")
	for _, text := range texts {
		if strings.Contains(body, text) {
			t.Errorf("nobody said %q: %s", text, body)
		}
	}
}
