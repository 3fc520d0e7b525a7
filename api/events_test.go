package api

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/harvest"
)

func TestEventsAreFollowedUntilTheCrawlEnds(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	job, err := as(catalog.RoleCurator).Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	id := strconv.FormatUint(job.ID, 10)
	for after, want := range map[string]string{"": "1 2 missed 5 6 end", "5": "6 end", "2": "missed 5 6 end"} {
		if got := followed(t, b, c, id, after); got != want {
			t.Errorf("after %q: %s, want %s", after, got, want)
		}
	}
}

// followed are the numbers of the events that a client gets, and the names of what else it gets.
func followed(t *testing.T, b *backend, c *client.Client, job, after string) string {
	t.Helper()
	r := b.request(c, http.MethodGet, "/jobs/"+job+"/events", "")
	r.Header.Set("Last-Event-ID", after)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %s", kind)
	}
	var got []string
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		for _, field := range []string{"id: ", "event: "} {
			if value, ok := strings.CutPrefix(lines.Text(), field); ok {
				got = append(got, value)
			}
		}
	}
	return strings.Join(got, " ")
}

// A client whose stream breaks off without an end knows that it has to come back.
func TestStreamOfANodeThatIsNotHeardHasNoEnd(t *testing.T) {
	t.Parallel()
	b := &backend{t: t}
	s := jobs{server: newServer(Backend{Catalog: b}, slog.New(slog.DiscardHandler)), crawls: crawls{b}}
	w := httptest.NewRecorder()
	hc := humago.NewContext(&huma.Operation{}, httptest.NewRequest(http.MethodGet, "/", nil), w)
	s.sendEvents(t.Context(), hc, catalog.Job{ID: 1, State: catalog.JobStarted}, "", harvest.Reply{Events: []json.RawMessage{[]byte(`{"number":9}`)}, Next: "9"})
	if text := w.Body.String(); !strings.Contains(text, "id: 9\n") || strings.Contains(text, "event: end") {
		t.Errorf("got %q", text)
	}
}

func TestNobodyReadsTheSecretsOfAJob(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	c := as(catalog.RoleCurator)
	settings := &wire.Settings{Settings: harvest.DefaultSettings()}
	settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "reader", Password: "s3cret-word"}}
	made, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Jobs().Show(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, job := range map[string]wire.Job{"creating it": made, "showing it": shown} {
		text, err := json.Marshal(job)
		if err != nil || strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), harvest.Redaction) {
			t.Errorf("%s answers %s %v", what, text, err)
		}
	}
}
