package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/client"
	"holdfast/internal/inprocess"
)

// TestRulesAboutAddressesWithinTheProgram: of a request within the program, as of the pages, nobody knows the address of who
// reads. A rule that closes for some addresses closes for it, and one that opens for some opens nothing.
func TestRulesAboutAddressesWithinTheProgram(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	ctx, curator, reader, operator := t.Context(), as(catalog.RoleCurator), as(catalog.RoleReader), as(catalog.RoleOperator)
	for _, name := range []string{"open.warc", "kept-out.warc", "let-in.warc"} {
		if _, err := curator.Files().Put(ctx, upload1(name, []byte("bytes of "+name))); err != nil {
			t.Fatal(err)
		}
		b.captures = append(b.captures, cdx.Capture{Key: "org,example)/" + name, Timestamp: "20260101000000", File: name})
	}
	if _, err := client.AccessOf(curator).Add(ctx,
		wire.AccessRuleText{Prefix: "org,example)/kept-out", Addresses: []string{"192.0.2.0/24"}, Access: "exclude"},
		wire.AccessRuleText{Prefix: "org,example)/let-in", Access: "exclude"},
		wire.AccessRuleText{Prefix: "org,example)/let-in.warc", Addresses: []string{"127.0.0.0/8", "::1"}, Access: "allow"}); err != nil {
		t.Fatal(err)
	}
	transport := inprocess.New(b.server.Config.Handler, slog.New(slog.DiscardHandler))
	for who, over := range map[string]*client.Client{"a reader": reader, "an operator": operator} {
		within, err := client.Over(transport, "http://127.0.0.1:7481", b.tokens[over])
		if err != nil {
			t.Fatal(err)
		}
		for where, tt := range map[string]struct {
			as   *client.Client
			told []string
		}{
			"by this machine's address": {over, []string{"kept-out.warc", "let-in.warc", "open.warc"}},
			"within the program":        {within, []string{"open.warc"}},
		} {
			got := toldOf(t, tt.as)
			for i := range got {
				got[i] = got[i][len("org,example)/"):]
			}
			if slices.Sort(got); !slices.Equal(got, tt.told) {
				t.Errorf("%s, %s: is told of %v, want %v", who, where, got, tt.told)
			}
			for _, name := range []string{"open.warc", "kept-out.warc", "let-in.warc"} {
				var out bytes.Buffer
				_, err := tt.as.Files().Get(ctx, name, 0, &out)
				if may := slices.Contains(tt.told, name); may != (err == nil) || may == (out.Len() == 0) || !may && status(err) != http.StatusUnavailableForLegalReasons {
					t.Errorf("%s, %s: %s: %v, %q", who, where, name, err, out.String())
				}
			}
		}
		within.Close()
	}
}
