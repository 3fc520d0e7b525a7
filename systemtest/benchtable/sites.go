package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"holdfast/harvest"
	"holdfast/systemtest"
	"holdfast/warc"
)

// siteRows are the lines of the crawl of documentation sites as Debian packages have them, served on loopback.
func siteRows() []row {
	seconds := unit{1, "s"}
	return []row{
		{name: "crawl six documentation sites", unit: unit{1, "/s"}, note: "pages; baseline: wget --warc-file"},
		{name: "  processor time, 1 000 pages", lower: true, unit: seconds, ratio: 3,
			note: "baseline: wget --warc-file"},
		{name: "  processor time, 1 000 pages", lower: true, unit: seconds, ratio: 0.70,
			note: "baseline: only digests, gzip, tokenizing"},
		{name: "  processor time, 1 000 pages", lower: true, unit: seconds, ratio: 3, note: "baseline: Heritrix"},
	}
}

// trip is what one crawl took and brought.
type trip struct {
	pages        int
	wall, worked time.Duration
}

func (t trip) perSecond() float64   { return float64(t.pages) / t.wall.Seconds() }
func (t trip) perThousand() float64 { return t.worked.Seconds() / float64(t.pages) * 1000 }

// crawlSites crawls the sites by turns with this program and with wget.
func (m *measurer) crawlSites(ctx context.Context, rows []row) []result {
	results := make([]result, len(rows))
	for i := range rows {
		results[i].row = rows[i]
	}
	all := func(set func(*result)) []result {
		for i := range results {
			set(&results[i])
		}
		return results
	}
	tools := filepath.Join("..", "shared", "realweb")
	if _, err := os.Stat(filepath.Join(tools, "realweb.sh")); err != nil {
		return all(func(r *result) {
			r.skipped = "not measured: the sites (../shared/realweb) are not beside this checkout"
		})
	}
	wget, err := exec.LookPath("wget")
	if err != nil {
		return all(func(r *result) { r.skipped = "not measured: wget is not on this machine" })
	}
	if err := m.inTurns(ctx, tools, wget, results); err != nil {
		return all(func(r *result) { r.err = err })
	}
	return results
}

func (m *measurer) inTurns(ctx context.Context, tools, wget string, results []result) (err error) {
	program := filepath.Join(m.dir, "holdfast")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	seeds, stop, err := m.serve(ctx, tools)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ours := append([]string{program, "crawl", "--out", "out", "--allow-private", "--min-delay", "0s", "--max-hops",
		"1000"}, seeds...)
	theirs := append([]string{wget, "-q", "-r", "-l", "inf", "--delete-after", "--warc-file=w"}, seeds...)
	var mine, other []trip
	least := make([]float64, 0, m.rounds)
	for i := range m.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d: crawl of six sites\n", i+1, m.rounds)
		for turn := range 2 {
			if turn == i%2 {
				t, floor, err := m.visit(ctx, ours, "out/warcs/*.warc.gz", true)
				if err != nil {
					return err
				}
				mine, least = append(mine, t), append(least, floor)
				continue
			}
			t, _, err := m.visit(ctx, theirs, "w.warc.gz", false)
			if err != nil {
				return err
			}
			other = append(other, t)
		}
	}
	of := func(trips []trip, f func(trip) float64) float64 {
		var values []float64
		for _, t := range trips {
			values = append(values, f(t))
		}
		return median(values)
	}
	results[0].mine, results[0].theirs = of(mine, trip.perSecond), of(other, trip.perSecond)
	results[0].note = fmt.Sprintf("%d pages; baseline: wget --warc-file, %d pages", mine[0].pages, other[0].pages)
	results[1].mine, results[1].theirs = of(mine, trip.perThousand), of(other, trip.perThousand)
	results[2].mine, results[2].theirs = results[1].mine, median(least)
	home := os.Getenv(envHeritrix)
	if home == "" {
		results[3].skipped = "not measured: " + envHeritrix + " names no folder"
		return nil
	}
	fmt.Fprintln(os.Stderr, "one round: crawl of six sites with Heritrix")
	t, err := m.heritrix(ctx, home, seeds)
	if err != nil {
		return err
	}
	results[3].mine, results[3].theirs = results[1].mine, t.perThousand()
	results[3].note = fmt.Sprintf("baseline: Heritrix, %d pages, one round", t.pages)
	return nil
}

