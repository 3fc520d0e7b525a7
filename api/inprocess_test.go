package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/internal/inprocess"
)

// The client works within the program: files go in and out, broken answers are continued, refusals are known by their
// code, and who may not is turned away.
func TestTheClientWorksInTheProcess(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	curator := as(catalog.RoleCurator)
	transport := inprocess.New(b.server.Config.Handler, slog.New(slog.DiscardHandler))
	c, err := client.Over(transport, "http://this-node", b.tokens[curator])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := bytes.Repeat([]byte("all that is written is kept. "), 100_000)
	if f, err := c.Files().Put(t.Context(), upload1("a.warc.gz", text)); err != nil || f.Size != int64(len(text)) {
		t.Fatalf("%v %+v", err, f)
	}
	b.breakAt = 1_000_000
	var out bytes.Buffer
	if content, err := c.Files().Get(t.Context(), "a.warc.gz", 0, &out); err != nil || !bytes.Equal(out.Bytes(), text) || content.Size != int64(len(text)) || b.breakAt != 0 {
		t.Errorf("%v %d bytes", err, out.Len())
	}
	if _, err := c.Files().Show(t.Context(), "none"); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Files().Show(ctx, "a.warc.gz"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended: %v", err)
	}
	stranger, err := client.Over(transport, "http://this-node", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Files().Show(t.Context(), "a.warc.gz"); status(err) != http.StatusUnauthorized {
		t.Errorf("without a token: %v", err)
	}
}

// Events are followed within the program, and end when who follows them goes.
func TestAStreamInTheProcessEndsWithItsReader(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	reader := as(catalog.RoleReader)
	job, err := as(catalog.RoleCurator).Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	ended := make(chan struct{})
	transport := inprocess.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		b.server.Config.Handler.ServeHTTP(w, r)
	}), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	b.quiet = true // the crawl goes on, and nothing happens
	r := b.request(reader, http.MethodGet, fmt.Sprintf("/jobs/%d/events", job.ID), "").WithContext(ctx)
	answer, err := transport.RoundTrip(r)
	if err != nil || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %+v", err, answer)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if _, err := io.ReadAll(answer.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("read on after the end: %v", err)
	}
}
