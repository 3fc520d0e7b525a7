package journal

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// damaged reports whether err says that the bytes of a file are wrong, rather than that they could not be read.
func damaged(err error) bool {
	var damage *warc.Error
	var reading *fs.PathError
	return errors.As(err, &damage) && !errors.As(err, &reading)
}

// group is the records of one URI: response, or what came where it was no HTTP; perhaps request; metadata.
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
	hasResponse bool  // or what came instead of one
	raw         bool  // it was no HTTP
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
		raw := chain.IsRaw(rec)
		if raw {
			g, err = rawGroup(rec)
		} else {
			err = g.take(rec)
		}
		if err != nil {
			return err
		}
		p, err := rec.Position()
		if err != nil {
			return err
		}
		if raw || rec.Type == warc.TypeResponse || rec.Type == warc.TypeRevisit {
			g.offset = from + p.Offset
		}
		if raw || rec.Type != warc.TypeMetadata {
			continue
		}
		if !g.hasResponse || rec.TargetURI() != g.uri { // the record that it belongs to is lost
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

// rawGroup begins a group with what came where it was no HTTP.
func rawGroup(rec *warc.Record) (*group, error) {
	date, err := rec.Date()
	return &group{hasResponse: true, raw: true, uri: rec.TargetURI(), date: date, status: fetch.CodeConnectLost,
		bodySize: -1, recordID: rec.Header.Get("WARC-Record-ID")}, err
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
		g.digest, g.recordID, g.truncated = rec.Header.Get("WARC-Payload-Digest"), rec.Header.Get("WARC-Record-ID"),
			rec.Header.Get("WARC-Truncated")
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
			return nil // the record is complete, but the answer cannot be read
		}
		if err != nil {
			return err
		}
		g.status, g.mime = head.Status, head.Header.Get("Content-Type")
		g.head, _ = fetch.ParseHead(head.Raw)
		g.bodySize = rec.Size - int64(len(head.Raw))
		t, err := fetch.ParseTarget(g.uri)
		if err != nil || !hosts.IsRobots(t) || head.Status < 200 || head.Status > 299 {
			return nil
		}
		g.robots, err = fetch.ReadStored(g.head, rec.Block, scope.MaxRobots)
		if damaged(err) {
			return err
		}
		if g.truncated != "" {
			g.robots = hosts.WholeLines(g.robots)
		}
		g.unreadable = rec.Type == warc.TypeRevisit || !hosts.RobotsCount(g.robots, err, g.truncated)
	case warc.TypeMetadata:
		text, err := io.ReadAll(io.LimitReader(rec.Block, 64<<20))
		if err != nil {
			return err
		}
		g.metadata(string(text))
		if size, err := strconv.ParseInt(g.fields.Get(chain.FieldBodySize), 10, 64); err == nil && size > 0 {
			g.bodySize, g.blockSize = g.bodySize+size, g.blockSize+size
		}
	}
	return nil
}

func (g *group) metadata(text string) {
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		if name != chain.FieldOutlink {
			g.fields.Add(name, value)
			continue
		}
		words := strings.SplitN(value, " ", 3)
		if len(words) == 3 && len(words[1]) == 1 {
			g.links = append(g.links, extract.Link{URL: words[0], Hop: words[1][0], Context: words[2]})
		}
	}
}

// annotated reports whether the log has an annotation of the URI that begins so.
func (g *group) annotated(note string) bool {
	return slices.ContainsFunc(g.annotations(), func(a string) bool { return strings.HasPrefix(a, note) })
}

func (g *group) annotations() []string {
	if notes := g.fields.Get(chain.FieldAnnotation); notes != "" {
		return strings.Split(notes, ",")
	}
	return nil
}

// line is the URI's line for the log.
func (g *group) line(u *frontier.URI) report.Line {
	took, _ := strconv.ParseInt(g.fields.Get(chain.FieldFetchTime), 10, 64)
	worker, _ := strconv.Atoi(g.fields.Get(chain.FieldWorker))
	took = max(took, 0)
	return report.Line{Logged: time.Now(), Status: g.status, Size: g.bodySize, URI: u.URL, Path: u.Path, Via: u.Via,
		MIME: g.mime, Worker: worker, Begin: g.date, Duration: time.Duration(took) * time.Millisecond,
		Digest: g.digest, Source: u.Source, Annotations: g.annotations()}
}

func (g *group) records() []warc.Position {
	return []warc.Position{{File: g.file, Offset: g.offset, Length: g.end - g.offset}}
}
