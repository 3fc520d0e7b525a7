//go:build e2e

package systemtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// trial is a cluster that harvests eight sites by the clock while its nodes are killed.
type trial struct {
	t      *testing.T
	c      *Cluster
	web    *trialWeb
	day    time.Duration // how long a day of the harvests takes
	random *rand.Rand
	kills  []time.Time
	plans  []*trialPlan
}

// trialPlan is a harvest of the trial.
type trialPlan struct {
	name, kind, channel string
	nodes               []string        // that serve the channel
	every               time.Duration   // between two dates; 0: a snapshot
	dates               uint64          // that the schedule has
	configurations      map[string]bool // domain/configuration of each
	leftOut             map[string]int64
	number              uint64 // that the cluster gave it
}

const trialHours = 24 // dates of the hourly harvest

// TestTrial defines an hourly, a daily and an event harvest, a snapshot and one that continues it, of eight sites with
// five configurations each, for three nodes with a channel each pair of them serves, and a clock by which a day takes
// less than a minute. Nodes and leaders are killed until the last date has passed. In the end each configuration was
// harvested as often as defined, less the dates that were counted as skipped; what is in the archive, in the statistics
// and in the CDX of the metadata files is what the servers' log says; and no unchanged picture is stored again.
// HOLDFAST_SEED repeats the order of a run, HOLDFAST_DAY is the length of a day.
func TestTrial(t *testing.T) {
	t.Parallel()
	began := time.Now()
	seed := number(t, "HOLDFAST_SEED", uint64(began.UnixNano()))
	day, err := time.ParseDuration(cmp.Or(os.Getenv("HOLDFAST_DAY"), "36s"))
	check(t, err)
	t.Logf("HOLDFAST_SEED=%d HOLDFAST_DAY=%v", seed, day)
	step := func(what string, args ...any) {
		t.Logf("%5.1f s  %s", time.Since(began).Seconds(), fmt.Sprintf(what, args...))
	}
	s := &trial{t: t, day: day, random: rand.New(rand.NewPCG(seed, 0)), web: serveTrial(t, "127.0.31.101")}
	s.c = s.cluster("127.0.31")
	step("cluster settled")
	s.define()
	step("harvests defined")
	for _, p := range s.plans[:4] {
		s.activate(p)
	}
	step("harvests activated")
	s.siege(step)
	s.await(step)
	s.verify(step)
}

// cluster starts three nodes with the trial's clock, each pair of which serves a channel.
func (s *trial) cluster(network string) *Cluster {
	program, err := Program()
	check(s.t, err)
	factor := int64(24 * time.Hour / s.day)
	clock := hasty{began: time.Now(), back: time.Duration(factor) * 15 * time.Minute, factor: factor}
	runner, err := clock.runner()
	check(s.t, err)
	specs := Three(func(i int) string { return fmt.Sprintf("%s.%d", network, i) })
	for i, channels := range []string{`"FOCUSED", "SNAPSHOT"`, `"FOCUSED", "quick"`, `"quick", "SNAPSHOT"`} {
		specs[i].Extra, specs[i].Runner = "channels = ["+channels+"]", runner
	}
	return startCluster(s.t, program, "crawls = 2\n", specs)
}

// ask calls do with a client of one node after another until it succeeds.
func (s *trial) ask(do func(ctx context.Context, archive *client.Client) error) {
	s.t.Helper()
	check(s.t, Eventually(s.t.Context(), time.Minute, func() error {
		archive, err := local(s.c, someNode(s.random))
		if err != nil {
			return err
		}
		defer archive.Close()
		ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
		defer cancel()
		return do(ctx, archive)
	}))
}

// all reads a list, from one node after another until one gives it all.
func all[T any](s *trial, of func(ctx context.Context, archive *client.Client) iter.Seq2[T, error]) (items []T) {
	s.t.Helper()
	s.ask(func(ctx context.Context, archive *client.Client) error {
		items = nil
		for one, err := range of(ctx, archive) {
			if err != nil {
				return err
			}
			items = append(items, one)
		}
		return nil
	})
	return items
}

// must does what is to be done once, while all nodes run.
func (s *trial) must(do func(ctx context.Context, archive *client.Client) error) {
	s.t.Helper()
	archive, err := local(s.c, "south-1")
	check(s.t, err)
	defer archive.Close()
	check(s.t, do(s.t.Context(), archive))
}

