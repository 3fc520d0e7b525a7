//go:build e2e

package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// noHarvests checks that a node with the new program refuses what archivists define below level 4, and keeps nothing of
// it. Once all members have the new program, it says what to do: before, a leader of level 3 answers that it knows no
// such command of people.
func (u *upgrade) noHarvests(node string, all bool) {
	u.t.Helper()
	if u.from >= 4 {
		return
	}
	for path, in := range map[string]any{
		"/domains":   wire.DomainRequest{Name: "early.org"},
		"/schedules": wire.ScheduleRequest{Name: "early", Schedule: json.RawMessage(`{"unit":"day"}`)},
		"/templates": wire.TemplateRequest{Name: "early", Settings: json.RawMessage(`{"operator_contact":"e@demo.test"}`)},
		"/channels":  wire.ChannelRequest{Name: "early"},
		"/harvests":  wire.HarvestRequest{Name: "early", Kind: "snapshot"},
	} {
		status, text := u.ask(node, http.MethodPost, path, in)
		clear := status == http.StatusNotImplemented && strings.Contains(string(text), fmt.Sprint("holdfast cluster level ", newLevel))
		if !clear && (all || u.from < 3 || status != http.StatusForbidden) {
			u.t.Errorf("POST %s at level %d on %s: %d %s", path, u.from, node, status, text)
		}
		status, text = u.ask(node, http.MethodGet, path, nil)
		if status == http.StatusOK && strings.Contains(string(text), "early") {
			u.t.Errorf("GET %s at level %d on %s has what was refused: %s", path, u.from, node, text)
		}
	}
}

// noPages checks that nobody signs in below level 5.
func (u *upgrade) noPages(node string) {
	u.t.Helper()
	status, text := u.ask(node, http.MethodPost, "/sign-in-links", struct{}{})
	if status != http.StatusNotImplemented || !strings.Contains(string(text), fmt.Sprint("holdfast cluster level ", newLevel)) {
		u.t.Errorf("sign in at level %d on %s: %d %s", u.from, node, status, text)
	}
}

// pages checks that then it is no longer the level that keeps people out: these nodes have one host name for the pages
// and the captures, and say so.
func (u *upgrade) pages() {
	u.t.Helper()
	for _, node := range threeNodes {
		status, text := u.ask(node, http.MethodPost, "/sign-in-links", struct{}{})
		if status != http.StatusConflict || !strings.Contains(string(text), "set pages-url and access-url") {
			u.t.Errorf("sign in on %s: %d %s", node, status, text)
		}
	}
}

// harvests checks that from level 4 on a harvest becomes a job, which is crawled, and that its statistics are what came.
func (u *upgrade) harvests() {
	t, ctx := u.t, u.t.Context()
	archive, err := local(u.c, "third-1")
	check(t, err)
	defer archive.Close()
	template, err := json.Marshal(u.request("", "", nil)["settings"])
	check(t, err)
	_, err = archive.Templates().Create(ctx, wire.TemplateRequest{Name: "rolled", Settings: template})
	check(t, err)
	_, err = archive.Domains().Create(ctx, wire.DomainRequest{Name: "rolled.org"})
	check(t, err)
	_, err = archive.Domains().PutSeeds(ctx, "rolled.org", "last", "",
		strings.NewReader(fmt.Sprintf("%s/page/%d\n", u.base, u.site.pages-1)))
	check(t, err)
	_, err = archive.Domains().Configure(ctx, "rolled.org", "pages",
		wire.ConfigurationChange{Template: new("rolled"), Seeds: &[]string{"last"}})
	check(t, err)
	_, err = archive.Schedules().Create(ctx, wire.ScheduleRequest{Name: "rolled",
		Schedule: json.RawMessage(`{"unit":"minute","times":1}`)})
	check(t, err)
	made, err := archive.Harvests().Create(ctx, wire.HarvestRequest{Name: "rolled", Kind: "selective", Schedule: "rolled"})
	check(t, err)
	_, err = archive.Harvests().Add(ctx, made.Number, wire.HarvestConfiguration{Domain: "rolled.org", Configuration: "pages"})
	check(t, err)
	_, err = archive.Harvests().Activate(ctx, made.Number, wire.HarvestActivation{})
	check(t, err)
	var job wire.Job
	must(t, 3*time.Minute, "the harvest has its job", func() error {
		for j, err := range archive.Harvests().Jobs(ctx, made.Number, 1) {
			job = j
			return err
		}
		return errors.New("none yet")
	})
	job, err = u.c.Done(ctx, "north-1", job.ID, 3*time.Minute)
	check(t, err)
	const came = 3 // the last two pages, and the answer that there is no further one
	if job.State != wire.JobDone || job.Stats.Objects != came {
		t.Errorf("the harvest's job is %s, with %+v: %s", job.State, job.Stats, job.Reason)
	}
	must(t, time.Minute, "the domain's history has what came", func() error {
		for one, err := range archive.Domains().History(ctx, "rolled.org") {
			if err == nil && (one.Job != job.ID || one.Objects != came) {
				err = fmt.Errorf("it is %+v", one)
			}
			return err
		}
		return errors.New("it is empty")
	})
}

// agreed is what a node says of the agreed state: its trail, whose events name their places in the log and are chained
// by their hashes, and all jobs with their
// statistics, and all harvests with their runs.
func (u *upgrade) agreed(node string) (all []string, err error) {
	archive, err := local(u.c, node)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	ctx := u.t.Context()
	say := func(what string, one any, err error) error {
		text, bad := json.Marshal(one)
		all = append(all, what+" "+string(text))
		return errors.Join(err, bad)
	}
	for one, err := range archive.Trail().All(ctx) {
		if err := say("event", one, err); err != nil {
			return nil, err
		}
	}
	var jobs wire.Page[wire.Job]
	if err := u.c.JSON(ctx, &jobs, node, "job", "list", "--limit", "0"); err != nil {
		return nil, err
	}
	for _, one := range jobs.Items {
		one.Progress = nil
		if err := say("job", one, nil); err != nil {
			return nil, err
		}
		for s, err := range archive.Jobs().Statistics(ctx, one.ID) {
			if err := say("statistic", s, err); err != nil {
				return nil, err
			}
		}
	}
	for one, err := range archive.Harvests().List(ctx, client.HarvestQuery{}) {
		if err := say("harvest", one, err); err != nil {
			return nil, err
		}
		for run, err := range archive.Harvests().Runs(ctx, one.Number) {
			if err := say("run", run, err); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// alike checks that the members say the same of the agreed state, once all have what was decided.
func (u *upgrade) alike() {
	u.t.Helper()
	must(u.t, time.Minute, "the members agree", func() error {
		first, err := u.agreed(threeNodes[0])
		if err != nil {
			return err
		}
		for _, node := range threeNodes[1:] {
			other, err := u.agreed(node)
			if err != nil {
				return err
			}
			for i := range max(len(first), len(other)) {
				if i >= len(first) || i >= len(other) || first[i] != other[i] {
					return fmt.Errorf("%s and %s differ, of %d and %d lines, in line %d:\n%q\n%q", threeNodes[0], node, len(first),
						len(other), i, slices.Concat(first, []string{"-"})[min(i, len(first))], slices.Concat(other, []string{"-"})[min(i, len(other))])
				}
			}
		}
		return nil
	})
}
