package crawler

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// recover brings log and WARC files into line with the frontier: the log is cut to what was committed; a torn file is cut after
// the last URI that is whole in it and finished; URIs in the files that the frontier does
// not know as finished are accounted for, as if they had just been fetched.
func (c *Crawl) recover() error {
	if err := c.openLogs(); err != nil {
		return err
	}
	c.stats = report.NewStats()
	data, err := c.frontier.Value(valueStats)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, c.stats)
	}
	if err != nil {
		return fmt.Errorf("read figures: %w", err)
	}
	c.elapsed = c.stats.Elapsed
	c.objects.Store(c.stats.Objects)
	if err := c.frontier.Values(valueAdmitted, func(name string, _ []byte) error {
		c.scope.Admit(strings.TrimPrefix(name, valueAdmitted))
		return nil
	}); err != nil {
		return fmt.Errorf("read redirected seeds: %w", err)
	}
	cookies, err := c.frontier.Value(valueCookies)
	if err == nil && len(cookies) > 0 {
		err = c.jar.Import(cookies, time.Now())
	} else if err == nil {
		_, err = c.jar.ImportText([]byte(c.cfg.Job.Settings.FirstCookies), time.Now())
	}
	if err != nil {
		return fmt.Errorf("read cookies: %w", err)
	}
	return c.recoverFiles(filepath.Join(c.cfg.Dir, "warcs"))
}

// recoverFiles puts the WARC files in order and accounts for what is in them.
func (c *Crawl) recoverFiles(dir string) error {
	if err := c.leaveDamaged(); err != nil {
		return err
	}
	torn, err := filepath.Glob(filepath.Join(dir, "*.warc.gz.open"))
	if err != nil {
		return fmt.Errorf("look for torn files: %w", err)
	}
	for _, path := range torn {
		if err := c.salvage(path); err != nil {
			return fmt.Errorf("salvage %s: %w", path, err)
		}
	}
	described, err := c.examine(dir)
	if err != nil {
		return err
	}
	if err := c.mend(described); err != nil {
		return fmt.Errorf("mend damaged files: %w", err)
	}
	whole, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		return fmt.Errorf("look for WARC files: %w", err)
	}
	slices.SortFunc(whole, func(a, b string) int { return strings.Compare(serial(a)+a, serial(b)+b) })
	if err := c.setAside(whole); err != nil {
		return err
	}
	for _, path := range whole {
		if err := c.replay(path, described[filepath.Base(path)]); err != nil {
			return fmt.Errorf("account for %s: %w", path, err)
		}
	}
	return nil
}

// examine reads the finished files that were not handed over. One that is damaged is kept under another name.
func (c *Crawl) examine(dir string) (map[string]warc.Finished, error) {
	whole, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		return nil, fmt.Errorf("look for WARC files: %w", err)
	}
	described := map[string]warc.Finished{}
	for _, path := range whole {
		name := filepath.Base(path)
		if given, err := c.frontier.Value(valueHanded + name); err != nil || len(given) > 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		f, err := describe(path)
		if damaged(err) {
			err = c.keepDamaged(path)
		} else if err == nil {
			described[name] = f
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return described, nil
}

// openLogs opens the logs as they were at the last commit.
func (c *Crawl) openLogs() error {
	text, err := c.frontier.Value(valueLog)
	if err != nil {
		return err
	}
	sizes, err := report.ParseSizes(string(text))
	if err != nil {
		return err
	}
	dir := filepath.Join(c.cfg.Dir, "logs")
	last, err := events.LastNumber(filepath.Join(dir, report.JobLog))
	if err != nil {
		return err
	}
	c.logged = sizes.Crawl
	if c.logs, err = report.OpenLogs(c.disk, dir, sizes); err != nil {
		return err
	}
	job := c.logs.Job
	c.events = events.NewHub(events.Config{Last: last, Write: func(line []byte) {
		job.Add(func(b []byte) []byte { return append(b, line...) })
	}})
	c.log = slog.New(report.NewAlerts(c.log.Handler(), c.logs.Alerts, "crawler", func(alert string) {
		c.publish(events.Event{Kind: events.Alert, Reason: alert})
	}))
	return nil
}

// serial is the part of a file's name that tells the order of writing.
func serial(path string) string {
	parts := strings.Split(filepath.Base(path), "-")
	for i := len(parts) - 2; i > 0; i-- {
		if len(parts[i]) >= 5 && len(parts[i-1]) == 17 {
			return parts[i-1]
		}
	}
	return ""
}

// salvage cuts a torn file after its last whole URI and finishes it; a file without one is removed. One that is damaged before what was
// committed of it is kept under another name.
func (c *Crawl) salvage(path string) error {
	end := int64(0)
	err := eachGroup(path, 0, func(g *group) error {
		end = g.end
		return nil
	})
	if err != nil && !damaged(err) {
		return err
	}
	committed, err := c.accounted(strings.TrimSuffix(filepath.Base(path), ".open"))
	if err != nil {
		return err
	}
	if end < committed.end {
		return c.keepDamaged(path)
	}
	c.log.Info("salvage a WARC file that was being written", "file", filepath.Base(path), "whole", end)
	if end == 0 {
		return c.disk.Remove(path)
	}
	f, err := c.disk.Open(path)
	if err != nil {
		return err
	}
	err = f.Truncate(end)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = warc.Salvage(c.disk, path)
	return err
}

// damaged reports whether err says that the bytes of a file are wrong, rather than that they could not be read.
func damaged(err error) bool {
	var damage *warc.Error
	var reading *fs.PathError
	return errors.As(err, &damage) && !errors.As(err, &reading)
}

// replay accounts for the URIs of a finished file that lie after what was committed of it, and hands it over. The file is as
// described, if it was.
func (c *Crawl) replay(path string, f warc.Finished) error {
	name := filepath.Base(path)
	committed, err := c.accounted(name)
	if err != nil {
		return err
	}
	from := committed.end
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if from < info.Size() {
		n := 0
		err := eachGroup(path, from, func(g *group) error {
			if n++; n%500 == 0 {
				if err := c.commit(); err != nil {
					return err
				}
			}
			return c.replayGroup(g)
		})
		if err != nil {
			return err
		}
		if err := c.commit(); err != nil {
			return err
		}
	}
	given, err := c.frontier.Value(valueHanded + name)
	if err != nil {
		return err
	}
	if len(given) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.unhanded, name)
		return nil
	}
	if f.Path == "" {
		if f, err = describe(path); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.unhanded[name] = &handover{records: f.Records, finished: &f}
	c.mu.Unlock()
	return nil
}

