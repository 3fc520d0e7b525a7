package config

import (
	"errors"
	"strings"
	"testing"
)

const idp = "openid-issuer = \"https://login.example.org\"\nopenid-client = \"holdfast\"\nopenid-secret-file = \"/etc/secret\"\n"

// Settings by which nobody could sign in, or too many could, are refused with what is wanted.
func TestOpenIDSettings(t *testing.T) {
	for lines, want := range map[string]string{
		idp: "",
		idp + "openid-groups = [{group = \"a\", role = \"curator\", collection = \"web\"}]\nopenid-create = true": "",
		strings.Replace(idp, "https", "http", 1):                                                 "want https",
		strings.Replace(idp, "https://login.example.org", "http://127.0.0.1:8080", 1):            "",
		strings.Replace(idp, "https://login.example.org", "http://localhost:8080/idp", 1):        "",
		strings.Replace(idp, "login.", "a:b@login.", 1):                                          "want a URL",
		strings.Replace(idp, "example.org", "example.org/?x", 1):                                 "want a URL",
		strings.Replace(idp, "\"/etc/secret\"", "\"secret\"", 1):                                 "path from the root",
		strings.Replace(idp, "\"holdfast\"", "\"\"", 1):                                          "openid-client",
		"openid-client = \"holdfast\"":                                                           "openid-issuer",
		"openid-groups = [{group = \"a\", role = \"reader\"}]":                                   "openid-issuer",
		idp + "openid-scopes = [\"profile\"]":                                                    "\"openid\" among them",
		idp + "openid-scopes = [\"openid\", \"a b\"]":                                            "want words",
		idp + "openid-create = true":                                                             "openid-groups",
		idp + "openid-groups-claim = \"\"\nopenid-groups = [{group = \"a\", role = \"reader\"}]": "openid-groups-claim",
		idp + "openid-groups = [{group = \"a\", role = \"root\"}]":                               "group \"a\": unknown role",
		idp + "openid-groups = [{group = \"\", role = \"reader\"}]":                              "group's name",
		idp + "openid-groups = [{group = \"a\", role = \"admin\", collection = \"web\"}]":        "curator, not admin",
		idp + "openid-groups = [{group = \"a\", role = \"admin\", place = \"x\"}]":               "operator, not admin",
		idp + "openid-groups = [{group = \"a\", rolle = \"reader\"}]":                            "did you mean \"role\"",
	} {
		c, err := configWith(t, lines)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
		var shown strings.Builder
		if err == nil {
			if err := c.Write(&shown); err != nil || !strings.Contains(shown.String(), "openid-issuer = "+"\""+c.OpenID.Issuer) {
				t.Errorf("%v, shown as %s", err, shown.String())
			}
		}
	}
}

// A replica with a service of its own has nothing of the one above it: no groups of another institution count there.
func TestAnotherIssuerInheritsNothing(t *testing.T) {
	text := "cluster = \"example\"\n" + idp + "openid-name = \"North\"\nopenid-groups-claim = \"roles\"\nopenid-groups = [{group = \"staff\", role = \"admin\"}]\n" +
		"[[replica]]\nname = \"north\"\nkind = \"bitarchive\"\nopenid-name = \"Northern\"\n" +
		"[[replica]]\nname = \"south\"\nkind = \"bitarchive\"\nopenid-issuer = \"https://login.example.net\"\nopenid-client = \"h\"\nopenid-secret-file = \"/s\"\n" +
		"[[replica]]\nname = \"west\"\nkind = \"bitarchive\"\nopenid-issuer = \"\"\n" +
		"[[node]]\nname = \"n\"\nreplica = \"north\"\n[[node]]\nname = \"s\"\nreplica = \"south\"\n[[node]]\nname = \"w\"\nreplica = \"west\"\n"
	f, err := Parse("cluster.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) OpenID {
		c, err := f.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		return c.OpenID
	}
	if n := at("n"); n.Name != "Northern" || n.Claim != "roles" || len(n.Administrators()) != 1 {
		t.Errorf("north: %+v", n)
	}
	if s := at("s"); s.Shown() != "login.example.net" || s.Claim != "groups" || len(s.Groups) != 0 || len(s.Scopes) != 3 {
		t.Errorf("south: %+v", s)
	}
	if w := at("w"); w.Issuer != "" || w.Client != "" || len(w.Groups) != 0 {
		t.Errorf("west: %+v", w)
	}
}
