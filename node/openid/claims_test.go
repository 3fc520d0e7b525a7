package openid

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// nested has groups where Keycloak puts them.
func nested(c map[string]any) {
	delete(c, "groups")
	c["realm_access"] = map[string]any{"roles": []string{"staff"}}
	c["resource_access"] = map[string]any{"holdfast": map[string]any{"roles": []string{"archivists", "boss"}}, "a.b": map[string]any{"roles": "one"},
		"null": nil, "odd": []string{"x"}}
}

// Groups are found where the path leads, and are none where it ends early; what cannot be groups lets nobody in.
func TestNestedGroups(t *testing.T) {
	for path, tt := range map[string]struct {
		want    []string
		missing string // the log says so
		refused bool
	}{
		"realm_access.roles":             {[]string{"staff"}, "", false},
		"resource_access.holdfast.roles": {[]string{"archivists", "boss"}, "", false},
		"resource_access.a|b.roles":      {[]string{"one"}, "", false}, // | stands for a dot in a name
		"resource_access.other.roles":    {nil, "the claim resource_access has no member other", false},
		"resource_access.null.roles":     {nil, "the claim resource_access has no member null", false},
		"resource_access.holdfast.x":     {nil, "the claim resource_access.holdfast has no member x", false},
		"nothing.roles":                  {nil, "there is no claim nothing", false},
		"nothing":                        {nil, "there is no claim nothing", false},
		"resource_access.odd.roles":      {nil, "the claim resource_access.odd is no object: it cannot have a member roles", true},
		"realm_access.roles.staff":       {nil, "the claim realm_access.roles is no object: it cannot have a member staff", true},
		"sub.roles":                      {nil, "the claim sub is no object", true},
		"realm_access":                   {nil, "the claim realm_access is no list of texts", true},
		"resource_access.holdfast":       {nil, "the claim resource_access.holdfast is no list of texts", true},
	} {
		i := newIssuer(t)
		i.claim, i.info = nested, map[string]any{"sub": "anna|1"}
		d := newDesk(t, i, func(c *Config) {
			c.Groups, c.GroupsPath = path, strings.Split(path, ".")
			for n, step := range c.GroupsPath {
				c.GroupsPath[n] = strings.ReplaceAll(step, "|", ".")
			}
		})
		got, err := d.signIn()
		if errors.Is(err, ErrRefused) != tt.refused || !slices.Equal(got.Groups, tt.want) || err == nil == tt.refused {
			t.Errorf("%s: %v %v; %s", path, got, err, d.log)
		}
		if tt.missing != "" && !strings.Contains(d.log.String(), tt.missing) || tt.missing == "" && strings.Contains(d.log.String(), "no groups") {
			t.Errorf("%s: the log does not say %q: %s", path, tt.missing, d.log)
		}
	}
}

// A claim whose name has dots is meant before a path; what the ID token does not have, the userinfo address may.
func TestWhereGroupsAreLookedFor(t *testing.T) {
	i := newIssuer(t)
	dotted := func(c *Config) { c.Groups, c.GroupsPath = "a.b", []string{"a", "b"} }
	i.claim = func(c map[string]any) { c["a.b"], c["a"] = []string{"first"}, map[string]any{"b": []string{"second"}} }
	if got, err := newDesk(t, i, dotted).signIn(); err != nil || !slices.Equal(got.Groups, []string{"first"}) || i.userinfo != 0 {
		t.Errorf("%v %v, asked %d times", got, err, i.userinfo)
	}
	i.claim = func(c map[string]any) { c["a"] = map[string]any{"x": 1} }
	i.info = map[string]any{"sub": "anna|1", "a": map[string]any{"b": []string{"third"}}}
	if got, err := newDesk(t, i, dotted).signIn(); err != nil || !slices.Equal(got.Groups, []string{"third"}) || i.userinfo != 1 {
		t.Errorf("%v %v, asked %d times", got, err, i.userinfo)
	}
	i.info = map[string]any{"sub": "anna|1", "a": 7}
	if got, err := newDesk(t, i, dotted).signIn(); !errors.Is(err, ErrRefused) {
		t.Errorf("%v %v", got, err)
	}
}
