package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/client"
)

func codeOf(err error) wire.Code {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// TestAChangeOfWhatSomebodyElseChanged lets two people change what both have seen: the second one is told, also if the
// first change is decided while the second is under way.
func TestAChangeOfWhatSomebodyElseChanged(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(localText)
	if _, err := c.Domains().Create(t.Context(), wire.DomainRequest{Name: "a.org"}); err != nil {
		t.Fatal(err)
	}
	invited, err := c.People().Invite(t.Context(), wire.PersonRequest{Name: "Ann", Mail: "ann@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	for what, tt := range map[string]struct {
		look   func(*client.Note) error
		change func(version, to string) error
	}{
		"domain": {func(n *client.Note) error {
			_, err := c.Domains().Show(client.Noting(t.Context(), n), "a.org")
			return err
		}, func(version, to string) error {
			_, err := c.Domains().Set(client.If(t.Context(), version), "a.org", wire.DomainChange{Comments: &to})
			return err
		}},
		"channel": {func(n *client.Note) error {
			_, err := c.Channels().Show(client.Noting(t.Context(), n), "FOCUSED")
			return err
		}, func(version, to string) error {
			_, err := c.Channels().Set(client.If(t.Context(), version), "FOCUSED", wire.ChannelChange{Comment: to})
			return err
		}},
		"person": {func(n *client.Note) error {
			_, err := c.People().Show(client.Noting(t.Context(), n), invited.Person.ID)
			return err
		}, func(version, to string) error {
			_, err := c.People().Set(client.If(t.Context(), version), invited.Person.ID, wire.PersonChange{Institution: text(to)})
			return err
		}},
	} {
		var seen, after client.Note
		if err := tt.look(&seen); err != nil || len(seen.Version) != 32 {
			t.Fatalf("%s: %+v %v", what, seen, err)
		}
		if err := tt.change(seen.Version, "one"); err != nil {
			t.Errorf("%s: the first change: %v", what, err)
		}
		if err := tt.change(seen.Version, "two"); codeOf(err) != wire.CodeStale || status(err) != http.StatusPreconditionFailed {
			t.Errorf("%s: the second change: %v", what, err)
		}
		if err := tt.look(&after); err != nil || after.Version == seen.Version {
			t.Errorf("%s: the version stays: %v", what, err)
		}
		b.between = func() {
			if err := tt.change("", "meanwhile"); err != nil {
				t.Errorf("%s: meanwhile: %v", what, err)
			}
		}
		if err := tt.change(after.Version, "three"); codeOf(err) != wire.CodeStale {
			t.Errorf("%s: a change while another one is decided: %v", what, err)
		}
		if err := tt.change(strings.Repeat("z", 32), "four"); status(err) != http.StatusBadRequest {
			t.Errorf("%s: no version: %v", what, err)
		}
	}
	if _, err := c.Jobs().Wish(client.If(t.Context(), strings.Repeat("a", 32)), 1, wire.WishPause, ""); status(err) != http.StatusBadRequest {
		t.Errorf("what has no version: %v", err)
	}
}

// TestARequestActsOnce sends requests again under their names.
func TestARequestActsOnce(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(localText)
	ctx := client.Once(t.Context(), "form-1")
	for i := range 3 {
		job, err := c.Jobs().Create(ctx, wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
		if err != nil || job.ID != 1 {
			t.Errorf("time %d: job %d, %v", i, job.ID, err)
		}
	}
	if _, err := c.Jobs().Create(ctx, wire.JobRequest{Name: "other", Seeds: []string{"http://127.0.0.1/"}}); codeOf(err) != wire.CodeConflict {
		t.Errorf("another request of that name: %v", err)
	}
	if job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil || job.ID != 2 {
		t.Errorf("without a name: job %d, %v", job.ID, err)
	}
	ctx = client.Once(t.Context(), "form-2")
	in := wire.PersonRequest{Name: "Ann", Mail: "ann@example.org"}
	if _, err := c.People().Invite(ctx, in); err != nil {
		t.Fatal(err)
	}
	if got, err := c.People().Invite(ctx, in); codeOf(err) != wire.CodeRepeated || got.Text != "" {
		t.Errorf("an invitation that was made: %+v %v", got, err)
	}
	for name, want := range map[string]int{"a b": http.StatusBadRequest, strings.Repeat("n", 201): http.StatusBadRequest, "\xe4": http.StatusBadRequest} {
		if _, err := c.Jobs().Create(client.Once(t.Context(), name), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); status(err) != want {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	for _, headers := range []http.Header{{"Idempotency-Key": {""}}, {"Idempotency-Key": {"a", "b"}}, {"If-Match": {"*", "*"}}} {
		r := b.request(c, http.MethodPatch, "/channels/FOCUSED", `{"comment":"c"}`)
		for name, values := range headers {
			r.Header[name] = values
		}
		if code, text := b.ask(r); code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", headers, code, text)
		}
	}
	if _, err := c.Audits().Start(client.Once(t.Context(), "form-3"), wire.AuditRequest{}); status(err) != http.StatusBadRequest {
		t.Errorf("what acts each time takes a name: %v", err)
	}
	_, open = clusterOf(t, agree.LevelOfGuards-1)
	if _, err := open(localText).Jobs().Create(ctx, wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); codeOf(err) != wire.CodeUnsupported {
		t.Errorf("a cluster that cannot: %v", err)
	}
}
