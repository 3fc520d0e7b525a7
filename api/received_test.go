package api

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"

	"holdfast/catalog"
	"holdfast/client"
)

// TestANodeWithoutTheCatalogSaysSo asks a node that has joined and received nothing yet: that it knows of no nodes, files or
// jobs does not mean that there are none.
func TestANodeWithoutTheCatalogSaysSo(t *testing.T) {
	t.Parallel()
	b := &backend{t: t, bytes: map[catalog.FileName][]byte{}}
	token := NewToken()
	token.ID = LocalID
	local := func() (catalog.AccessToken, error) {
		return catalog.AccessToken{ID: LocalID, Name: "local", SecretHash: token.Hash(), Role: catalog.RoleAdmin}, nil
	}
	server := httptest.NewServer(New(Backend{Catalog: b, Archive: b, Self: b, Local: local, Proofs: Proofs{Audits: fakeAudits{}}, Strays: strays{},
		OwnDisks: ownDisks{}, Crawls: crawls{b}, Ended: ended{}, Reading: Reading{Captures: b, Policy: b.policy, Contents: b}, Index: indexes{}, Invites: b, Secrets: secrets{}}, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, token.String())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, ask := range map[string]func() error{
		"nodes":    func() error { _, err := c.Nodes().List(ctx); return err },
		"replicas": func() error { _, err := c.Replicas().List(ctx); return err },
		"a file":   func() error { _, err := c.Files().Show(ctx, "x.warc"); return err },
		"jobs":     func() error { _, err := c.Jobs().Show(ctx, 1); return err },
		"tokens":   func() error { _, err := c.Tokens().List(ctx); return err },
	} {
		if err := ask(); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st, err := c.Status(ctx); err != nil || st.Healthy || len(st.Problems) == 0 {
		t.Errorf("status: %v, healthy %t, %q", err, st.Healthy, st.Problems)
	}
	stranger, err := client.New(server.URL, NewToken().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Status(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a token that the node cannot know yet: %v", err)
	}
}
