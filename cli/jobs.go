package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

type jobCmd struct {
	Create jobCreateCmd     `cmd:"" help:"Create a job, which is a crawl; a node with a free slot runs it."`
	List   jobListCmd       `cmd:"" help:"List the jobs, newest first."`
	Show   jobShowCmd       `cmd:"" help:"Show a job, with live progress while it runs."`
	Stats  jobStatisticsCmd `cmd:"" name:"statistics" help:"List what a job that has ended brought for each configuration of a domain."`
	Index  jobIndexCmd      `cmd:"" help:"Print one index of several jobs: CDX, crawl.log and CDX together, or documents."`
	Copy   jobRecordsCmd    `cmd:"" name:"records" help:"Copy records out of a job's files, by URL and media type, into one WARC file."`
	Log    jobLogCmd        `cmd:"" help:"Print the end of a job's crawl.log."`
	Both   jobOverlapsCmd   `cmd:"" name:"overlaps" help:"List the domains of an unfinished job that other unfinished jobs crawl too."`
	Papers jobDocumentsCmd  `cmd:"" name:"documents" help:"List or print the settings, reports and logs of a job that has ended, from its metadata file."`
	Pause  jobPauseCmd      `cmd:"" help:"Pause a job."`
	Resume jobResumeCmd     `cmd:"" help:"Resume a paused job."`
	Stop   jobStopCmd       `cmd:"" help:"Stop a job. What it has harvested is kept."`
	Again  jobAgainCmd      `cmd:"" name:"resubmit" help:"Create a new job from a failed one."`
	Reject jobRejectCmd     `cmd:"" help:"Mark a failed job as final: it will not be tried again."`
	controlCmds
}

// crawlFlags are the crawl settings that a command line can give; a template can give all. What they mean and their
// defaults are those of harvest.Reference (see settingVars).
type crawlFlags struct {
	Template     string        `placeholder:"FILE" help:"Read settings from this JSON file: settings alone, or a whole job as in settings/job.json or printed by job show --json. The other flags take precedence."`
	Scope        string        `placeholder:"${default_scope}" help:"${setting_scope} One of ${words_scope}."`
	MaxHops      *int          `placeholder:"${default_max_hops}" help:"${setting_max_hops}"`
	MaxObjects   *int64        `placeholder:"N" help:"${setting_max_objects}"`
	MaxTime      time.Duration `placeholder:"TIME" help:"${setting_max_time}"`
	MinDelay     time.Duration `placeholder:"${default_min_delay}" default:"-1s" help:"${setting_min_delay}"`
	Workers      *int          `placeholder:"${default_workers}" help:"${setting_workers}"`
	AllowPrivate bool          `help:"${setting_allow_private}"`
	Nameserver   string        `placeholder:"ADDR:PORT" help:"${setting_nameserver}"`
	IgnoreRobots bool          `help:"Ignore robots.txt, and do not fetch it."`
	Set          []string      `placeholder:"NAME=VALUE" sep:"none" help:"Any setting (holdfast settings list shows them all), such as max_path_segments=10 or 'traps=[\".*calendar.*\"]'; may be repeated."`
	Contact      string        `env:"HOLDFAST_CONTACT" placeholder:"URL" help:"${setting_operator_contact}"`
}

// settingVars are the texts of settings that tags of crawlFlags refer to: ${setting_NAME} is what the setting means,
// ${default_NAME} its default, ${words_NAME} the words that it takes. Others are left out, since kong walks all
// variables for each flag of each command.
func settingVars() kong.Vars {
	tags := tagsOfCrawlFlags()
	vars := kong.Vars{}
	for _, s := range harvest.Reference() {
		for name, text := range map[string]string{
			"setting_" + s.Name: s.Help,
			"default_" + s.Name: strings.Trim(string(s.Default), `"`),
			"words_" + s.Name:   strings.Join(s.Allowed, ", "),
		} {
			if strings.Contains(tags, "${"+name+"}") {
				vars[name] = text
			}
		}
	}
	return vars
}

func tagsOfCrawlFlags() string {
	var tags strings.Builder
	for field := range reflect.TypeFor[crawlFlags]().Fields() {
		tags.WriteString(string(field.Tag))
	}
	return tags.String()
}

