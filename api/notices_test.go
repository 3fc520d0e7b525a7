package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/client"
)

// hooks seals webhooks for nobody in particular.
type hooks struct{}

func (hooks) Hook(url, secret string) (string, string, *agreed.Sealed, error) {
	if url == "" {
		return "", "", nil, fmt.Errorf("%w: no URL", ErrInvalid)
	}
	return "https://hooks.example.org", "whsec_made" + secret, nil, nil
}

func (hooks) Languages() []string { return []string{"en", "da"} }

// An alert is acknowledged by who may, is shown with that, and rests until it is over.
func TestAcknowledgeAnAlert(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	b.must(agreed.Report, agreed.Reporting{Node: self, Raised: []agreed.Raising{{Of: agreed.Of{Kind: "node-away", Subject: "south-1"}, Severity: "bad"}}})
	operator, curator := as(catalog.RoleOperator), as(catalog.RoleCurator)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	away := wire.AlertRef{Kind: "node-away", Subject: "south-1"}
	asked := wire.AcknowledgeRequest{AlertRef: away, Note: "a new board comes", Until: until}
	if _, err := curator.Acknowledge(t.Context(), asked); !isCode(err, 403) {
		t.Errorf("a curator acknowledges what is about a node: %v", err)
	}
	nothing := asked
	nothing.Subject = "nobody"
	if _, err := operator.Acknowledge(t.Context(), nothing); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("an alert that there is not: %v", err)
	}
	got, err := operator.Acknowledge(t.Context(), asked)
	if err != nil || got.By == "" || !got.Until.Equal(until) || got.Note != asked.Note {
		t.Fatalf("%+v, %v", got, err)
	}
	shown := func() *wire.Acknowledgement {
		t.Helper()
		all, err := curator.Alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all.Items {
			if a.Kind == away.Kind && a.Subject == away.Subject {
				return a.Acknowledged
			}
			if a.Acknowledged != nil {
				t.Errorf("%s is acknowledged", a.Text)
			}
		}
		return nil
	}
	b.absent = true
	if all, err := curator.Alerts(t.Context()); err != nil || len(all.Items) == 0 {
		t.Fatal(all, err)
	}
	if err := operator.Withdraw(t.Context(), away); err != nil || shown() != nil {
		t.Errorf("withdrawn: %v, %+v", err, shown())
	}
	if err := operator.Withdraw(t.Context(), away); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("withdrawn twice: %v", err)
	}
	if _, err := operator.Acknowledge(t.Context(), wire.AcknowledgeRequest{AlertRef: away, Note: "x", Until: time.Now().Add(-time.Hour)}); !errors.Is(err, wire.ErrInvalid) {
		t.Errorf("in the past: %v", err)
	}
}

// Addresses are added, shown, changed and removed; a webhook's secret is shown once, its URL never; and only an operator
// lets one be inside.
func TestNoticeAddresses(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	curator, operator := as(catalog.RoleCurator), as(catalog.RoleOperator)
	n := curator.Notices()
	made, err := n.Add(t.Context(), wire.NoticeAddressRequest{Name: "ops", Way: "mail", To: "ops@example.org", NoticeFilter: wire.NoticeFilter{Least: "bad", Kinds: []string{"disk-low"}}})
	if err != nil || made.Language != "en" || made.When != "at-once" || made.To != "ops@example.org" || made.Version != 1 || made.Secret != "" {
		t.Fatalf("%+v, %v", made, err)
	}
	for name, bad := range map[string]wire.NoticeAddressRequest{
		"language":   {Language: "tlh"},
		"zone":       {Zone: "Mars/Olympus"},
		"kind":       {NoticeFilter: wire.NoticeFilter{Kinds: []string{"disc-low"}}},
		"collection": {NoticeFilter: wire.NoticeFilter{Collection: "none"}},
		"place":      {NoticeFilter: wire.NoticeFilter{Place: "nowhere"}},
		"hour":       {When: "daily"},
		"secret":     {Secret: "whsec_x"},
	} {
		bad.Name, bad.Way, bad.To = "bad", "mail", "a@example.org"
		if _, err := n.Add(t.Context(), bad); !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := n.Add(t.Context(), wire.NoticeAddressRequest{Name: "hook", Way: "webhook"}); !errors.Is(err, wire.ErrInvalid) {
		t.Errorf("a webhook without a URL: %v", err)
	}
	inside := wire.NoticeAddressRequest{Name: "hook", Way: "webhook", To: "https://x", Inside: true}
	if _, err := n.Add(t.Context(), inside); !isCode(err, 403) {
		t.Errorf("a curator lets a webhook be inside: %v", err)
	}
	if _, err := operator.Notices().Add(t.Context(), inside); isCode(err, 403) || err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("an operator: %v", err) // the catalog wants what nobody here seals
	}
	look, hour, zone, when := "look", "07:30", "Europe/Copenhagen", "daily"
	set, err := n.Set(t.Context(), "ops", wire.NoticeAddressChange{Version: 1, Least: &look, When: &when, Hour: &hour, Zone: &zone})
	if err != nil || set.Least != "look" || set.Hour != hour || set.Version != 2 || set.Kinds[0] != "disk-low" || set.To != "ops@example.org" {
		t.Errorf("%+v, %v", set, err)
	}
	if _, err := n.Set(t.Context(), "ops", wire.NoticeAddressChange{Version: 1, Least: &look}); !isCode(err, 409) {
		t.Errorf("over another's change: %v", err)
	}
	if all, err := n.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := n.Remove(t.Context(), "ops"); err != nil {
		t.Error(err)
	}
	if _, err := n.Show(t.Context(), "ops"); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A test says what became of it, and never that it was accepted when it was not.
func TestNoticeTest(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	if _, err := c.Notices().Add(t.Context(), wire.NoticeAddressRequest{Name: "ops", Way: "mail", To: "ops@example.org"}); err != nil {
		t.Fatal(err)
	}
	for _, fails := range []string{"no such host", ""} {
		got, err := answered(t, b, c, fails)
		if err != nil || got.Accepted != (fails == "") || got.Reason != fails || got.Node == "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// isCode reports whether the API answered with the status.
func isCode(err error, status int) bool {
	var answer *wire.Error
	return errors.As(err, &answer) && answer.Status == status
}

// answered tests an address while a node delivers.
func answered(t *testing.T, b *backend, c *client.Client, fails string) (wire.NoticeTest, error) {
	t.Helper()
	b.lags = func() {
		var all []agreed.Notice
		err := b.View(func(v catalog.View) error {
			a, err := catalog.NoticesIn(v).Address("ops")
			if err == nil {
				all, err = catalog.NoticesIn(v).Notices(&a)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		for _, n := range all {
			if !n.Ended() {
				b.must(agreed.Claim, agreed.Claiming{Node: self, Notice: n})
				b.must(agreed.Settle, agreed.Outcome{Node: self, Address: "ops", ID: n.ID, Tries: 1, Failed: fails})
			}
		}
	}
	defer func() { b.lags = nil }()
	return c.Notices().Test(t.Context(), "ops")
}