// serve starts the sites on loopback and returns their start pages.
func (m *measurer) serve(ctx context.Context, tools string) (seeds []string, stop func() error, err error) {
	dir := filepath.Join(m.dir, "web")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(m.dir, 0o755); err != nil { // the server's workers are nobody
		return nil, nil, err
	}
	if tools, err = filepath.Abs(tools); err != nil {
		return nil, nil, err
	}
	w := systemtest.RealWeb{Tools: tools, Dir: dir,
		Debs: cmp.Or(os.Getenv("REALWEB"), filepath.Join(os.TempDir(), "realweb")),
		Port: cmp.Or(os.Getenv("PORT"), "8493")}
	if err := w.Start(ctx); err != nil {
		return nil, nil, err
	}
	seeds, err = w.Seeds("python", "apache", "postgres", "django", "sqlite", "qt")
	if err != nil {
		return nil, nil, errors.Join(err, w.Stop())
	}
	return seeds, w.Stop, nil
}

// visit runs one crawl in a folder of its own and counts the pages in its WARC files. With floor it also returns what
// processor time the least program would need for 1 000 of them.
func (m *measurer) visit(ctx context.Context, words []string, files string, floor bool) (trip, float64, error) {
	dir, err := os.MkdirTemp(m.dir, "crawl-")
	if err != nil {
		return trip{}, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	began := time.Now()
	out, err := cmd.CombinedOutput()
	t := trip{wall: time.Since(began)}
	var ended *exec.ExitError
	// 8: some page was not there
	if err != nil && !(errors.As(err, &ended) && filepath.Base(words[0]) == "wget" && ended.ExitCode() == 8) {
		return t, 0, fmt.Errorf("%s: %w: %s", filepath.Base(words[0]), err, out[max(0, len(out)-500):])
	}
	t.worked = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	pages, err := readPages(filepath.Join(dir, files))
	if err != nil || len(pages) == 0 {
		return t, 0, fmt.Errorf("%d pages in %s: %w", len(pages), files, err)
	}
	t.pages = len(pages)
	if !floor {
		return t, 0, nil
	}
	least, err := leastWork(pages)
	return t, least.Seconds() / float64(t.pages) * 1000, err
}

// page is the body of a response.
type page struct {
	html  bool
	bytes []byte
}

func readPages(pattern string) (pages []page, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		more, err := readFile(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		pages = append(pages, more...)
	}
	return pages, nil
}

func readFile(f *os.File) (pages []page, err error) {
	r, err := warc.NewReader(f, f.Name())
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return pages, nil
		}
		if err != nil {
			return nil, err
		}
		if rec.Type != warc.TypeResponse || !rec.IsHTTP() {
			continue
		}
		head, err := rec.HTTP()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(rec.Block)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{head.MIME() == "text/html", body})
	}
}

// leastWork measures what must be done with the pages at the very least, on one processor: two digests, gzip at the
// crawl's level, and a look at every tag.
func leastWork(pages []page) (time.Duration, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	z, err := gzip.NewWriterLevel(io.Discard, harvest.DefaultSettings().WARCLevel)
	if err != nil {
		return 0, err
	}
	before, err := used()
	if err != nil {
		return 0, err
	}
	for _, p := range pages {
		sha1.Sum(p.bytes)
		sha1.Sum(p.bytes)
		z.Reset(io.Discard)
		if _, err := z.Write(p.bytes); err != nil {
			return 0, err
		}
		if err := z.Close(); err != nil {
			return 0, err
		}
		if !p.html {
			continue
		}
		for t := html.NewTokenizer(bytes.NewReader(p.bytes)); t.Next() != html.ErrorToken; {
			for _, more := t.TagName(); more; {
				_, _, more = t.TagAttr()
			}
		}
	}
	after, err := used()
	return after - before, err
}

// used is the processor time that this program has taken.
func used() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