// attended are the defaults of a crawl that somebody waits for, where a template gives no others: a host that never
// answered has three tries in two minutes.
func attended(s *harvest.Settings) {
	if s.SilentRetries == 0 && s.SilentRetryDelay == 0 {
		s.SilentRetries, s.SilentRetryDelay = 2, harvest.Duration(time.Minute)
	}
}

// settings are the defaults, the template over them, the command's own changes over that, and the flags over all.
func (f crawlFlags) settings(own ...func(*harvest.Settings)) (harvest.Settings, error) {
	s := harvest.DefaultSettings()
	if f.Template != "" {
		text, err := os.ReadFile(f.Template)
		if err != nil {
			return s, fmt.Errorf("read the template: %w", err)
		}
		if s, err = harvest.ParseTemplate(text); err != nil {
			return s, fmt.Errorf("%s: %w", f.Template, err)
		}
	}
	for _, change := range own {
		change(&s)
	}
	if f.Scope != "" {
		s.Scope = harvest.ScopeMode(f.Scope)
	}
	if f.MaxHops != nil {
		s.MaxHops = *f.MaxHops
	}
	if f.MaxObjects != nil {
		s.MaxObjects = *f.MaxObjects
	}
	if f.MaxTime > 0 {
		s.MaxTime = harvest.Duration(f.MaxTime)
	}
	if f.MinDelay >= 0 {
		s.MinDelay = harvest.Duration(f.MinDelay)
		s.MaxDelay = max(s.MaxDelay, s.MinDelay)
		if f.MinDelay == 0 {
			s.DelayFactor = 0
		}
	}
	if f.Workers != nil {
		s.Workers = *f.Workers
	}
	if f.IgnoreRobots {
		s.Robots = harvest.RobotsIgnore
	}
	if f.Nameserver != "" {
		s.Nameserver = f.Nameserver
	}
	if f.Contact != "" {
		s.OperatorContact = f.Contact
	}
	s.AllowPrivate = s.AllowPrivate || f.AllowPrivate
	patch, err := harvest.ParsePatch(f.Set)
	if err == nil {
		err = s.Lay(patch)
	}
	if err != nil {
		return s, err
	}
	return s, s.Validate()
}

type jobCreateCmd struct {
	crawlFlags
	Name       string   `required:"" help:"The job's name."`
	Collection string   `help:"The collection that its files belong to. Default: the cluster's first."`
	Channel    string   `placeholder:"FOCUSED" help:"The channel of the job: only nodes that serve it may take the job."`
	Wait       bool     `help:"Wait until the job has ended."`
	Seeds      []string `arg:"" name:"url" help:"URLs to start from."`
}

func (jobCreateCmd) exits() []string {
	return []string{"0   created; with --wait: done", "1   refused; with --wait: the job failed"}
}

func (c jobCreateCmd) Run(a *app) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		job, err := archive.Jobs().Create(ctx, wire.JobRequest{Name: c.Name, Collection: c.Collection,
			Channel: c.Channel, Seeds: c.Seeds, Settings: &wire.Settings{Settings: settings}})
		if err != nil {
			return err
		}
		if c.Wait {
			if job, err = waitJob(ctx, a, archive, job.ID); err != nil {
				return err
			}
		}
		if err := showJob(a, job); err != nil {
			return err
		}
		if c.Wait && job.State != wire.JobDone {
			return errNo
		}
		return nil
	})
}

// waitJob shows the job's progress until it has ended.
func waitJob(ctx context.Context, a *app, archive *client.Client, id uint64) (job wire.Job, err error) {
	progress := a.bars()
	defer progress.wait()
	shown := progress.count(fmt.Sprintf("job %d", id), 0)
	var looked time.Time
	err = every(ctx, 200*time.Millisecond, func() (bool, error) {
		if job, err = archive.Jobs().Show(ctx, id); err != nil {
			return false, err
		}
		if p := job.Progress; p != nil {
			shown.set(p.Done+p.Failed, p.Discovered)
			if shown != nil && time.Since(looked) > time.Second {
				looked = time.Now()
				shown.on(atNow(archive.Jobs().Act(ctx, id, act.Live{})))
			}
		}
		return ended(job), nil
	})
	if err == nil {
		shown.set(job.Stats.Objects+job.Stats.Failed, job.Stats.Objects+job.Stats.Failed)
	}
	shown.end(err == nil)
	return job, err
}

