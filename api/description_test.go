package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func TestWholeNumbersMayHaveAFraction(t *testing.T) {
	for in, want := range map[string]string{
		`{"level": 277.0}`: `{"level": 277}`, `[1e2,-3.00, 1.5,"1.0\"2.0"]`: `[100,-3, 1.5,"1.0\"2.0"]`,
		`{"x":1.0`: `{"x":1.0`, `9007199254740993.0`: `9007199254740993.0`, `1e400`: `1e400`, `true`: `true`,
	} {
		if got := string(wholeNumbers([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A path without the method says which methods it has; an unknown path is not found. An empty number is refused.
func TestUndescribedRequestsAreRefused(t *testing.T) {
	b, as := testCluster(t)
	token := b.person("x", catalog.Giving{Role: catalog.RoleAdmin})
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"TRACE", "/api/v1/status", http.StatusMethodNotAllowed}, {"DELETE", "/api/v1/nodes", http.StatusMethodNotAllowed},
		{"TRACE", "/nowhere", http.StatusNotFound}, {"GET", "/api/v1/jobs?limit=", http.StatusUnprocessableEntity},
		{"GET", "/api/v1/grants?ended=", http.StatusUnprocessableEntity}, {"GET", "/api/v1/grants?ended=true", http.StatusOK},
		{"GET", "/api/v1/jobs?limit=2", http.StatusOK}, {"GET", "/api/v1/jobs?after=x", http.StatusUnprocessableEntity},
		{"GET", "/api/v1/jobs?after=j-0", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, as(catalog.RoleAdmin).Base()+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tt.want || (tt.want == http.StatusMethodNotAllowed) != (answer.Header.Get("Allow") != "") {
			t.Errorf("%s %s: %s, Allow %q", tt.method, tt.path, answer.Status, answer.Header.Get("Allow"))
		}
	}
}

// A token that would end before the cluster has agreed on it is refused at once, and the description says so.
func TestLifetimesAreLongEnoughToBeAgreedOn(t *testing.T) {
	_, as := testCluster(t)
	people := as(catalog.RoleAdmin).People()
	for life, allowed := range map[string]bool{"1ms": false, "9s": false, "10s": true, "1h30m": true, "24h0m0s": true, "30m500ms": false} {
		_, err := people.Invite(t.Context(), wire.PersonRequest{Name: "p" + life, Mail: life + "@example.org", Lifetime: life})
		if (err == nil) != allowed {
			t.Errorf("an invitation for %s: %v", life, err)
		}
	}
}

// Cursors, durations and fields that may be null are described as they are checked.
func TestTheDescriptionSaysWhatTheChecksSay(t *testing.T) {
	_, description := routes(newServer(Backend{}, slog.New(slog.DiscardHandler)), Backend{}, slog.New(slog.DiscardHandler))
	text := description()
	for name, pattern := range patterns() {
		if !strings.Contains(string(text), strings.Trim(jsonText(pattern), `"`)) {
			t.Errorf("%s: the description has no %s", name, pattern)
		}
	}
	for _, c := range []struct{ pattern, cursor string }{
		{fileCursor, makeCursor("f", "a.warc.gz")}, {fileCursor, makeCursor("f", "ab")}, {jobCursor, makeNumberCursor("j", 7)}, {eventCursor, ""},
	} {
		if !regexp.MustCompile(c.pattern).MatchString(c.cursor) {
			t.Errorf("%s does not match %s", c.cursor, c.pattern)
		}
	}
	for _, want := range []string{jsonText(durationPattern), `"410"`, `"431"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the description lacks %s", want)
		}
	}
	handler := New(Backend{}, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "TRACE", "/api/v1/config", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Error(w.Code)
	}
}

func jsonText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
