package node

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/access"
	"holdfast/catalog"
	"holdfast/catalog/rules"
	"holdfast/node/config"
	"holdfast/node/policy"
)

// TestRulesAreInForceEverywhere adds a rule at one of three nodes: within five seconds each decides by it. The node that
// is left alone goes on by it, says so, and refuses readers after its time.
func TestRulesAreInForceEverywhere(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	for i := range cfgs {
		cfgs[i].Limits.AccessAge = config.Duration(10 * time.Second)
	}
	nodes := startNodes(t, cfgs)
	says := func(n running) string {
		now, err := n.policy.InForce()
		switch {
		case errors.Is(err, policy.ErrUnknown):
			return "unknown"
		case err != nil:
			return err.Error()
		}
		out := string(now.For(access.Who{At: time.Now()}).Decide("org,example)/", "20260101000000").Access)
		if !now.Unconfirmed.IsZero() {
			out += ", unconfirmed"
		}
		return out
	}
	within := func(limit time.Duration, n running, want string) {
		t.Helper()
		got := ""
		for began := time.Now(); time.Since(began) < limit; time.Sleep(50 * time.Millisecond) {
			if got = says(n); got == want {
				return
			}
		}
		t.Errorf("%s says %s, want %s within %s", n.cfg.Name, got, want, limit)
	}
	for _, n := range nodes {
		within(20*time.Second, n, "allow")
	}
	adding := rules.Adding{Rules: []rules.Asked{{Rule: access.Rule{Prefix: "org,example", Access: access.Block}}}}
	if err := nodes[1].agreed.Decide(t.Context(), rules.Add, adding, catalog.Local(nodes[1].id)); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		within(5*time.Second, n, "block")
	}
	nodes[1].halt(t)
	nodes[2].halt(t)
	within(8*time.Second, nodes[0], "block, unconfirmed")
	page := fmt.Sprintf("http://%s/web/2026/http://example.org/", nodes[0].cfg.Listen.Access)
	ask := func() *http.Response {
		t.Helper()
		resp, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	if resp := ask(); resp.Header.Get("X-Archive-Policy-Unconfirmed-Since") == "" {
		t.Errorf("readers are not told: %d %v", resp.StatusCode, resp.Header)
	}
	within(30*time.Second, nodes[0], "unknown")
	if resp := ask(); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("X-Archive-Policy-Unconfirmed-Since") != "" {
		t.Errorf("readers are answered: %d %v", resp.StatusCode, resp.Header)
	}
}
