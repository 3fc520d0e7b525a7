package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// pendingOf returns the number of the proposal that was made of an act that waits.
func pendingOf(t *testing.T, err error) uint64 {
	t.Helper()
	var asked *wire.Error
	if !errors.As(err, &asked) || asked.Code != wire.CodePending || asked.Status != http.StatusConflict || len(asked.Pending) != 1 {
		t.Fatalf("it is not said that it waits: %v", err)
	}
	return uint64(asked.Pending[0] - '0')
}

// remove removes the file as somebody does who confirms what is said.
func remove(t *testing.T, c *client.Client) error {
	t.Helper()
	r := wire.FileRemoval{SHA256: catalog.Digest{1}.String(), Reason: "broken seed"}
	var asked *wire.Error
	if err := c.Files().Remove(t.Context(), "a.warc", r); !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed {
		t.Fatalf("it is not said what would happen: %v", err)
	}
	r.Confirm = asked.Confirm
	return c.Files().Remove(t.Context(), "a.warc", r)
}

// TestAnActWaitsForASecondPerson goes the whole way by the API, with every token that is not a second person's.
func TestAnActWaitsForASecondPerson(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx := t.Context()
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "web", Source: self}}})
	anna, berta := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin})), open(b.person("berta", catalog.Giving{Role: catalog.RoleAdmin}))
	clara := open(b.person("clara", catalog.Giving{Role: catalog.RoleOperator}))
	ask := wire.ApprovalRuleRequest{Acts: []string{"file-remove", "copy-state"}, Limit: "48h", Reason: "from now on"}
	if _, err := clara.Approvals().SetRule(ctx, ask); status(err) != http.StatusForbidden {
		t.Errorf("an operator sets the rule: %v", err)
	}
	rule, err := anna.Approvals().SetRule(ctx, ask)
	if err != nil || !slices.Equal(rule.Acts, ask.Acts) || rule.Limit != "48h0m0s" || rule.ByName != "anna" || rule.Version != 1 {
		t.Fatalf("%+v %v", rule, err)
	}
	number := pendingOf(t, remove(t, anna))
	if f, err := anna.Files().Show(ctx, "a.warc"); err != nil || !f.Removed.IsZero() {
		t.Fatalf("%+v %v", f, err)
	}
	p, err := berta.Approvals().Show(ctx, number)
	if err != nil || p.State != "waiting" || p.Subject != "a.warc" || p.Files != 1 || p.Bytes != 3 || p.PersonName != "anna" || p.Reason != "broken seed" ||
		p.Until.Sub(p.Made) != 48*time.Hour || !strings.Contains(strings.Join(p.Effects, " "), "it can be restored for 30 days") || p.Parameters["sha256"] != p.SHA256 {
		t.Errorf("%+v %v", p, err)
	}
	program := func(c *client.Client, role wire.Role, itself bool) *client.Client {
		t.Helper()
		made, err := c.Tokens().Create(ctx, wire.AccessTokenRequest{Name: "t", Role: role, Program: !itself})
		if err != nil {
			t.Fatal(err)
		}
		return open(made.Text)
	}
	yes := wire.ApprovalDecision{Sum: p.Sum, Reason: "seen"}
	for what, c := range map[string]*client.Client{"herself": anna, "another token of hers": program(anna, wire.RoleAdmin, true), "her program": program(anna, wire.RoleAdmin, false),
		"a second person's program": program(berta, wire.RoleAdmin, false), "a second person with a reader's token": program(berta, wire.RoleReader, true),
		"an operator": clara, "the local token": open(localText)} {
		if _, err := c.Approvals().Grant(ctx, number, yes); status(err) != http.StatusForbidden {
			t.Errorf("%s grants: %v", what, err)
		}
	}
	if _, err := open(localText).Approvals().Withdraw(ctx, number, yes); status(err) != http.StatusForbidden {
		t.Errorf("somebody else withdraws: %v", err)
	}
	if _, err := berta.Approvals().Grant(ctx, number, wire.ApprovalDecision{Sum: strings.Repeat("0", 64)}); status(err) != http.StatusConflict {
		t.Errorf("another proposal is granted: %v", err)
	}
	if err := remove(t, open(localText)); status(err) != http.StatusForbidden {
		t.Errorf("the local token removes or proposes: %v", err)
	}
	if p, err = berta.Approvals().Grant(ctx, number, yes); err != nil || p.State != "granted" || p.DecidedByName != "berta" {
		t.Fatalf("%+v %v", p, err)
	}
	if f, err := anna.Files().Show(ctx, "a.warc"); err != nil || f.Removed.IsZero() {
		t.Errorf("granted, and not carried out: %+v %v", f, err)
	}
	if _, err := berta.Approvals().Grant(ctx, number, yes); status(err) != http.StatusConflict {
		t.Errorf("granted twice: %v", err)
	}
	// The rule's change waits, too; what is denied is not done.
	_, err = anna.Approvals().SetRule(ctx, wire.ApprovalRuleRequest{Acts: []string{}, Version: 1, Reason: "off"})
	number = pendingOf(t, err)
	if p, err = berta.Approvals().Show(ctx, number); err != nil || !strings.Contains(p.Effects[0], "NOTHING WAITS") {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = berta.Approvals().Deny(ctx, number, wire.ApprovalDecision{Sum: p.Sum, Reason: "no"}); err != nil || p.State != "denied" || p.Why != "no" {
		t.Errorf("%+v %v", p, err)
	}
	if rule, err = anna.Approvals().Rule(ctx); err != nil || rule.Version != 1 {
		t.Errorf("%+v %v", rule, err)
	}
	waiting, err := clara.Approvals().List(ctx, true)
	all, other := clara.Approvals().List(ctx, false)
	if err != nil || other != nil || len(waiting) != 0 || len(all) != 2 {
		t.Errorf("%d wait of %d; %v, %v", len(waiting), len(all), err, other)
	}
}

