package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
)

// sharing is a cluster of the latest level with a member that crawls, a template and a configuration with a secret
// each, and a function that fails unless exactly these secrets are there.
func sharing(t *testing.T) (c *cluster, a sealer, kept func(when string, want ...string)) {
	t.Helper()
	c, a, _ = sealing(t)
	c.raiseTo(t, catalog.Level)
	c.publish(t, a, "ka")
	kept = func(when string, want ...string) {
		t.Helper()
		all, err := c.view().Secrets("", 0)
		var got []string
		for _, x := range all {
			got = append(got, x.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: secrets %v %v, want %v", when, got, err, want)
		}
		if n := c.starting("secretuse/"); len(want) == 0 && n > 0 {
			t.Errorf("%s: %d marks of uses of secrets that are gone", when, n)
		}
	}
	settings := `{"first_cookies":"[sealed first_cookies]"}`
	c.must(t, harvests.CreateTemplate, harvests.Creation{Name: "t", Text: "x", Secret: sealedTo(a, "s-template")})
	c.must(t, domains.Create, domains.Creation{Name: "a.org", Collection: "web"})
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "x", Template: "t",
		Settings: &settings, Secret: sealedTo(a, "s-config")})
	kept("before the jobs", "s-config", "s-template")
	return c, a, kept
}

func sealedTo(m sealer, id string) *jobs.Secret {
	return &jobs.Secret{ID: id, Text: []byte("x"), Boxes: []jobs.Box{box(m, "ka")}}
}

// using makes a job that uses the secrets of the template and of the configuration, and has one of its own.
func using(t *testing.T, c *cluster, own *jobs.Secret) uint64 {
	t.Helper()
	_, parts, sum := divided(t, 1)
	job := opened(t, c, jobs.JobOpening{Secret: own, Uses: []string{"s-template"}})
	for range 2 { // the second changes nothing
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: 1, Part: parts[0],
			Uses: []string{"s-config", "s-template"}})
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: 1, Sum: sum, Submit: true})
	return job
}

// TestAJobsEndLeavesSecretsOfOthers that still use them, and what they were for.
func TestAJobsEndLeavesSecretsOfOthers(t *testing.T) {
	t.Parallel()
	c, a, kept := sharing(t)
	first, second := using(t, c, sealedTo(a, "s-own")), using(t, c, nil)
	kept("while two jobs wait", "s-config", "s-own", "s-template")
	if j, err := c.view().Job(first); err != nil || !slices.Equal(j.AllSecrets(),
		[]string{"s-own", "s-template", "s-config"}) {
		t.Errorf("%+v, %v", j, err)
	}
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: first, Node: a.ID})
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: first, Node: a.ID, Attempt: 1})
	kept("after the first job", "s-config", "s-template")
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: second, Node: a.ID})

	settings := "{}"
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "x", Version: 1, Template: "t",
		Settings: &settings})
	kept("without the configuration's settings", "s-config", "s-template")
	c.must(t, domains.Remove, domains.Ref{Name: "a.org"})
	c.must(t, harvests.DeleteTemplate, harvests.Ref{Name: "t"})
	kept("without template and domain", "s-config", "s-template")
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: second, Node: a.ID, Attempt: 1, Failed: true})
	c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: second})
	kept("resubmitted", "s-config", "s-template")
	if j, err := c.view().Job(second); err != nil || len(j.AllSecrets()) > 0 {
		t.Errorf("the job that was given up has secrets: %v, %v", j.AllSecrets(), err)
	}
	next := second + 1
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: next, Node: a.ID})
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: next, Node: a.ID, Attempt: 1})
	kept("after the last job")
}

