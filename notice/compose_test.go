package notice

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/internal/words"
	"holdfast/internal/words/wordstest"
)

func TestWords(t *testing.T) {
	t.Parallel()
	wordstest.Check(t, "notice", os.DirFS("."))
}

func language(t *testing.T, tag string) *words.Language {
	t.Helper()
	w, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return w.Language(tag)
}

// Notices as they are read, in two languages and zones.
func TestCompose(t *testing.T) {
	t.Parallel()
	copenhagen, err := time.LoadLocation("Europe/Copenhagen")
	if err != nil {
		t.Fatal(err)
	}
	one := &Message{ID: "msg_1", Cluster: "Arkivet", Node: "south-1", At: sentAt, News: []Item{{Alert: low()}}}
	over := &Message{Cluster: "Arkivet", Node: "south-1", Alone: true, At: sentAt, News: []Item{{Alert: low(), Cleared: sentAt}}}
	for _, tt := range []struct {
		tag  string
		zone *time.Location
		m    *Message
		want string
	}{
		{"en", time.UTC, one, "Arkivet: Disk /data has 5 B left, less than the reserve.\n---\n" +
			"Disk /data has 5 B left, less than the reserve.\n  Something fails, since 1 March 2026, 06:30.\n  Seen by node north-1.\n\n" +
			"Sent by node south-1 of the cluster Arkivet.\n"},
		{"da", copenhagen, one, "Arkivet: Disken /data har 5 B tilbage, mindre end reserven.\n---\n" +
			"Disken /data har 5 B tilbage, mindre end reserven.\n  Noget svigter, siden 1. marts 2026 kl. 07.30.\n  Set af noden north-1.\n\n" +
			"Sendt af noden south-1 i klyngen Arkivet.\n"},
		{"en", time.UTC, over, "Arkivet: over: Disk /data has 5 B left, less than the reserve.\n---\n" +
			"Disk /data has 5 B left, less than the reserve.\n  Over. It lasted from 1 March 2026, 06:30 until 1 March 2026, 07:30.\n  Seen by node north-1.\n\n" +
			"Sent by node south-1 of the cluster Arkivet, which had no quorum then: other nodes may have sent the same notice.\n"},
		{"en", time.UTC, &Message{Cluster: "Arkivet", Node: "n", Test: true, Pages: "https://a.example.org/"}, "Arkivet: test notice\n---\n" +
			"This is a test. Notices reach this address.\n\nThe archive’s pages: https://a.example.org/\nSent by node n of the cluster Arkivet.\n"},
	} {
		got := Compose(language(t, tt.tag), tt.zone, tt.m)
		if text := strings.ReplaceAll(got.Subject+"\n---\n"+got.Body, "\u00a0", " "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.tag, text, tt.want)
		}
	}
}

// A report never says that there is no alert while there is one.
func TestReport(t *testing.T) {
	t.Parallel()
	l := language(t, "en")
	none := "There is no alert"
	for name, tt := range map[string]struct {
		m    Message
		want []string
		none bool
	}{
		"nothing":      {Message{Report: &Report{Done: 3}}, []string{"3 have ended well", "0 have failed", "since 28 February 2026, 07:30"}, true},
		"new":          {Message{News: []Item{{Alert: low()}}, Report: &Report{}}, []string{"New since the last report:\nDisk /data"}, false},
		"lasting":      {Message{Report: &Report{Lasting: []Item{{Alert: low(), Acknowledged: "Anna: a disk\r\ncomes", Until: sentAt}}}}, []string{"Told before, and not over:", "Acknowledged until 1 March 2026, 07:30: Anna: a disk  comes"}, false},
		"over":         {Message{News: []Item{{Alert: low(), Cleared: sentAt}}, Report: &Report{}}, []string{"Over since the last report:\nDisk"}, true},
		"not listed":   {Message{Report: &Report{More: 2}}, []string{"2 more alerts are not listed"}, false},
		"jobs at most": {Message{Report: &Report{Done: 1000, Failed: 1, AtLeast: true}}, []string{"At least 1,000 have ended well, and at least 1 have failed"}, true},
	} {
		tt.m.At, tt.m.Cluster, tt.m.Report.From = sentAt, "A", sentAt.Add(-24*time.Hour)
		got := Compose(l, time.UTC, &tt.m)
		for _, want := range tt.want {
			if !strings.Contains(got.Body, want) {
				t.Errorf("%s: %q is missing in %q", name, want, got.Body)
			}
		}
		if strings.Contains(got.Body, none) != tt.none || got.Subject != "A: report of 1 March 2026" {
			t.Errorf("%s: %q, %q", name, got.Subject, got.Body)
		}
	}
}

// Every kind reads well in every language, whatever foreign text is in it; an unknown kind is in English.
func TestEveryKindIsSaid(t *testing.T) {
	t.Parallel()
	evil := "a\r\nBcc: x@example.org\r\n\r\n<b>{count} {subject} \x1b[2J\u202e" + strings.Repeat("W", 300)
	for _, tag := range []string{"en", "da", "it", "fr", "de"} {
		l := language(t, tag)
		for _, kind := range slices.Sorted(maps.Keys(alert.Kinds())) {
			var pairs []string
			for _, p := range alert.Kinds()[kind] {
				value := evil
				if counted(p) {
					value = "2"
				}
				pairs = append(pairs, p, value)
			}
			a := alert.New(kind, evil, pairs...)
			got := Compose(l, time.UTC, &Message{Cluster: evil, Node: evil, News: []Item{{Alert: a}}})
			if strings.ContainsAny(got.Subject, "\r\n\x1b\u202e") || strings.ContainsAny(got.Body, "\r\x1b\u202e") || len([]rune(got.Subject)) > mostSubject {
				t.Errorf("%s %s: %q", tag, kind, got)
			}
			for line := range strings.Lines(got.Body) {
				if strings.HasPrefix(line, "Bcc") || strings.Contains(line, "alert.") || strings.Contains(line, "notice.") {
					t.Errorf("%s %s: %q", tag, kind, line)
				}
			}
		}
	}
	a := alert.Alert{Kind: "of-the-future", Subject: "x"}
	if got := Say(language(t, "da"), a); got != "of-the-future x" {
		t.Errorf("%q", got)
	}
}

// Standard error gets lines that begin with the id.
func TestStandard(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (Standard{&b}).Send("msg_1", Text{"subject", "one\n\n  two\n"}); err != nil || b.String() != "notice msg_1: subject\nnotice msg_1: one\nnotice msg_1: two\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