// define makes templates, domains, configurations and harvests.
func (s *trial) define() {
	settings := map[string]any{"operator_contact": "trial@holdfast.test", "allow_private": true, "nameserver": s.web.nameserver,
		"min_delay": "0s", "delay_factor": 0, "scope": "path", "max_hops": 5, "deduplicate": "digest"}
	s.template("plain", settings)
	settings["conditional"] = true
	s.template("asking", settings)
	s.must(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Channels().Create(ctx, wire.ChannelRequest{Name: "quick"})
		return err
	})
	for name, schedule := range map[string]string{
		"trial-hours":  fmt.Sprintf(`{"unit":"hour","times":%d}`, trialHours),
		"trial-days":   `{"unit":"day","times":3,"zone":"Europe/Copenhagen"}`,
		"trial-6hours": `{"unit":"hour","every":6,"times":3}`,
	} {
		s.must(func(ctx context.Context, archive *client.Client) error {
			_, err := archive.Schedules().Create(ctx, wire.ScheduleRequest{Name: name, Schedule: json.RawMessage(schedule)})
			return err
		})
	}
	hourly := &trialPlan{name: "hourly", kind: "selective", channel: "quick", nodes: []string{"south-1", "third-1"},
		every: time.Hour, dates: trialHours}
	daily := &trialPlan{name: "daily", kind: "selective", channel: "FOCUSED", nodes: []string{"north-1", "south-1"},
		every: 24 * time.Hour, dates: 3}
	event := &trialPlan{name: "election", kind: "event", channel: "FOCUSED", nodes: []string{"north-1", "south-1"},
		every: 6 * time.Hour, dates: 3}
	first := &trialPlan{name: "all of it", kind: "snapshot", channel: "SNAPSHOT", nodes: []string{"north-1", "third-1"},
		dates: 1}
	second := &trialPlan{name: "the rest of it", kind: "snapshot", channel: "SNAPSHOT", nodes: first.nodes, dates: 1,
		leftOut: map[string]int64{"completed": 1}}
	s.plans = []*trialPlan{hourly, daily, event, first, second}
	s.harvest(hourly, wire.HarvestRequest{Schedule: "trial-hours", Channel: "quick"})
	s.harvest(daily, wire.HarvestRequest{Schedule: "trial-days"})
	s.harvest(event, wire.HarvestRequest{Schedule: "trial-6hours"})
	s.harvest(first, wire.HarvestRequest{Objects: new(int64(8))})
	for _, p := range s.plans {
		p.configurations = map[string]bool{}
	}
	var seeds strings.Builder
	for i, domain := range trialDomains {
		s.domain(domain, i == len(trialDomains)-1)
		for name, of := range map[string]*trialPlan{"news": hourly, "science": daily, "sports": daily} {
			s.add(of, domain, name)
		}
		event.configurations[domain+"/"+fmt.Sprintf("election-%d", event.number)] = true
		fmt.Fprintln(&seeds, s.web.url(domain, "/election/"))
		first.configurations[domain+"/whole"] = true
		second.configurations[domain+"/whole"] = i < len(trialDomains)-1
	}
	delete(second.configurations, trialDomains[len(trialDomains)-1]+"/whole")
	s.must(func(ctx context.Context, archive *client.Client) error {
		answer, err := archive.Harvests().AddSeeds(ctx, event.number, client.SeedsOptions{Template: "plain", Objects: "none",
			Bytes: "none"}, strings.NewReader(seeds.String()))
		if err == nil && (answer.Configurations != int64(len(trialDomains)) || answer.Bad > 0) {
			err = fmt.Errorf("the event harvest was given seeds: %+v", answer)
		}
		return err
	})
}

func (s *trial) template(name string, settings map[string]any) {
	text, err := json.Marshal(settings)
	check(s.t, err)
	s.must(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Templates().Create(ctx, wire.TemplateRequest{Name: name, Settings: text})
		return err
	})
}

// domain makes a domain and its configurations. The default one of a small domain has one section.
func (s *trial) domain(name string, small bool) {
	s.must(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Domains().Create(ctx, wire.DomainRequest{Name: name})
		return err
	})
	for _, one := range []struct{ name, path, template string }{{"whole", "/", "plain"}, {"news", "/news/", "plain"},
		{"science", "/science/", "plain"}, {"sports", "/sports/", "asking"}} {
		if small && one.name == "whole" {
			one.path = "/tiny/"
		}
		s.must(func(ctx context.Context, archive *client.Client) error {
			seed := strings.NewReader(s.web.url(name, one.path) + " # " + one.name + "\n")
			if _, err := archive.Domains().PutSeeds(ctx, name, one.name, "", seed); err != nil {
				return err
			}
			change := wire.ConfigurationChange{Template: &one.template, Seeds: &[]string{one.name}}
			if one.name == "science" && name == trialDomains[0] {
				change.Objects = new(int64(3))
			}
			_, err := archive.Domains().Configure(ctx, name, one.name, change)
			return err
		})
	}
	s.must(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Domains().Set(ctx, name, wire.DomainChange{Default: new("whole")})
		return err
	})
}

// harvest defines a harvest.
func (s *trial) harvest(p *trialPlan, in wire.HarvestRequest) {
	in.Name, in.Kind = p.name, p.kind
	s.must(func(ctx context.Context, archive *client.Client) error {
		made, err := archive.Harvests().Create(ctx, in)
		p.number = made.Number
		return err
	})
}

func (s *trial) add(p *trialPlan, domain, name string) {
	p.configurations[domain+"/"+name] = true
	s.must(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Harvests().Add(ctx, p.number, wire.HarvestConfiguration{Domain: domain, Configuration: name})
		return err
	})
}

