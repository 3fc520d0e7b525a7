package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"holdfast/crawler"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// The folder of a crawl without a cluster can be given in place of a job's number.

// ofFolder is what job show answers of a crawl in a folder.
type ofFolder struct {
	Dir    string        `json:"dir"`
	Runs   bool          `json:"runs"`
	Live   *harvest.Live `json:"live,omitempty"`   // while it runs
	Report []string      `json:"report,omitempty"` // lines of its crawl report, else
}

// showFolder shows the state of a crawl in a folder, or how it ended.
func showFolder(a *app, dir string) error {
	reply, err := a.order(dir, act.Live{})
	if err == nil && reply.Live != nil {
		return a.answer(ofFolder{Dir: dir, Runs: true, Live: reply.Live},
			func() error { return showLive(a, reply.Live) })
	}
	past, failed := crawler.Past(a.ctx, dir, act.Order{Act: act.Report{Name: "crawl"}})
	if errors.Is(failed, fs.ErrNotExist) || failed != nil && err != nil {
		return err // it says what kind of folder that is
	}
	if failed != nil {
		return failed
	}
	return a.answer(ofFolder{Dir: dir, Report: past.Lines}, func() error {
		for _, line := range past.Lines {
			if _, err := fmt.Fprintln(a.stdout, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyLog writes the last lines of the crawl.log in a folder, or all.
func copyLog(dir string, tail int, out io.Writer) error {
	err := report.CopyTail(out, filepath.Join(dir, "logs", report.CrawlLog), tail)
	if errors.Is(err, fs.ErrNotExist) {
		return notRunning(dir, err)
	}
	return err
}
