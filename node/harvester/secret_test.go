package harvester

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/harvest"
)

// TestSecretsOfAJob stay where they are sealed: jobs use those of their template and of their configurations, and no
// job more than it may.
func TestSecretsOfAJob(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "keyed",
		Text: `{"operator_contact":"web@example.org","headers":["X-Key: [sealed headers.0]"]}`, Secret: sealed("t1")})
	var want []string
	for i := range 2*jobs.MaxSecrets - 10 {
		name := domains.Name(fmt.Sprintf("d%03d.org", i))
		login := fmt.Sprintf(`{"credentials":[{"domain":"%s","kind":"basic","user":"u","password":`+
			`"[sealed credentials.0.password]"}]}`, name)
		a.domain(name, domains.Configuring{Name: "in", Template: "keyed", Settings: &login,
			Secret: sealed(fmt.Sprint("c", i))})
		want = append(want, string(name)+"/in")
	}
	number := a.define(runs.Selective, runs.Asked{Name: "keyed"}, want...)
	a.begin(number)
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	a.once(number, 1, want)
	if n := len(a.made(number, 1)); n != 2 {
		t.Errorf("%d jobs", n)
	}
	for id, names := range a.made(number, 1) {
		j := see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) })
		all := j.AllSecrets()
		if len(all) != len(names)+1 || !slices.Contains(all, "t1") {
			t.Errorf("job %d of %d configurations uses %d secrets", id, len(names), len(all))
		}
		spec := see(a, func(v catalog.View) (harvest.Job, error) { return v.Spec(&j) })
		secrets := harvest.Secrets{harvest.SecretOf("t1", "headers.0"): "of the template"}
		for _, id := range all {
			secrets[harvest.SecretOf(id, "credentials.0.password")] = "of " + id
		}
		joined, err := spec.Join(secrets)
		if err != nil || joined.Settings.Headers[0] != "X-Key: of the template" {
			t.Fatalf("%q, %v", spec.Settings.Headers, err)
		}
		if err := joined.Validate(); err != nil {
			t.Error(err)
		}
		for _, c := range joined.Domains.Configurations {
			if len(c.Logins) != 1 || !strings.HasPrefix(c.Logins[0].Password, "of c") || c.Settings != nil {
				t.Errorf("%+v", c)
			}
		}
	}
}
