package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// OpenIDSettings are the Settings of signing in with the account of an institution.
type OpenIDSettings struct {
	OpenIDIssuer      *string     `toml:"openid-issuer"`       // URL of the service; none: nobody signs in so
	OpenIDClient      *string     `toml:"openid-client"`       // what the service calls these pages
	OpenIDSecretFile  *string     `toml:"openid-secret-file"`  // file with the client's secret
	OpenIDName        *string     `toml:"openid-name"`         // of the service, on the button; none: its host
	OpenIDScopes      []string    `toml:"openid-scopes"`       // what is asked for
	OpenIDGroupsClaim *string     `toml:"openid-groups-claim"` // the claim with somebody's groups
	OpenIDGroups      []GroupRule `toml:"openid-groups"`       // what groups give
	OpenIDCreate      *bool       `toml:"openid-create"`       // who has a grant by a group needs no invitation
}

// GroupRule says what a group gives: a role, for the whole archive, in a collection, or at a place.
type GroupRule struct {
	Group      string `toml:"group"`
	Role       string `toml:"role"`
	Collection string `toml:"collection,omitempty"`
	Place      string `toml:"place,omitempty"`
}

// OpenID says at which service people sign in with the account of their institution. Without an issuer there is none.
type OpenID struct {
	Issuer     string
	Client     string
	SecretFile string
	Name       string // of the service, for people
	Scopes     []string
	Claim      string // with the groups: its name, or the path to it (see ClaimPath)
	Groups     []GroupRule
	Create     bool // who has a grant by a group needs no invitation
}

// maxGroupRules bounds the rules: the catalog takes as many grants of one person by groups.
const maxGroupRules = 50

// resolve lays the settings over those that are there. If they name another issuer, nothing of the old ones is kept:
// what groups of one institution may do must not hold for groups of another.
func (o *OpenID) resolve(s *OpenIDSettings) {
	if s.OpenIDIssuer != nil && *s.OpenIDIssuer != o.Issuer {
		d := Defaults()
		*o = OpenID{}
		o.lay(&d.OpenIDSettings)
	}
	o.lay(s)
}

func (o *OpenID) lay(s *OpenIDSettings) {
	set(&o.Issuer, s.OpenIDIssuer)
	set(&o.Client, s.OpenIDClient)
	set(&o.SecretFile, s.OpenIDSecretFile)
	set(&o.Name, s.OpenIDName)
	set(&o.Claim, s.OpenIDGroupsClaim)
	set(&o.Create, s.OpenIDCreate)
	if s.OpenIDScopes != nil {
		o.Scopes = slices.Clone(s.OpenIDScopes)
	}
	if s.OpenIDGroups != nil {
		o.Groups = slices.Clone(s.OpenIDGroups)
	}
}

// Shown is the service's name for people.
func (o *OpenID) Shown() string {
	if o.Name != "" {
		return o.Name
	}
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return o.Issuer
	}
	return u.Hostname()
}

// maxClaimSteps bounds how deep a claim may lie.
const maxClaimSteps = 10

// ClaimPath splits the name of a claim at its dots: the claim, and members within it. "\\." is a dot in a name, and
// "\\\\" a backslash.
func ClaimPath(name string) (steps []string, err error) {
	wrong := func(why string) ([]string, error) {
		return nil, fmt.Errorf("openid-groups-claim = %q: %s; want the name of a claim, as in \"groups\", "+
			"or a path to it, as in \"realm_access.roles\"", name, why)
	}
	var step strings.Builder
	escaped := false
	for _, r := range name + "." {
		switch {
		case escaped && r != '.' && r != '\\':
			return wrong("a backslash stands before a dot or a backslash alone")
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && r == '.':
			if step.Len() == 0 {
				return wrong("a name between two dots is empty")
			}
			steps = append(steps, step.String())
			step.Reset()
			continue
		}
		escaped = false
		step.WriteRune(r)
	}
	switch {
	case step.Len() > 0:
		return wrong("it ends with a backslash")
	case len(steps) > maxClaimSteps:
		return wrong(fmt.Sprintf("it has %d names, and may have %d", len(steps), maxClaimSteps))
	case len(name) > 500:
		return wrong("it is longer than 500 bytes")
	}
	return steps, nil
}

// Administrators returns the groups that make administrators.
func (o *OpenID) Administrators() (groups []string) {
	for _, r := range o.Groups {
		if r.Role == "admin" {
			groups = append(groups, r.Group)
		}
	}
	return groups
}

// check returns what is wrong with the settings, or nil.
func (o *OpenID) check() error {
	if o.Issuer == "" {
		if o.Client != "" || o.SecretFile != "" || len(o.Groups) > 0 || o.Create {
			return errors.New("openid-issuer: the other openid settings need the URL of the service, " +
				"as in \"https://login.example.org\"")
		}
		return nil
	}
	if err := checkIssuer(o.Issuer); err != nil {
		return err
	}
	switch {
	case o.Client == "" || len(o.Client) > 255:
		return errors.New("openid-client: want the id that the service gave to these pages")
	case !filepath.IsAbs(o.SecretFile):
		return fmt.Errorf("openid-secret-file = %q: want a path from the root, as in \"/etc/holdfast/openid-secret\"",
			o.SecretFile)
	case utf8.RuneCountInString(o.Name) > 60:
		return errors.New("openid-name: want at most 60 characters")
	case !slices.Contains(o.Scopes, "openid"):
		return errors.New("openid-scopes: want \"openid\" among them")
	case o.Create && len(o.Groups) == 0:
		return errors.New("openid-create: nobody has a grant without openid-groups")
	case len(o.Groups) > 0 && o.Claim == "":
		return errors.New("openid-groups-claim: openid-groups needs the name of the claim, as in \"groups\"")
	case len(o.Groups) > maxGroupRules:
		return fmt.Errorf("openid-groups: %d rules: want at most %d", len(o.Groups), maxGroupRules)
	}
	if o.Claim != "" {
		if _, err := ClaimPath(o.Claim); err != nil {
			return err
		}
	}
	for _, scope := range o.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("openid-scopes: %q: want words such as \"openid\"", scope)
		}
	}
	for _, r := range o.Groups {
		if err := r.check(); err != nil {
			return fmt.Errorf("openid-groups: group %q: %w", r.Group, err)
		}
	}
	return nil
}

// checkIssuer refuses a URL whose answers somebody on the way could change.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(issuer, "?# ") || len(issuer) > 500 {
		return fmt.Errorf("openid-issuer = %q: want a URL such as \"https://login.example.org\"", issuer)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !onlyHere(u.Hostname())) {
		return fmt.Errorf("openid-issuer = %q: want https; http is for this machine alone", issuer)
	}
	return nil
}

func (r GroupRule) check() error {
	roles := []string{"reader", "curator", "operator", "admin"}
	switch {
	case r.Group == "":
		return errors.New("want the group's name, as the service says it")
	case !slices.Contains(roles, r.Role):
		return errors.New(suggest("role", r.Role, roles))
	case r.Collection != "" && r.Role != "curator":
		return fmt.Errorf("a role in a collection is curator, not %s", r.Role)
	case r.Place != "" && r.Role != "operator":
		return fmt.Errorf("a role at a place is operator, not %s", r.Role)
	}
	return nil
}