// activate has a harvest run from now on. The answer to an earlier try may have been lost.
func (s *trial) activate(p *trialPlan) {
	s.ask(func(ctx context.Context, archive *client.Client) error {
		_, err := archive.Harvests().Activate(ctx, p.number, wire.HarvestActivation{})
		if err == nil {
			return nil
		}
		now, unseen := archive.Harvests().Show(ctx, p.number)
		if unseen == nil && (!now.Next.IsZero() || now.Runs > 0) {
			return nil
		}
		return err
	})
}

// follow defines and activates the snapshot that continues the first one, as soon as that has begun. The answer to an
// earlier try may have been lost.
func (s *trial) follow() error {
	first, second := s.plans[3], s.plans[4]
	var begun bool
	s.ask(func(ctx context.Context, archive *client.Client) error {
		now, err := archive.Harvests().Show(ctx, first.number)
		begun = err == nil && now.Runs > 0
		return err
	})
	if !begun {
		return errors.New("the first snapshot has not begun")
	}
	s.ask(func(ctx context.Context, archive *client.Client) error {
		made, err := archive.Harvests().Create(ctx, wire.HarvestRequest{Name: second.name, Kind: second.kind,
			Continues: first.number})
		if err == nil {
			second.number = made.Number
			return nil
		}
		for h, unseen := range archive.Harvests().List(ctx, client.HarvestQuery{Named: second.name}) {
			if unseen == nil {
				second.number = h.Number
				return nil
			}
		}
		return err
	})
	s.activate(second)
	return nil
}

// siege kills the leader or another node, again and again, until all dates have passed.
func (s *trial) siege(step func(string, ...any)) {
	ctx := s.t.Context()
	for followed := false; ; {
		if !followed && s.follow() == nil {
			followed = true
			step("the second snapshot continues the first")
		}
		if followed && len(s.kills) >= 5 && len(s.unended()) == 0 {
			return
		}
		pause(ctx, s.random, 4*time.Second)
		node := someNode(s.random)
		what := "some node"
		if s.random.IntN(2) == 0 {
			if st, err := s.c.Status(ctx, node); err == nil && st.Cluster.LeaderName != "" {
				node, what = st.Cluster.LeaderName, "the leader"
			}
		}
		s.kills = append(s.kills, time.Now())
		s.c.Kill(node)
		step("kill %d: %s, %s", len(s.kills), node, what)
		pause(ctx, s.random, 2*time.Second)
		check(s.t, s.c.Start(node))
		check(s.t, Eventually(ctx, time.Minute, func() error {
			st, err := s.c.Status(ctx, node)
			if err == nil && !(st.Node.Ready && st.Cluster.Quorum) {
				err = fmt.Errorf("%s: ready %v, quorum %v", node, st.Node.Ready, st.Cluster.Quorum)
			}
			return err
		}))
		step("%s takes part again", node)
	}
}

// unended are the harvests that have a date to come.
func (s *trial) unended() (names []string) {
	for _, p := range s.plans {
		var h wire.Harvest
		s.ask(func(ctx context.Context, archive *client.Client) (err error) {
			h, err = archive.Harvests().Show(ctx, p.number)
			return err
		})
		if h.State == wire.HarvestFailed || h.State == wire.HarvestInactive {
			s.t.Fatalf("%s is %s: %s %s", p.name, h.State, h.Error, h.Detail)
		}
		if !h.Next.IsZero() {
			names = append(names, p.name)
		}
	}
	return names
}

// await waits until all jobs have ended and all files are stored.
func (s *trial) await(step func(string, ...any)) {
	check(s.t, s.c.Settled(s.t.Context(), "north-1", time.Minute))
	for _, p := range s.plans {
		check(s.t, Eventually(s.t.Context(), 5*time.Minute, func() error {
			var h wire.Harvest
			s.ask(func(ctx context.Context, archive *client.Client) (err error) {
				h, err = archive.Harvests().Show(ctx, p.number)
				return err
			})
			if h.State != wire.HarvestEnded {
				return fmt.Errorf("%s is %s", p.name, h.State)
			}
			for run := range h.Runs {
				for _, job := range s.jobs(p, run+1) {
					if job.State != wire.JobDone {
						return fmt.Errorf("%s: job %d of run %d is %s on %s: %s", p.name, job.ID, run+1, job.State,
							job.NodeName, job.Reason)
					}
				}
			}
			return nil
		}))
	}
	step("all jobs have ended, after %d kills", len(s.kills))
	_, err := s.c.Stored(s.t.Context(), "south-1", 3*time.Minute)
	check(s.t, err)
	step("all files are stored")
}

// jobs are the jobs of a run.
func (s *trial) jobs(p *trialPlan, run uint64) []wire.Job {
	return all(s, func(ctx context.Context, archive *client.Client) iter.Seq2[wire.Job, error] {
		return archive.Harvests().Jobs(ctx, p.number, run)
	})
}

// runs are the runs of a harvest, the first first.
func (s *trial) runs(p *trialPlan) []wire.HarvestRun {
	runs := all(s, func(ctx context.Context, archive *client.Client) iter.Seq2[wire.HarvestRun, error] {
		return archive.Harvests().Runs(ctx, p.number)
	})
	slices.Reverse(runs)
	return runs
}
