package crawler

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/fetch"
	"holdfast/crawler/render"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Config is what a crawl needs. Dir and Job must be given.
type Config struct {
	Dir      string                    // gets warcs/ logs/ reports/ state/ settings/
	Job      harvest.Job               // what to crawl
	Prefix   string                    // of WARC file names; default: the job's name
	Node     string                    // last part of WARC file names; default: the host's name
	Info     []warc.Field              // further lines of each warcinfo record: provenance
	Disk     *disk.Disk                // default: the operating system's
	Log      *slog.Logger              // default: none
	Finished func(warc.Finished) error // takes each WARC file that is complete; see Crawl.Run
	Pacer    chain.Pacer               // keeps it polite together with other crawls; default: it is alone
	Earlier  chain.Earlier             // what earlier jobs archived; default: nothing
	Forget   bool                      // what settings were changed to while the crawl ran; default: that holds
	From     string                    // a checkpoint to start from; default: the crawl's last state
}

// Check reports whether a valid job can be crawled by this program, on any machine that has what it needs: its rules
// and expressions can be compiled. The error wraps harvest.ErrInvalid.
func Check(job harvest.Job) error {
	return errors.Join(scope.Check(job.Settings), checkRoutes(&job.Settings), checkCookies(job.Settings.FirstCookies))
}

// Able reports whether this machine has what a job needs: this program understands its rules, and the programs that
// it asks for are installed. The job's secrets need not be there. The error wraps harvest.ErrInvalid.
func Able(job harvest.Job) error {
	return errors.Join(scope.Check(job.Settings), render.Available(&job.Settings))
}

func checkRoutes(s *harvest.Settings) error {
	if _, err := fetch.NewRoutes(s.Proxies, s.SourceAddresses); err != nil {
		return fmt.Errorf("%w: %w", harvest.ErrInvalid, err)
	}
	return nil
}

func checkCookies(text string) error {
	if _, err := fetch.NewJar(0).ImportText([]byte(text), time.Now()); err != nil {
		return fmt.Errorf("%w: first_cookies: %w", harvest.ErrInvalid, err)
	}
	return nil
}

func (cfg *Config) complete() error {
	if cfg.Dir == "" {
		return errors.New("crawl: no folder given")
	}
	if cfg.Disk == nil {
		d := disk.New()
		cfg.Disk = &d
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = cfg.Job.Name
	}
	if cfg.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name of this machine: %w", err)
		}
		cfg.Node = name
	}
	if cfg.Finished == nil {
		cfg.Finished = func(warc.Finished) error { return nil }
	}
	return nil
}

// info is the provenance in each warcinfo record.
func (cfg *Config) info(s *harvest.Settings) []warc.Field {
	info := []warc.Field{
		{Name: "software", Value: "Holdfast/1.0"},
		{Name: "hostname", Value: cfg.Node},
		{Name: "isPartOf", Value: cfg.Job.Name},
		{Name: "robots", Value: string(s.Robots)},
		{Name: "http-header-user-agent", Value: s.Agent()},
	}
	if operator := s.Operator; operator != "" || s.OperatorContact != "" {
		if operator != "" && s.OperatorContact != "" {
			operator += ", "
		}
		info = append(info, warc.Field{Name: "operator", Value: operator + s.OperatorContact})
	}
	if s.From() != "" {
		info = append(info, warc.Field{Name: "http-header-from", Value: s.From()})
	}
	return append(info, cfg.Info...)
}
