package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// An address fares well only if what was sent last was accepted.
func TestNoticeState(t *testing.T) {
	t.Parallel()
	all, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := terms{all.Language("en")}
	at := now()
	for what, tt := range map[string]struct {
		a    wire.NoticeAddress
		want string
	}{
		"new":               {wire.NoticeAddress{}, "quiet"},
		"told":              {wire.NoticeAddress{Told: 1}, "good"},
		"on the way":        {wire.NoticeAddress{Told: 1, Waiting: 1}, "work"},
		"tried again":       {wire.NoticeAddress{Told: 1, Waiting: 1, Reason: "550"}, "look"},
		"given up":          {wire.NoticeAddress{Told: 1, Lost: 1, Undelivered: at, Reason: "550"}, "bad"},
		"given up, another": {wire.NoticeAddress{Told: 1, Lost: 1, Undelivered: at, Waiting: 1}, "bad"},
		"given up, mended":  {wire.NoticeAddress{Told: 2, Lost: 1}, "good"},
	} {
		if got := l.NoticeState(tt.a); got.Class != tt.want || got.Text == "" {
			t.Errorf("%s: %v, want %s", what, got, tt.want)
		}
	}
}

// A test is told to have arrived only if the API says that it was accepted.
func TestNoticeTest(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		answer any
		has    string
	}{
		"accepted":     {wire.NoticeTest{ID: "m", Accepted: true, Node: "south-1"}, "has accepted the test that <bdi>south-1</bdi> sent"},
		"refused":      {wire.NoticeTest{ID: "m", Node: "south-1", Reason: "550 no such user"}, "550 no such user"},
		"nobody knows": {wire.NoticeTest{ID: "m"}, "was not accepted, as far as is known now"},
	} {
		s := newSite(t)
		s.api.answers["POST /notice-addresses/ops/test"] = tt.answer
		resp, _ := s.post(t, "/_/en/notices/ops/test", formOf("K"))
		_, body := s.get(t, resp.Header.Get("Location"))
		if !strings.Contains(body, tt.has) || (what == "accepted") != strings.Contains(body, "has accepted the test") {
			t.Errorf("%s: %s", what, body)
		}
	}
	s := newSite(t)
	s.api.answers["POST /notice-addresses/ops/test"] = refusal(503, wire.CodeNoQuorum, "none")
	if resp, body := s.post(t, "/_/en/notices/ops/test", formOf("K")); resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "accepted") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Where a webhook leads stays secret and as it is unless something is typed; a secret that was made is shown to whoever
// made it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, body := s.get(t, "/_/en/notices/hook/edit"); strings.Contains(body, "hook.example") {
		t.Errorf("the form shows where it leads: %s", body)
	}
	s.post(t, "/notices/hook/edit", formOf("K", "version", "3", "to", " ", "when", "hourly"))
	if did := s.api.changes(); len(did) != 1 || strings.Contains(did[0], `"to"`) || strings.Contains(did[0], `"inside"`) {
		t.Errorf("did %v", did)
	}
	resp, _ := s.post(t, "/_/en/new/notice", formOf("L", "name", "hook", "way", "webhook", "to", "https://hook.example/x", "when", "at-once", "language", "en"))
	if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "whsec_made") || !strings.Contains(body, "not shown again") {
		t.Errorf("%s", body)
	}
	if _, body := s.get(t, "/_/en/notices"); strings.Contains(body, "whsec") {
		t.Errorf("%s", body)
	}
}