// TestSettingsThatChangeLeaveTheSecretOfAJob: of the configuration's former settings, until the job ends.
func TestSettingsThatChangeLeaveTheSecretOfAJob(t *testing.T) {
	t.Parallel()
	c, a, kept := sharing(t)
	job := using(t, c, nil)
	settings := `{"first_cookies":"[sealed first_cookies]","max_hops":3}`
	c.must(t, domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "x", Version: 1, Template: "t",
		Settings: &settings, Secret: sealedTo(a, "s-new")})
	kept("changed", "s-config", "s-new", "s-template")
	c.must(t, catalog.WishJob, catalog.JobWishing{ID: job, Wish: catalog.WishStop})
	c.must(t, catalog.RejectJob, catalog.JobRef{ID: job})
	kept("rejected", "s-new", "s-template")
}

// TestADroppedJobFreesItsSecrets and leaves those that others use.
func TestADroppedJobFreesItsSecrets(t *testing.T) {
	t.Parallel()
	c, a, kept := sharing(t)
	job := opened(t, c, jobs.JobOpening{Secret: sealedTo(a, "s-own"), Uses: []string{"s-config", "s-template"}})
	c.must(t, domains.Remove, domains.Ref{Name: "a.org"})
	kept("open", "s-config", "s-own", "s-template")
	c.must(t, jobs.DropJob, jobs.JobRef{ID: job})
	kept("dropped", "s-template")
}

// TestUsesThatAreRefused: what is not there, what is of a job from before, and more than one command can end.
func TestUsesThatAreRefused(t *testing.T) {
	t.Parallel()
	c, a, _ := sealing(t)
	c.must(t, catalog.RaiseLevel, catalog.LevelChange{Level: 3})
	c.publish(t, a, "ka")
	c.must(t, catalog.CreateJob, creation(sealedTo(a, "s-old")))
	c.raiseTo(t, catalog.Level)
	open := func(uses ...string) catalog.Result {
		return c.apply(t, jobs.OpenJob, jobs.JobOpening{Harvest: "h", Collection: "web", Uses: uses})
	}
	refusedAs(t, open("none"), catalog.NotFound, "a secret that is not there")
	refusedAs(t, open("a/b"), catalog.Invalid, "what is no name")
	refusedAs(t, open("s-old"), catalog.Conflict, "a secret of a job from before level 4")
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: 1, Node: a.ID})
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: 1, Node: a.ID, Attempt: 1})
	if n := c.starting("secret"); n != 0 {
		t.Errorf("%d keys are left of the secret of an old job", n)
	}

	all := make([]string, jobs.MaxSecrets+1)
	for i := range all {
		all[i] = fmt.Sprintf("s%d", i)
		c.must(t, harvests.CreateTemplate, harvests.Creation{Name: all[i], Text: "x", Secret: sealedTo(a, all[i])})
	}
	refusedAs(t, open(all...), catalog.Invalid, "too many")
	job := opened(t, c, jobs.JobOpening{Uses: all[1:]})
	refusedAs(t, c.apply(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: 1, Uses: all[:1],
		Part: jobs.Part{Kind: jobs.PartJob, Text: "{}"}}), catalog.Invalid, "one too many")
	for _, name := range all {
		c.must(t, harvests.DeleteTemplate, harvests.Ref{Name: name})
	}
	c.must(t, jobs.DropJob, jobs.JobRef{ID: job})
	if n := c.starting("secret"); n != 0 {
		t.Errorf("%d keys are left of secrets that nothing uses", n)
	}
}

// TestOnlyTheLeaderUsesSecretsOfOthers: in a job that somebody else may make, they would reach any seed.
func TestOnlyTheLeaderUsesSecretsOfOthers(t *testing.T) {
	t.Parallel()
	c, a, _ := sharing(t)
	for _, actor := range []string{"person:anna", string(a.ID), "local:" + string(a.ID)} {
		cmd := catalog.Command{Kind: jobs.OpenJob, Actor: actor, Node: a.ID, Body: raw(t, jobs.JobOpening{
			Harvest: "h", Collection: "web", Uses: []string{"s-template"}})}
		err := catalog.PeopleIn(c.view()).Vouch(a.ID, &cmd, catalog.RoleAdmin, c.now)
		if err == nil || !strings.Contains(err.Error(), "only the leader") {
			t.Errorf("forwarded in the name of %s: %v", actor, err)
		}
	}
}
