package config

import (
	"slices"
	"strings"
	"testing"
)

func TestClaimPaths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"groups":                                {"groups"},
		"realm_access.roles":                    {"realm_access", "roles"},
		"resource_access.holdfast.roles":        {"resource_access", "holdfast", "roles"},
		`resource_access.a\.example\.org.roles`: {"resource_access", "a.example.org", "roles"},
		`a\\.b`:                                 {`a\`, "b"},
		"https://example/claims":                {"https://example/claims"},
	} {
		if got, err := ClaimPath(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v, want %q", name, got, err, want)
		}
	}
	for name, why := range map[string]string{
		"":                              "empty",
		".roles":                        "empty",
		"roles.":                        "empty",
		"a..b":                          "empty",
		`a\b`:                           "backslash",
		`a\`:                            "ends with a backslash",
		strings.Repeat("a.", 10) + "b":  "11 names",
		strings.Repeat("a", 501):        "longer than 500",
		strings.Repeat(`\\`, 300) + "a": "longer than 500",
	} {
		if got, err := ClaimPath(name); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "openid-groups-claim") {
			t.Errorf("%q is %q, %v, want %q", name, got, err, why)
		}
	}
}

// FuzzClaimPath: what is split can be put together again, and means the same.
func FuzzClaimPath(f *testing.F) {
	for _, seed := range []string{"groups", "a.b", `a\.b.c`, `\\.`, "..", `\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		steps, err := ClaimPath(name)
		if err != nil {
			return
		}
		var again []string
		for _, step := range steps {
			again = append(again, strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(step))
		}
		if strings.ToValidUTF8(name, "\uFFFD") == name && strings.Join(again, ".") != name {
			t.Errorf("%q is split into %q", name, steps)
		}
	})
}
