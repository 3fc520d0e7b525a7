package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Severity separates breaches of the standard from what is legal but suspicious.
type Severity int

// The severities.
const (
	Warning Severity = iota
	Breach
)

func (s Severity) String() string {
	if s == Breach {
		return "error"
	}
	return "warning"
}

// Finding is one thing that Check found.
type Finding struct {
	Record   int   // counted from 1; 0: about the file
	Offset   int64 // of the record in the file as stored
	Code     string
	Severity Severity
	Message  string
}

func (f Finding) String() string {
	s := fmt.Sprintf("record %d at offset %d: %s: %s", f.Record, f.Offset, f.Severity, f.Code)
	if f.Message != "" {
		s += ": " + f.Message
	}
	return s
}

// Summary is what Check counted.
type Summary struct {
	Records, Members int
	Errors, Warnings int
	Types            map[string]int
	Versions         map[string]int
	BlockBytes       int64
	BlockDigests     int // that are there and right
	PayloadDigests   int // that are there and right
	Unresolved       int // WARC-Concurrent-To and the like that name a record of another file
}

// maxTracked is how many record IDs and payloads Check remembers for checks across records.
const maxTracked = 4 << 20

// checker holds what Check knows between records.
type checker struct {
	report   func(Finding)
	sum      Summary
	now      Finding // record and offset being checked
	ids      map[string]struct{}
	refs     []string
	payloads map[string][]string // digest → "URI date" of records with that payload
	told     bool                // the reader told already why it cannot read on
	arc      *arcCheck           // of an ARC file
}

// Check validates the WARC or ARC file at path and reports findings in order. The error is an
// *Error when the file is neither, and otherwise that of reading it; damage within the file
// is a finding.
func Check(path string, report func(Finding)) (Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return Summary{}, fmt.Errorf("check: %w", err)
	}
	defer f.Close()
	return CheckReader(f, path, report)
}

// CheckReader is Check for a file that is open already; name is for errors.
func CheckReader(in io.Reader, name string, report func(Finding)) (Summary, error) {
	c := &checker{report: report, ids: make(map[string]struct{}), payloads: make(map[string][]string)}
	c.sum.Types, c.sum.Versions = make(map[string]int), make(map[string]int)
	r, err := NewReader(in, name)
	if err != nil {
		if unreadable(err) || errors.Is(err, ErrNotArchive) {
			return c.sum, err
		}
		c.damaged(err)
		return c.sum, nil
	}
	if r.arc {
		c.arc = &arcCheck{}
	}
	r.say = c.tolerated
	for {
		c.now, c.told = Finding{Record: c.now.Record + 1, Offset: r.src.offset()}, false
		rec, err := r.Next()
		if err == io.EOF {
			c.now.Record--
			break
		}
		if unreadable(err) {
			return c.sum, err
		}
		if err != nil {
			c.damaged(err)
			continue
		}
		c.now.Offset = rec.Offset
		c.sum.Records++
		if err := c.record(rec); err != nil {
			if unreadable(err) {
				return c.sum, err
			}
			c.damaged(err)
		}
	}
	c.end(r)
	return c.sum, nil
}

// end reports what shows only when the whole file has been read.
func (c *checker) end(r *Reader) {
	c.sum.Members = r.opened
	c.now = Finding{}
	if c.sum.Records == 0 {
		c.breach("empty-file", "")
	}
	if r.pack != nil && r.opened != c.sum.Records {
		c.warn("members!=records", fmt.Sprintf("%d members, %d records", r.opened, c.sum.Records))
	}
	for _, id := range c.refs {
		if _, ok := c.ids[id]; !ok {
			c.sum.Unresolved++
		}
	}
}

func (c *checker) say(s Severity, code, message string) {
	if s == Breach {
		c.sum.Errors++
	} else {
		c.sum.Warnings++
	}
	f := c.now
	f.Severity, f.Code, f.Message = s, code, message
	c.report(f)
}

func (c *checker) breach(code, message string) { c.say(Breach, code, message) }
func (c *checker) warn(code, message string)   { c.say(Warning, code, message) }

// tolerated records what the reader found odd but could read.
func (c *checker) tolerated(code, message string) {
	switch code {
	case "version-line-case":
		c.warn(code, message)
		return
	case "extra-blank-lines":
		if c.arc != nil { // common, and harmless
			c.warn(code, message)
			return
		}
	case "bad-version-line", "truncated-header", "missing-content-length", "content-length-value", "resync":
		c.told = true
	}
	c.breach(code, message)
}

// damaged reports what the reader could not read. Something already reported as odd is not reported again.
func (c *checker) damaged(err error) {
	if c.told {
		return
	}
	code := "unreadable"
	switch {
	case errors.Is(err, ErrCompressed):
		code = "compression"
	case errors.Is(err, ErrTruncated):
		code = "truncated-block"
	case errors.Is(err, ErrLimit):
		code = "header-limit"
	}
	var where *Error
	if errors.As(err, &where) {
		c.now.Offset, err = where.Offset, where.Err
	}
	c.breach(code, err.Error())
}

// record checks one record to its end.
func (c *checker) record(rec *Record) error {
	c.sum.Versions[rec.Version]++
	if c.arc != nil {
		return c.arcRecord(rec)
	}
	c.mandatory(rec)
	c.repeated(rec)
	c.identity(rec)
	c.fields(rec)
	if rec.Type == TypeRevisit {
		c.revisit(rec)
	}
	return c.block(rec)
}

func (c *checker) identity(rec *Record) {
	id := rec.ID()
	if id == "" {
		return
	}
	switch {
	case !strings.HasPrefix(id, "<") || !strings.HasSuffix(id, ">"):
		c.breach("record-id-brackets", short(id))
	case isUUID(id):
	case absoluteURI(bare(id)):
		c.warn("record-id-not-uuid-urn", short(id))
	default:
		c.breach("record-id-not-uuid-urn", short(id))
	}
	if _, ok := c.ids[id]; ok {
		c.breach("record-id-repeated", short(id))
	} else if len(c.ids) < maxTracked {
		c.ids[strings.Clone(id)] = struct{}{}
	} else if len(c.ids) == maxTracked {
		c.ids[""] = struct{}{}
		c.warn("ids-not-tracked", fmt.Sprintf("record IDs are compared among the first %d records", maxTracked))
	}
}
