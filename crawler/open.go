package crawler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/control"
	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/journal"
	"holdfast/crawler/plan"
	"holdfast/crawler/render"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// ErrRuns reports that another process crawls in the folder.
var ErrRuns = errors.New("another process crawls in this folder")

// New opens the crawl in cfg.Dir, or begins it. It first puts in order what a killed process left: torn WARC files
// are salvaged, their records are accounted for, and the logs are cut to match. After an error nothing stays open.
// After ErrRuns the other process's crawl is unchanged.
func New(cfg Config) (crawl *Crawl, err error) { return newAt(cfg, time.Now) }

// newAt is New with the clock that the windows of sheets are seen by.
func newAt(cfg Config, now func() time.Time) (crawl *Crawl, err error) {
	if err := errors.Join(cfg.Job.Validate(), Check(cfg.Job)); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Crawl{cfg: cfg, disk: *cfg.Disk, log: cfg.Log, live: report.NewLive(),
		board: report.NewBoard(stageNames()...),
		crew:  chain.NewCrew(), browsers: render.NewBrowsers(cfg.Dir), halted: make(chan struct{})}
	if c.plan, err = plan.Follow(cfg.Job.Settings, now); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for _, dir := range []string{"warcs", "logs", "reports", "settings", "state/frontier", "state/spill",
		"state/checkpoints"} {
		if err := c.disk.MkdirAll(filepath.Join(cfg.Dir, dir)); err != nil {
			return nil, err
		}
	}
	// It holds cookies, of logins too.
	if err := os.Chmod(filepath.Join(cfg.Dir, "state"), 0o700); err != nil {
		return nil, fmt.Errorf("keep the crawl's state from other users of this machine: %w", err)
	}
	if err := c.lockFolder(); err != nil {
		return nil, err
	}
	checkpoints := &journal.Checkpoints{Dir: cfg.Dir, Disk: c.disk, Log: c.log}
	if err := checkpoints.TakeBack(cfg.From); err != nil {
		return nil, err
	}
	for _, open := range []func() error{c.openFrontier, c.openParts} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	if err := c.openJournal(checkpoints); err != nil {
		return nil, err
	}
	if err := c.openFiles(); err != nil {
		return nil, err
	}
	return c, c.addSeeds()
}

func stageNames() (names []string) {
	for _, s := range chain.Stages() {
		names = append(names, s.Name)
	}
	return append(names, chain.PostName)
}

// lockFolder keeps other crawls out of the folder, until close.
func (c *Crawl) lockFolder() error {
	unlock, err := disk.Lock(filepath.Join(c.cfg.Dir, "state", "lock"))
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%s: %w", c.cfg.Dir, ErrRuns)
	}
	if err != nil {
		return fmt.Errorf("keep other crawls out of %s: %w", c.cfg.Dir, err)
	}
	c.unlock = unlock
	return nil
}

// openFrontier opens the frontier, and applies earlier changes of settings.
func (c *Crawl) openFrontier() (err error) {
	c.frontier, err = frontier.Open(frontier.Config{Dir: filepath.Join(c.cfg.Dir, "state", "frontier"),
		Policy: c.plan.Policy, Log: c.log})
	if err != nil {
		return err
	}
	c.changes = &plan.Changes{Frontier: c.frontier, Given: c.cfg.Job.Settings, Forget: c.cfg.Forget, Log: c.log}
	c.treatment = &plan.Treatment{Plan: c.plan, Frontier: c.frontier}
	settings, err := c.changes.Recall()
	if err != nil {
		return err
	}
	if err := c.plan.Follow(settings); err != nil {
		return err
	}
	now := c.plan.Base()
	c.frontier.SetMaxActive(now.MaxActiveQueues)
	c.frontier.Rest(now.MinDelay.Std())
	return c.writeSettings()
}

