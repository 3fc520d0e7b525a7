package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/index"
)

type crawlCmd struct {
	crawlFlags
	listFlags
	Out    string   `required:"" placeholder:"DIR" help:"Write warcs/, logs/ and reports/ into this folder. A crawl that was interrupted there is continued."`
	Name   string   `default:"crawl" help:"The job's name."`
	From   string   `name:"checkpoint" placeholder:"NAME" help:"Start again from this checkpoint of the crawl in DIR."`
	Forget bool     `name:"forget-changes" help:"Forget the settings changed while the crawl in DIR ran. Without this they stay, except those that are given here with another value than the crawl began with."`
	Prior  []string `name:"earlier" placeholder:"PATH" sep:"none" help:"WARC files of earlier crawls, or folders of them. Content that they hold already is recorded as a revisit, according to the settings deduplicate and conditional. May be repeated."`
	Seeds  []string `arg:"" optional:"" name:"url" help:"URLs to start from."`
}

func (crawlCmd) exits() []string {
	return []string{"0   ended: completed, or a limit was reached", "1   failed, or no seed was captured",
		"130 interrupted; the same command continues the crawl"}
}

// crawled is what crawl answers.
type crawled struct {
	Dir        string   `json:"dir"`
	Stop       string   `json:"stopReason"`
	Discovered int64    `json:"discovered"`
	Fetched    int64    `json:"fetched"`
	Failed     int64    `json:"failed"`
	Queued     int64    `json:"queued"`
	Bytes      int64    `json:"bytes"`
	Seconds    float64  `json:"seconds"`
	Files      []string `json:"files"`
	Damaged    []string `json:"damagedFiles,omitempty"` // kept as they were found
	Again      int      `json:"fetchedAgain,omitempty"` // URIs whose records were lost with them

	restore string
	seeds   crawler.SeedSummary
}

func (c crawlCmd) Run(a *app) (err error) {
	settings, err := c.settings(attended)
	if err != nil {
		return err
	}
	seeds, prefixes, err := c.listFlags.read()
	if err != nil {
		return err
	}
	settings.SURTPrefixes = append(settings.SURTPrefixes, prefixes...)
	job := harvest.Job{Name: c.Name, Seeds: append(c.Seeds, seeds...), Settings: settings}
	if len(job.Seeds) == 0 {
		return exitError{exitUsage, errors.New("no seeds: give URLs or --seed-file")}
	}
	if err := a.checked(&job); err != nil {
		return err
	}
	run := crawler.Config{Dir: c.Out, Job: job, From: c.From, Forget: c.Forget}
	if len(c.Prior) > 0 {
		if settings.Deduplicate == "none" && !settings.Conditional && len(settings.Sheets) == 0 {
			return errors.New("--earlier changes nothing while deduplicate is none and conditional is false: give " +
				"--set deduplicate=url, digest or equivalent, or --set conditional=true")
		}
		earlier, failed := openShelf(a, filepath.Join(c.Out, "state", "earlier"), c.Prior)
		if errors.Is(failed, index.ErrInUse) {
			return inUse(c.Out)
		}
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, earlier.index.Close()) }()
		run.Earlier = crawler.Archived{Captures: earlier, Records: earlier, Log: a.log}
	}
	done, err := crawlAll(a, run)
	if err != nil {
		return err
	}
	if err := a.answer(done, func() error {
		rows := []table.Row{{"ended", done.Stop}, {"found", done.Discovered}, {"fetched", done.Fetched},
			{"failed", done.Failed},
			{"left", done.Queued}, {"bytes", size(done.Bytes)},
			{"time", time.Duration(done.Seconds * float64(time.Second)).Round(time.Millisecond)},
			{"files", fmt.Sprintf("%d in %s", len(done.Files), filepath.Join(done.Dir, "warcs"))}}
		if len(done.Damaged) > 0 {
			rows = append(rows, table.Row{"damaged",
				fmt.Sprintf("%s; %d URIs queued again", strings.Join(done.Damaged, ", "), done.Again)})
		}
		return a.table(nil, rows)
	}); err != nil {
		return err
	}
	if a.ctx.Err() != nil {
		return exitError{exitInterrupted, errors.New("interrupted; the same command continues the crawl")}
	}
	return a.missed(done.seeds)
}

// inUse says that another process crawls in a folder.
func inUse(dir string) error {
	return fmt.Errorf("another process crawls in %s: holdfast job live %s shows it, and job pause, stop, set and "+
		"restore control it. For another crawl, give another --out", dir, dir)
}

// crawlAll crawls until no operator wants it started from a checkpoint again. It takes orders all the time.
func crawlAll(a *app, cfg crawler.Config) (crawled, error) {
	cfg.Log = a.log
	if !a.Verbose {
		cfg.Log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	var orders latest
	deaf := func() {}
	defer func() { deaf() }()
	for {
		run, err := crawler.New(cfg)
		if errors.Is(err, crawler.ErrRuns) {
			return crawled{}, inUse(cfg.Dir)
		}
		if err != nil {
			return crawled{}, err
		}
		if orders.Swap(run) == nil {
			if stop, err := serveControl(a.ctx, cfg.Dir, &orders); err == nil {
				deaf = stop
			} else {
				a.log.Warn("the crawl takes no orders", "error", err)
			}
		}
		done, err := crawl(a, cfg.Dir, run)
		if err != nil || done.restore == "" {
			return done, err
		}
		cfg.From, cfg.Forget = done.restore, false
	}
}

// latest is the crawl that was opened last: until the next is, it tells that it does not end for good.
type latest struct{ atomic.Pointer[crawler.Crawl] }

func (l *latest) Obey(ctx context.Context, o act.Order) (harvest.Reply, error) {
	return l.Load().Obey(ctx, o)
}

// crawl runs a crawl, showing its progress.
func crawl(a *app, dir string, run *crawler.Crawl) (crawled, error) {
	ctx, stop := context.WithCancel(a.ctx)
	progress := a.bars()
	bar := progress.count("crawl", 0)
	begun := run.Progress()
	bar.from(begun.Finished, begun.Discovered)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_ = every(ctx, 200*time.Millisecond, func() (bool, error) { // ends with ctx
			p := run.Progress()
			bar.set(p.Finished, p.Discovered)
			if bar != nil {
				bar.on(atNow(run.Obey(ctx, act.Order{Act: act.Live{}})))
			}
			return false, nil
		})
	}()
	summary, err := run.Run(a.ctx)
	stop()
	<-shown
	bar.set(summary.Counters.Finished, summary.Counters.Finished)
	bar.end(err == nil)
	progress.wait()
	if err != nil {
		return crawled{}, err
	}
	n := summary.Counters
	done := crawled{Dir: dir, Stop: summary.Reason, Discovered: n.Discovered, Fetched: n.Succeeded, Failed: n.Failed,
		Queued: n.Queued, Bytes: n.Bytes,
		Seconds: summary.Elapsed.Seconds(), Files: []string{}, Damaged: summary.Damage.Files,
		Again: summary.Damage.URIs, restore: summary.Restore, seeds: summary.Seeds}
	entries, err := os.ReadDir(filepath.Join(dir, "warcs"))
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".damaged") {
			done.Files = append(done.Files, e.Name())
		}
	}
	return done, err
}