// atNow is the URL that a crawl has been at for longest, or what it waits for, as far as it tells.
func atNow(reply harvest.Reply, err error) string {
	if err != nil || reply.Live == nil {
		return ""
	}
	if w := reply.Live.Waiting; w != nil && time.Until(w.Until) > time.Second {
		return waitsFor(w)
	}
	at, longest := "", harvest.Duration(-1)
	for _, w := range reply.Live.Workers {
		if w.URL != "" && w.For > longest {
			at, longest = w.URL, w.For
		}
	}
	return clip(at, 60)
}

// waitsFor says what a crawl waits for, and until when.
func waitsFor(w *harvest.Waiting) string {
	text := "waits until " + w.Until.Local().Format(time.TimeOnly)
	if w.Queue != "" {
		text += " for " + clip(w.Queue, 60)
	}
	if w.Why != "" {
		text += ": " + w.Why
	}
	return text
}

// clip shortens a text for a line of progress.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-1], "") + "…"
}

func ended(job wire.Job) bool {
	return job.State == wire.JobDone || job.State == wire.JobFailed || job.State == wire.JobResubmitted ||
		job.State == wire.JobFailedRejected
}

func showJob(a *app, j wire.Job) error {
	return a.answer(j, func() error {
		rows := []table.Row{{"id", j.ID}, {"harvest", j.Harvest}, {"collection", j.Collection},
			{"channel", j.Channel}, {"state", j.State},
			{"attempt", j.Attempt},
			{"node", j.NodeName}, {"created", when(j.Created)}, {"started", when(j.Started)}, {"ended", when(j.Ended)}}
		if j.Wish != "" {
			rows = append(rows, table.Row{"wish", string(j.Wish) + " " + j.WishReason})
		}
		if !j.WishBy.IsZero() && !ended(j) {
			rows = append(rows, table.Row{"cut off", when(j.WishBy)})
		}
		if j.Note != "" {
			rows = append(rows, table.Row{"note", j.Note})
		}
		if j.Reason != "" {
			rows = append(rows, table.Row{"reason", j.Reason})
		}
		for _, e := range []struct {
			what string
			err  *wire.JobError
		}{{"harvest error", j.HarvestErr}, {"upload error", j.UploadErr}} {
			if e.err != nil && e.err.Detail != "" {
				rows = append(rows, table.Row{e.what, e.err.Detail})
			}
		}
		if p := j.Progress; p != nil {
			rows = append(rows, table.Row{"done", fmt.Sprintf("%d of %d found, %d failed, %s, %.1f a second", p.Done,
				p.Discovered, p.Failed, size(p.Bytes), p.Rate)})
		} else if ended(j) {
			rows = append(rows, table.Row{"done", fmt.Sprintf("%d objects, %s, %d failed, %d files, %s",
				j.Stats.Objects, size(j.Stats.Bytes), j.Stats.Failed, j.Stats.Files, j.Stats.StopReason)})
		}
		for i, seed := range j.Seeds {
			if i == 10 {
				rows = append(rows, table.Row{"", fmt.Sprintf("and %d more", len(j.Seeds)-i)})
				break
			}
			rows = append(rows, table.Row{map[bool]string{true: "seeds"}[i == 0], seed})
		}
		return a.table(nil, rows)
	})
}

type jobShowCmd struct {
	Crawl string `arg:"" name:"job" help:"A job's number, or the folder of a crawl."`
}

func (c jobShowCmd) Run(a *app) error {
	id, err := strconv.ParseUint(c.Crawl, 10, 64)
	if err != nil {
		return showFolder(a, c.Crawl)
	}
	return ask(a, showJob, func(ctx context.Context, archive *client.Client) (wire.Job, error) {
		return archive.Jobs().Show(ctx, id)
	})
}