// openParts makes the parts that the stages need, from settings, seeds and the frontier.
func (c *Crawl) openParts() (err error) {
	s := c.plan.Base()
	p := &c.parts
	if p.Domains, err = c.openDomains(); err != nil {
		return err
	}
	p.Plan, p.Frontier, p.Pacer, p.Objects, p.Limits = c.plan, c.frontier, c.cfg.Pacer, &c.objects, c.checkLimits
	c.seeds = newSeeds(c.cfg.Job.Seeds)
	if p.Scope, err = scope.New(c.plan.Sheets(), p.Domains, c.seeds.normal, c.log); err != nil {
		return err
	}
	p.Entries = &plan.Entries{}
	if p.Entries.Canon, err = scope.NewCanonicalizer(s.Canonicalization); err != nil {
		return err
	}
	p.Servers, p.Quotas = hosts.NewServers(c.frontier), hosts.NewQuotas(c.frontier, p.Domains)
	p.Heard, p.Searched = hosts.NewHeard(c.frontier), chain.NewSearched()
	p.Slots, p.Limiters, p.Bandwidth = &hosts.Turns{}, hosts.NewLimiters(), fetch.NewLimiter(s.Bandwidth)
	p.Jar, p.Logins = fetch.NewJar(0), fetch.NewLogins(s.Credentials, p.Domains.Logins)
	p.Resolver = &fetch.Resolver{Hosts: "/etc/hosts", Config: "/etc/resolv.conf", Server: s.Nameserver,
		Timeout: 5 * time.Second, MaxTTL: s.MaxDNSTTL.Std()}
	p.Client = fetch.New(fetch.Config{UserAgent: s.Agent(), From: s.From(), Timeout: s.FetchTimeout.Std(),
		Idle: s.IdleTimeout.Std(), MaxBody: s.MaxDocumentBytes, SpillDir: filepath.Join(c.cfg.Dir, "state", "spill"),
		Allowed: c.plan.Allowed, MaxIdle: 2 * s.Workers})
	if p.Guesses, err = hosts.NewGuesses(c.frontier); err != nil {
		return err
	}
	p.Links = &chain.Links{Plan: c.plan, Entries: p.Entries, Scope: p.Scope, Frontier: c.frontier,
		Known: chain.NewKnown(), Guesses: p.Guesses}
	return c.recallParts()
}

// valueCountBy names the frontier's value that says for which domains documents count; none: those of their URLs, as in
// crawls from before there was a choice.
const valueCountBy = "count_by"

// openDomains makes the table of the job's domains ready. A crawl goes on counting as it began.
func (c *Crawl) openDomains() (*scope.Domains, error) {
	by := c.plan.Base().CountBy
	if c.frontier.Counters().Discovered > 0 {
		began, err := c.frontier.Value(valueCountBy)
		if err != nil {
			return nil, err
		}
		if by = harvest.CountBy(began); by == "" {
			by = harvest.CountByURL
		}
	} else if by != harvest.CountByURL {
		c.frontier.SetValue(valueCountBy, []byte(by))
	}
	return scope.NewDomains(c.cfg.Job.Domains, by)
}

// recallParts loads state from the frontier into the parts: blocks, widenings of the scope, what is known of traps, and
// sites with their own queue.
func (c *Crawl) recallParts() error {
	for _, known := range []struct {
		prefix string
		take   func(name string) error
	}{
		{control.ValueBlocked, c.parts.Scope.Block},
		{chain.ValueAdmitted, func(url string) error { c.parts.Scope.Admit(url); return nil }},
		{valueTraps, func(name string) error {
			data, err := c.frontier.Value(valueTraps + name)
			if err != nil {
				return err
			}
			return c.parts.Scope.Traps().Recall(name, data)
		}},
		{chain.ValueAside, func(site string) error { c.parts.Entries.Aside.Add(site); return nil }},
	} {
		if err := c.frontier.Values(known.prefix, func(name string, _ []byte) error {
			return known.take(strings.TrimPrefix(name, known.prefix))
		}); err != nil {
			return fmt.Errorf("read the crawl's state (%s): %w", known.prefix, err)
		}
	}
	return nil
}

// openJournal opens logs and journal as of the last commit, and brings the WARC files into line with them.
func (c *Crawl) openJournal(checkpoints *journal.Checkpoints) error {
	logged, err := c.openLogs()
	if err != nil {
		return err
	}
	p := &c.parts
	p.Logs, p.Log, p.Events = c.logs, c.log, c.events
	p.Dedup = &chain.Dedup{Plan: c.plan, Frontier: c.frontier, Scope: p.Scope, Canon: p.Entries.Canon,
		Before: c.cfg.Earlier, Log: c.log}
	c.course = control.NewCourse(c.frontier, c.logs, c.events)
	j, recovery, err := journal.Open(journal.Config{Dir: c.cfg.Dir, Disk: c.disk, Plan: c.plan, Entries: p.Entries,
		Frontier: c.frontier, Links: p.Links, Dedup: p.Dedup, Servers: p.Servers, Quotas: p.Quotas, Jar: p.Jar,
		Objects: &c.objects, Logs: c.logs, Logged: logged, Live: c.live, Events: c.events, Log: c.log,
		Checkpoints: checkpoints,
		Finished:    c.cfg.Finished, Elapsed: c.course.Elapsed, Idle: func() bool { return c.crew.Busy() == 0 },
		Cookies: c.cfg.Job.Settings.FirstCookies})
	if err != nil {
		return err
	}
	c.journal, p.LoggedIn = j, j.Cookies.Due
	c.course.RanBefore(j.Figures.Elapsed())
	c.seeds.plan, c.seeds.frontier, c.seeds.entries, c.seeds.journal = c.plan, c.frontier, p.Entries, j
	c.seeds.logs, c.seeds.log = c.logs, c.log
	c.reports = newReports(c)
	c.openOrders(checkpoints)
	c.damage, err = recovery.Run()
	return err
}