// TestAProposalIsShownAsItIs: one that has expired or gone stale is not listed as one that waits. A request that is sent
// again proposes once.
func TestAProposalIsShownAsItIs(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx := t.Context()
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "web", Source: self}}})
	b.holdAll()
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	b.person("berta", catalog.Giving{Role: catalog.RoleAdmin})
	if _, err := anna.Approvals().SetRule(ctx, wire.ApprovalRuleRequest{Acts: []string{"copy-state"}, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := b.request(anna, http.MethodPost, "/files/a.warc/state", `{"replica":"north","state":"UPLOAD_STARTED","reason":"x","sha256":"`+catalog.Digest{1}.String()+`"}`)
		r.Header.Set("Idempotency-Key", "one")
		if code, text := b.ask(r); code != http.StatusConflict || !strings.Contains(text, "approval-waits") || !strings.Contains(text, `"value":"1"`) {
			t.Errorf("%d %s", code, text)
		}
	}
	if all, err := anna.Approvals().List(ctx, false); err != nil || len(all) != 1 || all[0].State != "waiting" || all[0].Replica != "north" {
		t.Errorf("%+v %v", all, err)
	}
	b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: "a.warc", State: catalog.UploadFailed, Reason: "disk"}}})
	if p, err := anna.Approvals().Show(ctx, 1); err != nil || p.State != "stale" {
		t.Errorf("%+v %v", p, err)
	}
	b.later = 8 * 24 * time.Hour
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	if p, err := anna.Approvals().Show(ctx, 1); err != nil || p.State != "expired" {
		t.Errorf("%+v %v", p, err)
	}
	if waiting, err := anna.Approvals().List(ctx, true); err != nil || len(waiting) != 0 {
		t.Errorf("%+v %v", waiting, err)
	}
}

// TestADeletionFromAQuarantineWaits: what the node would delete is said, and nothing is asked of it before the grant.
func TestADeletionFromAQuarantineWaits(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx := t.Context()
	anna, berta := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin})), open(b.person("berta", catalog.Giving{Role: catalog.RoleAdmin}))
	if _, err := anna.Approvals().SetRule(ctx, wire.ApprovalRuleRequest{Acts: []string{"quarantine-delete"}, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	const id = "gone.warc.20260101000000000"
	number := pendingOf(t, anna.Files().DeleteAside(ctx, "north-1", id, wire.AsideRemoval{SHA256: catalog.Digest{1}.String(), Reason: "wrong bytes"}))
	asked := func() (n int) {
		t.Helper()
		if err := b.View(func(v catalog.View) error {
			all, err := v.Discards(self, 0)
			n = len(all)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	p, err := berta.Approvals().Show(ctx, number)
	if err != nil || p.Act != "quarantine-delete" || p.Subject != "north-1/"+id || p.SHA256 != (catalog.Digest{1}).String() ||
		!strings.Contains(p.Effects[0], "deleted for ever") || p.Parameters["aside"] != id || asked() != 0 {
		t.Errorf("%+v %v, %d deletions are asked for", p, err, asked())
	}
	if p, err = berta.Approvals().Grant(ctx, number, wire.ApprovalDecision{Sum: p.Sum}); err != nil || p.State != "granted" || asked() != 1 {
		t.Errorf("%+v %v, %d deletions are asked for", p, err, asked())
	}
}