type jobLogCmd struct {
	Crawl string `arg:"" name:"job" help:"A job's number, or the folder of a crawl."`
	Tail  int    `default:"100" help:"Print this many lines from the end; 0 prints all."`
	Match string `placeholder:"REGEXP" help:"Of the log of a job, take only lines that contain a match of this regular expression; then --tail is at most 1000, or 0."`
}

func (jobLogCmd) Help() string {
	return "With --json, each line is a JSON string; the lines are those of Heritrix's crawl.log."
}

func (c jobLogCmd) Run(a *app) error {
	var out io.Writer = a.stdout
	lines := &jsonLines{to: json.NewEncoder(a.stdout)}
	if a.JSON {
		out = lines
	}
	id, err := strconv.ParseUint(c.Crawl, 10, 64)
	if err != nil {
		if c.Match != "" {
			return usage("--match is for the log of a job; job search looks through that of a folder")
		}
		err = copyLog(c.Crawl, c.Tail, out)
	} else {
		err = a.remote(func(ctx context.Context, archive *client.Client) error {
			return archive.Jobs().SearchLog(ctx, id, c.Match, c.Tail, out)
		})
	}
	if err != nil {
		return err
	}
	return lines.end()
}

// jsonLines writes each line of text as a JSON string.
type jsonLines struct {
	to   *json.Encoder
	rest []byte
}

func (j *jsonLines) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			j.rest = append(j.rest, c)
			continue
		}
		if err := j.to.Encode(string(j.rest)); err != nil {
			return 0, err
		}
		j.rest = j.rest[:0]
	}
	return len(p), nil
}

func (j *jsonLines) end() error {
	if len(j.rest) == 0 {
		return nil
	}
	return j.to.Encode(string(j.rest))
}

// jobWish are the arguments of pause, resume and stop.
type jobWish struct {
	target
	Reason string `help:"Reason, written into the audit trail and the job's log."`
}

// wish tells the cluster what somebody wants of a job, so that it outlasts restarts. How long a pause lasts, and wishes
// for a crawl in a folder, go to the crawl itself.
func (w jobWish) wish(a *app, wish wire.Wish, given act.Act, length time.Duration) error {
	id, err := strconv.ParseUint(w.Crawl, 10, 64)
	if err != nil || length > 0 && wish != wire.WishStop {
		return w.give(a, given)
	}
	return ask(a, showJob, func(ctx context.Context, archive *client.Client) (wire.Job, error) {
		if wish == wire.WishStop {
			return archive.Jobs().Stop(ctx, id, w.Reason, length)
		}
		return archive.Jobs().Wish(ctx, id, wish, w.Reason)
	})
}

type (
	jobPauseCmd struct {
		jobWish
		For time.Duration `placeholder:"TIME" help:"Resume by itself after this time."`
	}
	jobResumeCmd struct{ jobWish }
	jobStopCmd   struct {
		jobWish
		For time.Duration `placeholder:"TIME" help:"Let fetches in flight take this long before they are cut off; 10 minutes for a job of a cluster if not given."`
	}
)

func (c jobPauseCmd) Run(a *app) error {
	return c.wish(a, wire.WishPause, act.Pause{Reason: c.Reason, For: harvest.Duration(c.For)}, c.For)
}

func (c jobResumeCmd) Run(a *app) error { return c.wish(a, wire.WishRun, act.Resume{}, 0) }

func (c jobStopCmd) Run(a *app) error {
	return c.wish(a, wire.WishStop, act.Stop{Reason: c.Reason, For: harvest.Duration(c.For)}, c.For)
}

// jobEnd is the argument of resubmit and reject.
type jobEnd struct {
	ID uint64 `arg:"" name:"job" help:"The number of a job that failed."`
}

type (
	jobAgainCmd  struct{ jobEnd }
	jobRejectCmd struct{ jobEnd }
)

func (c jobAgainCmd) Run(a *app) error {
	return ask(a, showJob, func(ctx context.Context, archive *client.Client) (wire.Job, error) {
		return archive.Jobs().Resubmit(ctx, c.ID)
	})
}

func (c jobRejectCmd) Run(a *app) error {
	return ask(a, showJob, func(ctx context.Context, archive *client.Client) (wire.Job, error) {
		return archive.Jobs().Reject(ctx, c.ID)
	})
}