// openLogs opens the logs, and what happens is told in them; it returns the size of crawl.log at the last commit.
func (c *Crawl) openLogs() (logged int64, err error) {
	last, err := events.LastNumber(filepath.Join(c.cfg.Dir, "logs", report.JobLog))
	if err != nil {
		return 0, err
	}
	if c.logs, logged, err = journal.OpenLogs(c.disk, c.cfg.Dir, c.frontier); err != nil {
		return 0, err
	}
	job := c.logs.Job
	hub := events.NewHub(events.Config{Last: last, Write: func(line []byte) {
		job.Add(func(b []byte) []byte { return append(b, line...) })
	}})
	c.events = hub
	c.log = slog.New(report.NewAlerts(c.log.Handler(), c.logs.Alerts, "crawler", func(alert string) {
		hub.Publish(events.Event{Kind: events.Alert, Reason: alert})
	}))
	return logged, nil
}

// openOrders prepares what carries out orders.
func (c *Crawl) openOrders(checkpoints *journal.Checkpoints) {
	p := &c.parts
	look := &control.Look{Dir: c.cfg.Dir, Course: c.course, Frontier: c.frontier, Quotas: p.Quotas,
		Figures: c.journal.Figures, Rates: c.live, Board: c.board, Logs: c.logs, Events: c.events}
	explainer := &control.Explainer{Dir: c.cfg.Dir, Plan: c.plan, Scope: p.Scope, Canon: p.Entries.Canon,
		Frontier: c.frontier, Servers: p.Servers, Quotas: p.Quotas, Logs: c.logs, Board: c.board, Seeds: c.seeds.all}
	c.orders = &control.Orders{Dir: c.cfg.Dir, Gate: control.NewGate(c.halted), Course: c.course, Look: look,
		Explainer: explainer, Checkpoints: checkpoints, Journal: c.journal, Frontier: c.frontier, Crew: c.crew,
		Scope: p.Scope,
		Canon: p.Entries.Canon, Servers: p.Servers, Events: c.events, AddSeeds: c.AddSeeds, Change: c.changeBy,
		WriteReport: c.reports.writeNow}
}

// openFiles prepares the writers of WARC files.
func (c *Crawl) openFiles() error {
	s := c.plan.Base()
	for i := range s.WARCWriters {
		node := c.cfg.Node
		if i > 0 { // no two writers may come upon the same name
			node = fmt.Sprintf("%s~%d", node, i+1)
		}
		f, err := warc.NewFiles(c.disk, warc.FilesConfig{Dir: filepath.Join(c.cfg.Dir, "warcs"), Prefix: c.cfg.Prefix,
			Node: node, MaxBytes: s.WARCBytes, Compression: warc.Gzip, Level: s.WARCLevel, Info: c.cfg.info(s)},
			c.journal.Handover.Finish)
		if err != nil {
			return err
		}
		c.files = append(c.files, f)
	}
	c.journal.Write(c.files)
	return nil
}

// addSeeds queues the seeds that the frontier does not know, and logs the bad ones. In a new crawl these have the first
// queues.
func (c *Crawl) addSeeds() error {
	if err := c.treatment.Begin(); err != nil {
		return err
	}
	if _, err := c.seeds.queue(c.seeds.normal, c.seeds.bad, false); err != nil {
		return err
	}
	return c.journal.Commit()
}

func (c *Crawl) writeSettings() error {
	job := c.cfg.Job
	job.Settings = c.plan.Base().Redacted()
	data, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return fmt.Errorf("write settings of job %s: %w", c.cfg.Job.Name, err)
	}
	return c.disk.WriteFile(filepath.Join(c.cfg.Dir, "settings", "job.json"), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}
