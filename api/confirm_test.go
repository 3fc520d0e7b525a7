package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// removeNode removes a node as somebody does who confirms whatever is said.
func removeNode(t *testing.T, c *Client, name string, r Removal) error {
	t.Helper()
	err := c.RemoveNode(t.Context(), name, r)
	var asked *Error
	if !errors.As(err, &asked) || asked.Code != CodeUnconfirmed || status(err) != http.StatusPreconditionRequired || asked.Confirm == "" {
		t.Fatalf("it is not said what would happen: %v", err)
	}
	r.Confirm = asked.Confirm
	return c.RemoveNode(t.Context(), name, r)
}

// One call does not remove a node: it says what would happen, the loss of the quorum above all.
func TestARemovalSaysWhatItDoesFirst(t *testing.T) {
	b, client := cluster(t)
	c := client(catalog.RoleAdmin)
	err := c.RemoveNode(t.Context(), "north-1", Removal{Lost: true, Reason: "x"})
	var asked *Error
	if !errors.As(err, &asked) || asked.Code != CodeUnconfirmed {
		t.Fatal(err)
	}
	for _, want := range []string{"it is the node that answers", "replica north has no node any more", "CANNOT DECIDE", "counts as lost"} {
		if !slices.ContainsFunc(asked.Fields, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%q is not said: %q", want, asked.Fields)
		}
	}
	// What confirms one act does not confirm another.
	if err := c.RemoveNode(t.Context(), "north-1", Removal{Reason: "x", Confirmation: Confirmation{asked.Confirm}}); status(err) != http.StatusPreconditionRequired {
		t.Error(err)
	}
	nodes, err := c.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Errorf("%v %v", nodes, err)
	}
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "web", Source: self}}})
	sum := catalog.Digest{1}.String()
	err = c.RemoveFile(t.Context(), "a.warc", FileRemoval{SHA256: sum, Reason: "x"})
	if !errors.As(err, &asked) || asked.Code != CodeUnconfirmed {
		t.Fatal(err)
	}
	if f, err := c.File(t.Context(), "a.warc"); err != nil || !f.Removed.IsZero() {
		t.Errorf("%+v %v", f, err)
	}
	if err := c.RemoveFile(t.Context(), "a.warc", FileRemoval{SHA256: sum, Reason: "x", Confirmation: Confirmation{asked.Confirm}}); err != nil {
		t.Error(err)
	}
}

// What confirms the removal of a node does not confirm that of another which has its name, nor of itself once it has joined anew.
func TestAConfirmationIsOfOneNode(t *testing.T) {
	ask := func(given, which string) (said string) {
		t.Helper()
		var p *huma.ErrorModel
		if err := confirmed(given, "remove node", "north-1", which, []string{"it stops"}); err != nil && errors.As(err, &p) {
			said, _ = p.Errors[len(p.Errors)-1].Value.(string)
		} else if err != nil {
			t.Fatal(err)
		}
		return said
	}
	value := ask("", "id-1 joined first")
	if ask(value, "id-1 joined first") != "" {
		t.Error("what was said does not confirm")
	}
	for _, other := range []string{"id-2 joined first", "id-1 joined again"} {
		if ask(value, other) == "" {
			t.Errorf("it confirms the removal of %s, too", other)
		}
	}
}
