package metadata

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"holdfast/cdx"
	"holdfast/crawler/report"
	"holdfast/internal/sorter"
)

// place is where a record lies.
type place struct {
	file   string
	offset int64
}

// visit is what a job's crawl.log says of a URL, together with what its CDX says. One of both may be missing.
type visit struct {
	url  string
	date string // 14 digits
	line *report.Line
	own  place // of the record of the visit; its file is "" if there is none
	ip   string
	kind string // the media type in the CDX
}

// archived reports whether the line is of something that was recorded.
func archived(l *report.Line) bool { return l.Status > 0 && l.Revisit() != report.Discarded }

// revisits reports whether the visit found what was recorded before.
func (v *visit) revisits() bool {
	return v.line != nil && (v.line.Revisit() == report.DupByHash || v.line.Revisit() == report.NotModified)
}

// stored is where the content is: of a duplicate with its original. Its file is "" if that is not known.
func (v *visit) stored() (at place, date string) {
	if v.revisits() {
		return original(v.line.Annotations)
	}
	return v.own, v.date
}

// original reads from a line's annotations where the original of a duplicate is, and of which date it is, if they say
// that.
func original(notes []string) (at place, date string) {
	for _, note := range notes {
		where, found := strings.CutPrefix(note, `duplicate:"`)
		if !found {
			where, found = strings.CutPrefix(note, `deduplicate:"`)
		}
		if !found || !strings.HasSuffix(where, `"`) {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(where, `"`), ",")
		n := len(parts)
		if n >= 3 && isTimestamp(parts[n-1]) {
			date = parts[n-1][:14]
			n--
		}
		if n < 2 {
			continue
		}
		offset, err := strconv.ParseInt(parts[n-1], 10, 64)
		if name := strings.Join(parts[:n-1], ","); err == nil && offset >= 0 && name != "" {
			return place{name, offset}, date
		}
	}
	return place{}, ""
}

func isTimestamp(text string) bool {
	_, err := cdx.ParseTimestamp(text, cdx.Low)
	return err == nil && len(text) >= 14
}

