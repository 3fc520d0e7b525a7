package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// TestTokensAreListedByWhatTheyAre makes tokens of two people and lists them, for an administrator and for one of them.
func TestTokensAreListedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	admin := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleCurator}))
	made := map[string]string{}
	for _, one := range []struct {
		of   *client.Client
		name string
	}{{admin, "Robot one"}, {berta, "robot two"}, {berta, "Sweeper"}} {
		b.later += time.Minute
		token, err := one.of.Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: one.name, Role: wire.RoleReader, Program: true})
		if err != nil {
			t.Fatal(err)
		}
		made[one.name] = token.ID
	}
	if err := berta.Tokens().Revoke(t.Context(), made["Sweeper"]); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		by   *client.Client
		of   client.TokenQuery
		want string
	}{
		{admin, client.TokenQuery{Kind: "program", Newest: true}, "Sweeper|robot two|Robot one"}, {admin, client.TokenQuery{Search: "ROBOT", Newest: true}, "robot two|Robot one"},
		{admin, client.TokenQuery{Owner: "berta", Kind: "program", Newest: true}, "Sweeper|robot two"}, {admin, client.TokenQuery{Owner: "nobody"}, ""},
		{admin, client.TokenQuery{State: "revoked", Kind: "program"}, "Sweeper"}, {admin, client.TokenQuery{State: "open", Kind: "program", Newest: true}, "robot two|Robot one"},
		{admin, client.TokenQuery{State: "expired"}, ""}, {admin, client.TokenQuery{Search: "berta", Kind: "program", Newest: true}, "Sweeper|robot two"},
		{berta, client.TokenQuery{Kind: "program", Newest: true}, "Sweeper|robot two"}, {berta, client.TokenQuery{Owner: "anna"}, ""}, {berta, client.TokenQuery{Search: "Robot one"}, ""},
	} {
		var got []string
		for token, err := range tt.by.Tokens().Find(t.Context(), tt.of) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, token.Name)
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.of, got, tt.want)
		}
	}
	whole, err := admin.Tokens().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"id", "newest"} {
		seen := map[string]bool{}
		for after, pages := "", 0; ; pages++ {
			code, text := b.ask(b.request(admin, http.MethodGet, "/access-tokens?limit=2&sort="+order+"&after="+after, ""))
			page := decoded[wire.Page[wire.AccessToken]](t, text)
			if code != http.StatusOK || len(page.Items) > 2 || pages > len(whole) {
				t.Fatal(code, text)
			}
			for _, token := range page.Items {
				if seen[token.ID] {
					t.Errorf("%s is listed twice", token.Name)
				}
				seen[token.ID] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if len(seen) != len(whole) {
			t.Errorf("by %s: %d tokens, want %d", order, len(seen), len(whole))
		}
	}
	for query, want := range map[string]int{"?after=t-eA&kind=program": 200, "?state=ended": 422, "?sort=name": 422, "?state=": 422} {
		if code, text := b.ask(b.request(admin, http.MethodGet, "/access-tokens"+query, "")); code != want {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
}

// decoded reads an answer.
func decoded[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}
