package pages

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
	"holdfast/node/config"
	"holdfast/node/openid"
	"holdfast/node/session"
	"holdfast/web"
)

// Groups give what the table says, each thing once, and nothing by names that are like them.
func TestWhatAnAnswerIsWorth(t *testing.T) {
	i := institution{place: "Northtown", OpenID: config.OpenID{Create: true, Groups: []config.GroupRule{
		{Group: "archivists", Role: "curator", Collection: "web"}, {Group: "boss", Role: "curator", Collection: "web"},
		{Group: "machines", Role: "operator", Place: "Northtown"}, {Group: "boss", Role: "admin"}}}}
	curates := people.GroupGrant{Role: catalog.RoleCurator, Collection: "web"}
	operates := people.GroupGrant{Role: catalog.RoleOperator, Place: "Northtown"}
	for name, tt := range map[string]struct {
		groups []string
		want   []people.GroupGrant
	}{
		"none":             {nil, nil},
		"one":              {[]string{"archivists", "staff"}, []people.GroupGrant{curates}},
		"several":          {[]string{"machines", "archivists", "boss"}, []people.GroupGrant{curates, operates, {Role: catalog.RoleAdmin}}},
		"others like them": {[]string{"Boss", "boss ", "bos", "", "archivists,boss"}, nil},
	} {
		got := i.proof(openid.Answer{Issuer: "https://idp", Subject: "s", Name: "Anna", Mail: "a@x.org", Groups: tt.groups})
		if !slices.Equal(got.Grants, tt.want) || got.Issuer != "https://idp" || got.Subject != "s" || got.Newcomer.Mail != "a@x.org" || got.Newcomer.Institution != "Northtown" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := i.proof(openid.Answer{Mail: "a@x.org", MailDoubtful: true}); got.Newcomer.Mail != "" {
		t.Errorf("an address that the service has not verified: %q", got.Newcomer.Mail)
	}
	i.Create = false
	if got := i.proof(openid.Answer{Name: "Anna", Groups: []string{"boss"}}); got.Newcomer != nil {
		t.Errorf("made a person: %+v", got.Newcomer)
	}
}

// Each reason is one that the pages have words for.
func TestErrorsOfSigningIn(t *testing.T) {
	for err, want := range map[error]error{openid.ErrSilent: web.ErrSilent, openid.ErrBegin: web.ErrBegin, openid.ErrDeclined: web.ErrDeclined,
		openid.ErrRefused: web.ErrRefused, openid.ErrBusy: web.ErrSlow, session.ErrStranger: web.ErrStranger, session.ErrTaken: web.ErrTaken,
		session.ErrUnnamed: web.ErrUnnamed, session.ErrOver: web.ErrBegin, session.ErrRepeated: web.ErrRefused, session.ErrLapsed: web.ErrRefused} {
		if got := shownAs(fmt.Errorf("sign in: %w", err)); !errors.Is(got, want) {
			t.Errorf("%v is shown as %v, want %v", err, got, want)
		}
	}
	if _, err := visitor(session.Session{}, session.ErrLink); !errors.Is(shownAs(err), web.ErrLink) || shownAs(nil) != nil {
		t.Error("an invitation that is spent, or no error, is shown as something else")
	}
}