// describe reads a finished file to tell its size, checksum and number of records.
func describe(path string) (warc.Finished, error) {
	f, err := os.Open(path)
	if err != nil {
		return warc.Finished{}, err
	}
	defer f.Close()
	out := warc.Finished{Path: path}
	sum := sha256.New()
	if out.Size, err = io.Copy(sum, f); err != nil {
		return out, err
	}
	sum.Sum(out.SHA256[:0])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return out, err
	}
	r, err := warc.NewReader(f, path)
	for err == nil {
		if _, err = r.Next(); err == nil {
			out.Records++
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

// group is the records of one URI: response, perhaps request, metadata.
type group struct {
	uri, mime   string
	date        time.Time
	status      int // HTTP; 1 for DNS; 0 if its head cannot be read
	robots      []byte
	unreadable  bool // robots cannot be decoded
	blockSize   int64
	bodySize    int64
	digest      string
	fields      warc.Header
	links       []extract.Link
	file        string
	offset, end int64 // of the response's record, and of the last one
	hasResponse bool
	dedup       frontier.Dedup
	recordID    string
	truncated   string
	head        fetch.Head // of HTTP
}

// eachGroup reads a file from an offset and calls do for each URI whose records are whole.
func eachGroup(path string, from int64, do func(*group) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	r, err := warc.NewReader(bufio.NewReaderSize(f, 256<<10), path)
	if err != nil {
		return err
	}
	g := &group{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := g.take(rec); err != nil {
			return err
		}
		p, err := rec.Position()
		if err != nil {
			return err
		}
		if rec.Type == warc.TypeResponse || rec.Type == warc.TypeRevisit {
			g.offset = from + p.Offset
		}
		if rec.Type != warc.TypeMetadata {
			continue
		}
		if !g.hasResponse || rec.TargetURI() != g.uri { // what it belongs to is lost
			g = &group{}
			continue
		}
		g.file = strings.TrimSuffix(filepath.Base(path), ".open")
		g.end = from + p.Offset + p.Length
		if err := do(g); err != nil {
			return err
		}
		g = &group{}
	}
}

// take reads one record into the group.
func (g *group) take(rec *warc.Record) error {
	switch rec.Type {
	case warc.TypeResponse, warc.TypeRevisit:
		if rec.Type == warc.TypeRevisit {
			g.dedup = frontier.Duplicate
			if rec.Header.Get("WARC-Profile") == warc.ProfileNotModified {
				g.dedup = frontier.NotModified
			}
		}
		g.hasResponse, g.uri, g.blockSize = true, rec.TargetURI(), rec.Size
		g.digest, g.recordID, g.truncated = rec.Header.Get("WARC-Payload-Digest"), rec.Header.Get("WARC-Record-ID"), rec.Header.Get("WARC-Truncated")
		var err error
		if g.date, err = rec.Date(); err != nil {
			return err
		}
		if !rec.IsHTTP() {
			g.status, g.mime, g.bodySize = fetch.CodeDNSOK, "text/dns", rec.Size
			g.robots, err = io.ReadAll(io.LimitReader(rec.Block, 1<<20))
			return err
		}
		head, err := rec.HTTP()
		if errors.Is(err, warc.ErrHTTP) || errors.Is(err, warc.ErrLimit) {
			return nil // the record is whole; what the answer was cannot be told
		}
		if err != nil {
			return err
		}
		g.status, g.mime = head.Status, head.Header.Get("Content-Type")
		g.head, _ = fetch.ParseHead(head.Raw)
		g.bodySize = rec.Size - int64(len(head.Raw))
		if t, err := fetch.ParseTarget(g.uri); err == nil && isRobots(t) {
			content, err := rec.Content()
			if err != nil {
				g.unreadable = true
				return nil
			}
			g.robots, err = io.ReadAll(io.LimitReader(content, scope.MaxRobots))
			if err = errors.Join(err, content.Close()); damaged(err) {
				return err
			}
			g.unreadable = err != nil
		}
	case warc.TypeMetadata:
		text, err := io.ReadAll(io.LimitReader(rec.Block, 64<<20))
		if err != nil {
			return err
		}
		g.metadata(string(text))
	}
	return nil
}

func (g *group) metadata(text string) {
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		if name != fieldOutlink {
			g.fields.Add(name, value)
			continue
		}
		words := strings.SplitN(value, " ", 3)
		if len(words) == 3 && len(words[1]) == 1 {
			g.links = append(g.links, extract.Link{URL: words[0], Hop: words[1][0], Context: words[2]})
		}
	}
}