// visits gives what a job's crawl.log and CDX say of each URL, by URL and time. A line of the log and one of the CDX
// are of one visit if they have the URL and the time of the fetch in common.
func (f Files) visits(ctx context.Context, job uint64, take func(*visit) error) (err error) {
	sorted := sorter.New(f.Dir, f.Memory)
	defer func() { err = errors.Join(err, sorted.Close()) }()
	bad := 0
	err = f.each(ctx, job, func(path string, block io.Reader) error {
		switch path {
		case CDXPath:
			return eachLine(block, func(line []byte) error {
				one, ok := parseCDX(line)
				if !ok {
					bad++
					return nil
				}
				return sorted.Add(sortKey(one.url, one.date, ofCDX), string(line))
			})
		case CrawlLogPath:
			return eachLine(block, func(line []byte) error {
				l, err := report.ParseLine(line)
				if err != nil {
					bad++
					return nil
				}
				return sorted.Add(sortKey(l.URI, dateOf(&l), ofLog), string(line))
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if bad > 0 {
		f.Log.Warn("lines in a metadata file cannot be read, and are left out", "job", job, "lines", bad)
	}
	j := joiner{take: take}
	for entry, err := range sorted.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = j.add(entry)
		}
		if err != nil {
			return err
		}
	}
	return j.end()
}

// Lines of the CDX come before those of the log.
const (
	ofCDX = 'c'
	ofLog = 'l'
)

// sortKey is what lines are sorted by.
func sortKey(url, date string, of byte) []byte {
	key := append([]byte(url), 0)
	return append(append(append(key, date...), 0), of)
}

// dateOf is when a line's URL was fetched, or, if it was not, when that was settled.
func dateOf(l *report.Line) string {
	if l.Begin.IsZero() {
		return cdx.Timestamp(l.Logged)
	}
	return cdx.Timestamp(l.Begin)
}

// parseCDX reads a line of a metadata file's CDX: URL, IP address, date, media type, length, file and offset.
func parseCDX(line []byte) (*visit, bool) {
	cols := strings.Split(string(line), " ")
	if len(cols) != 7 || cols[0] == "-" || cols[5] == "-" {
		return nil, false
	}
	offset, err := strconv.ParseInt(cols[6], 10, 64)
	if err != nil || offset < 0 || !isTimestamp(cols[2]) {
		return nil, false
	}
	known := func(text string) string {
		if text == "-" {
			return ""
		}
		return text
	}
	return &visit{url: cols[0], ip: known(cols[1]), date: cols[2][:14], kind: known(cols[3]),
		own: place{cols[5], offset}}, true
}

// joiner puts the lines of one visit together.
type joiner struct {
	take    func(*visit) error
	key     []byte   // of the group of lines with one URL and time
	waiting []*visit // records of the group of which no line of the log was seen yet
}

// mostWaiting bounds what waits: nobody fetches a URL so often within a second.
const mostWaiting = 1000

func (j *joiner) add(entry []byte) error {
	first := bytes.IndexByte(entry, 0)
	second := first + 1 + bytes.IndexByte(entry[first+1:], 0)
	key, of, line := entry[:second], entry[second+1], entry[second+2:]
	if !bytes.Equal(key, j.key) {
		if err := j.end(); err != nil {
			return err
		}
		j.key = append(j.key[:0], key...)
	}
	if of == ofCDX {
		one, ok := parseCDX(line)
		if !ok {
			return nil
		}
		if j.waiting = append(j.waiting, one); len(j.waiting) > mostWaiting {
			return j.next()
		}
		return nil
	}
	l, err := report.ParseLine(line)
	if err != nil {
		return err
	}
	v := &visit{url: l.URI, date: dateOf(&l), line: &l}
	if archived(&l) {
		j.find(v)
	}
	return j.take(v)
}

// find gives a visit its record: the one that its line names, or else the first that has none yet.
func (j *joiner) find(v *visit) {
	var said struct {
		File   string `json:"warcFilename"`
		Offset int64  `json:"warcFileOffset"`
	}
	if v.line.Extra != "" && json.Unmarshal([]byte(v.line.Extra), &said) == nil {
		v.own = place{said.File, said.Offset}
	}
	for i, one := range j.waiting {
		if v.own.file == "" || v.own == one.own {
			v.own, v.ip, v.kind = one.own, one.ip, one.kind
			j.waiting = append(j.waiting[:i], j.waiting[i+1:]...)
			return
		}
	}
}

func (j *joiner) next() error {
	one := j.waiting[0]
	j.waiting = j.waiting[1:]
	return j.take(one)
}

// end takes the records of which the log has no line.
func (j *joiner) end() error {
	for len(j.waiting) > 0 {
		if err := j.next(); err != nil {
			return err
		}
	}
	return nil
}

// fullLine is the JSON of a line of a full index.
type fullLine struct {
	URL         string `json:"url"`
	MIME        string `json:"mime,omitempty"`
	Status      string `json:"status,omitempty"`
	Digest      string `json:"digest,omitempty"`
	Offset      string `json:"offset,omitempty"`
	File        string `json:"filename,omitempty"`
	Size        string `json:"size,omitempty"`
	IP          string `json:"ip,omitempty"`
	Path        string `json:"path,omitempty"`
	Via         string `json:"via,omitempty"`
	Source      string `json:"source,omitempty"`
	Duration    string `json:"duration,omitempty"`
	Annotations string `json:"annotations,omitempty"`
	OwnOffset   string `json:"revisit_offset,omitempty"`
	OwnFile     string `json:"revisit_filename,omitempty"`
	Job         string `json:"job"`
}

// cdxj is the visit's line in a full index.
func (v *visit) cdxj(job uint64) ([]byte, error) {
	key, err := cdx.Key(v.url)
	if err != nil || strings.ContainsAny(key, " \n") {
		key = strings.ReplaceAll(v.url, " ", "%20")
	}
	out := fullLine{URL: v.url, MIME: v.kind, IP: v.ip, Job: strconv.FormatUint(job, 10)}
	if l := v.line; l != nil {
		out.MIME, out.Status, out.Digest = cmp.Or(l.MIME, v.kind), strconv.Itoa(l.Status), l.Digest
		out.Path, out.Via, out.Source, out.Annotations = l.Path, l.Via, l.Source, strings.Join(l.Annotations, ",")
		if l.Size >= 0 {
			out.Size = strconv.FormatInt(l.Size, 10)
		}
		if !l.Begin.IsZero() {
			out.Duration = strconv.FormatInt(l.Duration.Milliseconds(), 10)
		}
	}
	at, _ := v.stored()
	if v.revisits() {
		if at.file == "" { // who reads it has to look for the content by its digest
			at, out.MIME = v.own, cdx.RevisitMIME
		} else {
			out.OwnFile, out.OwnOffset = v.own.written()
		}
	}
	out.File, out.Offset = at.written()
	text, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(key+" "+v.date), ' '), text...), nil
}

func (p place) written() (file, offset string) {
	if p.file == "" {
		return "", ""
	}
	return p.file, strconv.FormatInt(p.offset, 10)
}
