package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/rules"
	"holdfast/cdx"
	"holdfast/client"
)

// policy is the catalog's rules, read for each answer.
func (b *backend) policy() (now access.InForce, err error) {
	if b.noPolicy {
		return now, errors.New("the rules are not known")
	}
	return now, b.View(func(v catalog.View) error {
		p, all, err := catalog.RulesIn(v).Policy()
		now.Compiled = p.Compile()
		for i := range all {
			now.Numbers = append(now.Numbers, all[i].Number)
		}
		return err
	})
}

// Closed looks at the captures of a file.
func (b *backend) Closed(_ context.Context, file catalog.File, sight *access.Sight) (string, error) {
	for _, c := range b.captures {
		if c.File == string(file.Name) && sight.Decide(c.Key, c.Timestamp).Access != access.Allow {
			return "something in it may not be shown to you", nil
		}
	}
	return "", nil
}

func toldOf(t *testing.T, c *client.Client) (out []string) {
	t.Helper()
	for one, err := range c.Captures(t.Context(), cdx.Query{URL: "http://example.org/", Match: cdx.Host}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one.Key)
	}
	return out
}

// TestRulesDecideInTheAPI: rules are kept by curators, and hold for captures and files.
func TestRulesDecideInTheAPI(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	ctx, curator, reader, operator := t.Context(), as(catalog.RoleCurator), as(catalog.RoleReader), as(catalog.RoleOperator)
	text := []byte("bytes of an archive")
	for _, name := range []string{"closed.warc", "open.warc"} {
		if _, err := curator.Files().Put(ctx, upload1(name, text)); err != nil {
			t.Fatal(err)
		}
	}
	b.captures = []cdx.Capture{{Key: "org,example)/a", Timestamp: "20260101000000", File: "open.warc"},
		{Key: "org,example)/secret", Timestamp: "20260101000000", File: "closed.warc"}}
	if got := toldOf(t, reader); len(got) != 2 {
		t.Fatalf("without rules: %v", got)
	}
	if _, err := client.AccessOf(reader).Add(ctx, wire.AccessRuleText{URL: "*", Access: "allow"}); status(err) != http.StatusForbidden {
		t.Errorf("a reader adds a rule: %v", err)
	}
	added, err := client.AccessOf(curator).Add(ctx,
		wire.AccessRuleText{URL: "http://www.example.org/secret*", Access: "exclude", Reason: "case 7"},
		wire.AccessRuleText{Prefix: "org,example)/secret", Role: "operator", Access: "allow"})
	if err != nil || added != (wire.AccessRulesAdded{First: 1, Last: 2}) {
		t.Fatalf("%+v, %v", added, err)
	}
	if got := toldOf(t, reader); len(got) != 1 || got[0] != "org,example)/a" {
		t.Errorf("a reader is told of %v", got)
	}
	if got := toldOf(t, operator); len(got) != 2 {
		t.Errorf("an operator is told of %v", got)
	}
	var out bytes.Buffer
	if _, err := reader.Files().Get(ctx, "closed.warc", 0, &out); status(err) != http.StatusUnavailableForLegalReasons || out.Len() > 0 {
		t.Errorf("a reader gets a file in which something is closed: %v, %q", err, out.String())
	}
	for _, name := range []string{"open.warc"} {
		if _, err := reader.Files().Get(ctx, name, 0, &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := operator.Files().Get(ctx, "closed.warc", 0, &out); err != nil {
		t.Errorf("an operator: %v", err)
	}
	for _, header := range []string{"Range: bytes=0-3", "If-None-Match: *", "Accept: */*"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, err := http.NewRequest(method, b.server.URL+"/api/v1/files/closed.warc/content", nil)
			if err != nil {
				t.Fatal(err)
			}
			name, value, _ := strings.Cut(header, ": ")
			req.Header.Set(name, value)
			req.Header.Set("Authorization", "Bearer "+b.tokens[reader])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnavailableForLegalReasons && !(method == http.MethodHead && resp.StatusCode == http.StatusMethodNotAllowed) || resp.Header.Get("ETag") != "" {
				t.Errorf("%s with %s: %d %v", method, header, resp.StatusCode, resp.Header)
			}
		}
	}
	id := uint64(1)
	b.must(catalog.CreateJob, catalog.JobCreation{Harvest: "daily", Collection: "web", Submit: true,
		Spec: []byte("{}")})
	for what, ask := range map[string]func(*client.Client) error{
		"log": func(c *client.Client) error { return c.Jobs().Log(ctx, id, 10, io.Discard) },
		"index": func(c *client.Client) error {
			_, err := c.Jobs().Index(ctx, wire.JobIndexFull, []uint64{id}, io.Discard)
			return err
		},
	} {
		if err := ask(reader); status(err) != http.StatusUnavailableForLegalReasons {
			t.Errorf("a reader gets the %s of a job: %v", what, err)
		}
		if err := ask(curator); status(err) == http.StatusUnavailableForLegalReasons {
			t.Errorf("a curator does not get the %s of a job: %v", what, err)
		}
	}
	for c, want := range map[*client.Client]bool{reader: true, operator: false} {
		var records bytes.Buffer
		if err := c.Jobs().Records(ctx, id, "", "", &records); err != nil || strings.Contains(records.String(), "without the secret") != want {
			t.Errorf("records of a job: %q, %v", records.String(), err)
		}
	}
	verdict, err := client.AccessOf(curator).Test(ctx, client.AccessQuestion{URL: "https://example.org/secret/1", Date: "2020"})
	if err != nil || verdict.Access != "exclude" || verdict.Rule == nil || verdict.Rule.Number != 1 || verdict.Rule.Reason != "case 7" ||
		verdict.Timestamp != "20200101000000" || verdict.Rules != 2 {
		t.Errorf("%+v, %v", verdict, err)
	}
	for q, want := range map[client.AccessQuestion]int{{URL: "http://"}: 422, {URL: "http://a.org/", Date: "x"}: 422,
		{URL: "http://a.org/", Address: "here"}: 422, {URL: "http://a.org/", Role: "king"}: 422} {
		if _, err := client.AccessOf(curator).Test(ctx, q); status(err) != want {
			t.Errorf("%+v: %v", q, err)
		}
	}
	b.noPolicy = true
	for _, err := range curator.Captures(ctx, cdx.Query{URL: "http://example.org/"}) {
		if status(err) != http.StatusServiceUnavailable {
			t.Errorf("without a policy: %v", err)
		}
	}
	if _, err := operator.Files().Get(ctx, "open.warc", 0, &out); status(err) != http.StatusServiceUnavailable {
		t.Errorf("without a policy: %v", err)
	}
}

// TestRulesAreKeptThroughTheAPI lists, changes and removes them, and refuses bad ones.
func TestRulesAreKeptThroughTheAPI(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	ctx, curator, reader := t.Context(), as(catalog.RoleCurator), as(catalog.RoleReader)
	for name, bad := range map[string]wire.AccessRuleText{
		"two ways to say of what": {URL: "http://a.org/", Prefix: "org,a", Access: "block"}, "no URL": {URL: "http://", Access: "block"},
		"no decision": {URL: "*"}, "no date": {URL: "*", Access: "block", From: "soon"}, "no period": {URL: "*", Access: "block", Newer: "1"},
		"no range": {URL: "*", Access: "block", Addresses: []string{"10.0.0.1/8"}}, "no role": {URL: "*", Access: "block", Role: "king"},
		"two lines": {URL: "*", Access: "block", Message: "a\nb"},
	} {
		if _, err := client.AccessOf(curator).Add(ctx, wire.AccessRuleText{URL: "*", Access: "allow"}, bad); status(err) != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", name, err)
		}
	}
	var texts []wire.AccessRuleText
	for _, url := range []string{"http://a.org/x", "*.a.org", "http://b.org/*"} {
		texts = append(texts, wire.AccessRuleText{URL: url, Access: "block", Message: "for " + url})
	}
	if _, err := client.AccessOf(curator).Add(ctx, texts...); err != nil {
		t.Fatal(err)
	}
	numbers := func(about, search string) (out []uint64) {
		for r, err := range client.AccessOf(curator).List(ctx, about, search) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, r.Number)
		}
		return out
	}
	if got := numbers("", ""); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := numbers("http://www.a.org/x", ""); len(got) != 2 {
		t.Errorf("about a URL: %v", got)
	}
	if got := numbers("", "FOR HTTP://B"); len(got) != 1 || got[0] != 3 {
		t.Errorf("with a text: %v", got)
	}
	change := wire.AccessRuleChange{Version: 1, AccessRuleText: wire.AccessRuleText{Prefix: "org,c", Access: "exclude"}}
	if r, err := client.AccessOf(curator).Change(ctx, 2, change); err != nil || r.Prefix != "org,c" || r.Version != 2 || r.ChangedBy == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := client.AccessOf(curator).Change(ctx, 2, change); status(err) != http.StatusConflict {
		t.Errorf("a change of an old version: %v", err)
	}
	refs := []wire.AccessRuleRef{{Number: 1}, {Number: 9}}
	if err := client.AccessOf(curator).Remove(ctx, wire.AccessRulesRemoval{Rules: refs}); status(err) != http.StatusNotFound {
		t.Errorf("one that is not there: %v", err)
	}
	if err := client.AccessOf(curator).Remove(ctx, wire.AccessRulesRemoval{Rules: refs[:1], Reason: "settled"}); err != nil {
		t.Error(err)
	}
	if _, err := client.AccessOf(curator).Show(ctx, 1); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("a removed rule: %v", err)
	}
	for c, want := range map[*client.Client]bool{curator: true, reader: false} {
		for e, err := range c.Trail().Find(ctx, client.EventQuery{Act: string(agreed.Remove)}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(e.Detail, "org,a") != want {
				t.Errorf("the trail says %q", e.Detail)
			}
		}
	}
}
