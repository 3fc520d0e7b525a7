package api

import (
	"net/http"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	subject "holdfast/catalog/people"
)

// Linked accounts are shown to their owner and to administrators, who unlink them; what their groups gave is marked.
func TestLinkedAccounts(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	ctx, local := t.Context(), open(localText)
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	berta := open(b.person("berta", catalog.Giving{Role: catalog.RoleReader}))
	again, err := local.People().InviteAgain(ctx, "berta", wire.AgainRequest{})
	if err != nil {
		t.Fatal(err)
	}
	invitation, err := ParseToken(again.Text)
	if err != nil {
		t.Fatal(err)
	}
	const issuer, account = "https://idp.example.org", "b|1"
	id := subject.IdentityID(issuer, account)
	b.as("person:berta", subject.EnterIdentified, subject.Identification{Invitation: invitation.ID, Issuer: issuer, Subject: account})
	b.as(catalog.Local("north-1"), subject.Regroup, subject.Grouping{Person: "berta", Identity: id,
		Grants: []subject.GroupGrant{{Role: catalog.RoleCurator}}, Until: catalog.At(time.Now().Add(time.Hour))})
	for name, tt := range map[string]struct {
		by   func() (wire.Person, error)
		want int
	}{
		"herself":          {func() (wire.Person, error) { return berta.People().Show(ctx, "berta") }, 1},
		"an administrator": {func() (wire.Person, error) { return anna.People().Show(ctx, "berta") }, 1},
		"of another":       {func() (wire.Person, error) { return berta.People().Show(ctx, "anna") }, 0},
	} {
		p, err := tt.by()
		if err != nil || len(p.Identities) != tt.want || tt.want == 1 && (p.Identities[0].ID != id || p.Identities[0].Subject != account) {
			t.Errorf("%s: %+v %v", name, p.Identities, err)
		}
	}
	carla := open(b.person("carla", catalog.Giving{Role: catalog.RoleOperator}))
	if p, err := carla.People().Show(ctx, "berta"); err != nil || len(p.Identities) != 0 {
		t.Errorf("others see the account: %+v %v", p.Identities, err)
	}
	grants, err := anna.Grants().List(ctx, "berta", false)
	if err != nil || len(grants) != 2 || grants[0].Groups || !grants[1].Groups || grants[1].Until.IsZero() {
		t.Errorf("%+v %v", grants, err)
	}
	if _, err := berta.People().Unlink(ctx, "berta", id, "x"); status(err) != http.StatusForbidden {
		t.Errorf("she unlinks it herself: %v", err)
	}
	if _, err := anna.People().Unlink(ctx, "anna", id, "x"); status(err) != http.StatusNotFound {
		t.Errorf("of somebody else: %v", err)
	}
	p, err := anna.People().Unlink(ctx, "berta", id, "x")
	if err != nil || len(p.Identities) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	if grants, err = anna.Grants().List(ctx, "berta", false); err != nil || len(grants) != 1 || grants[0].Groups {
		t.Errorf("after it: %+v %v", grants, err)
	}
}
