package chain

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
)

// Visit is a URI on its way through the chain: what the frontier knew of it, and what each stage found out.
type Visit struct {
	URI     *frontier.URI
	Worker  int               // who takes it through
	Set     *harvest.Settings // in effect for it
	Subject *scope.Subject    // it, to be judged
	Target  fetch.Target      // zero for dns:
	Host    string            // of a dns: URI
	Detour  bool              // its answer tells nothing of its own site
	Addrs   []netip.Addr

	Answer   *fetch.Answer   // of a DNS look-up
	Exchange *fetch.Exchange // of an HTTP fetch
	Earlier  *Capture        // that it was asked, or proved, not to differ from
	Status   int             // as the log has it
	Notes    []string        // annotations

	Links   extract.Result
	Records []warc.Position // where it was written
	Digest  string
	Dedup   frontier.Dedup
	Problem error  // for the log of errors that do not stop a crawl
	Cookie  string // that was sent
	Retry   *Retry // after what was fetched is recorded; nil: it is the last answer
	Page    Page   // in a page that is loaded in a browser

	turn held
	// unchanged: broken off after its head by a rule, and by its validators what the earlier capture is.
	unchanged bool
	recordID  string
}

// Page is the part of a visit that concerns a page in a browser.
type Page struct {
	ID     string                               // the page's, which all records of it bear
	Again  bool                                 // the URI may have been recorded before in this crawl
	Found  []string                             // links that the page had in the browser
	Drafts func(concurrent string) []warc.Draft // records of how it looked there; nil: none
	Leave  func()                               // gives back the right to a browser; nil: it has none
}

// Step is where a stage sends a URI.
type Step int

// The steps.
const (
	Next  Step = iota // to the next stage
	Over              // it ends here: to its post-processing
	Again             // it was given back to the frontier
)

// Stage is one station of the chain.
type Stage struct {
	Name string
	Does string // for the processors report
	Run  Run
}

// Run takes a visit through one station.
type Run func(ctx context.Context, v *Visit) (Step, error)

// Line returns the visit's line for the log.
func (v *Visit) Line() report.Line {
	u := v.URI
	line := report.Line{Logged: time.Now(), Status: v.Status, Size: -1, URI: u.URL, Path: u.Path, Via: u.Via,
		Worker: v.Worker, Digest: v.Digest, Source: u.Source, Annotations: v.annotations()}
	line.Begin, line.Duration = v.times()
	switch {
	case v.Answer != nil && v.Status == fetch.CodeDNSOK:
		line.Size, line.MIME = int64(len(v.Answer.Text)), "text/dns"
	case v.Exchange != nil && v.Exchange.Response != nil:
		line.Size, line.MIME = v.Exchange.BodySize, v.Exchange.Head.Get("Content-Type")
	}
	return line
}

// tell notes in the log of errors that do not stop a crawl what went wrong with a URI.
func (v *Visit) tell(logs *report.Logs) {
	if v.Problem == nil {
		return
	}
	line := v.Line()
	logs.Nonfatal.Add(func(b []byte) []byte { return report.AppendError(b, &line, v.Problem.Error()) })
}

// Note adds annotations.
func (v *Visit) Note(notes ...string) { v.Notes = append(v.Notes, notes...) }

// annotations are the notes, and the number of tries if it took more than one.
func (v *Visit) annotations() []string {
	notes := v.Notes
	if n := readWay(v.URI.Led).again; n > 0 {
		notes = append(slices.Clone(notes), NoteAgain+strconv.Itoa(n))
	}
	if v.URI.Tries == 0 {
		return notes
	}
	tries := fmt.Sprintf("%dt", v.URI.Tries+1)
	if v.Dedup == frontier.Duplicate || v.Dedup == frontier.NotModified { // which has to come first
		return append(slices.Clone(notes), tries)
	}
	return append([]string{tries}, notes...)
}

func (v *Visit) times() (begin time.Time, took time.Duration) {
	switch {
	case v.Exchange != nil:
		return v.Exchange.Begin, v.Exchange.Duration
	case v.Answer != nil:
		return v.Answer.Begin, v.Answer.Duration
	}
	return time.Time{}, 0
}

func (v *Visit) referer() string {
	if IsPrerequisite(v.URI) || strings.HasPrefix(v.URI.Via, "dns:") && len(v.URI.Via) > 4 ||
		strings.Contains(v.URI.Via, "@") {
		return ""
	}
	return v.URI.Via
}

func (v *Visit) reject(verdict scope.Verdict) {
	v.Status = verdict.Status
	if verdict.Note != "" {
		v.Note(verdict.Note)
	}
}

// answered copies what a response's header says into a subject.
func answered(subject *scope.Subject, head fetch.Head, length int64) {
	subject.Fetched, subject.Status, subject.ContentType = true, head.Status, head.ContentType()
	subject.Length, subject.Header = length, head.Get
}

// Codes of URIs that were not fetched, as Heritrix numbers them.
const (
	CodeNoDomain   = -6
	CodeOutOfScope = -5000
	CodeNoRobots   = -61
	CodePrecluded  = -9998
	codeKilled     = -7000 // an operator broke the fetch off
)

// Outcome is what the commit needs to know of a finished URI.
type Outcome struct {
	Line     report.Line
	Records  []warc.Position
	Seed     bool
	Redirect string // a seed's
	Domain   string // which a document counts for
	Bytes    int64  // size of the content
	Retried  bool   // it was an answer that does not count: the URI is tried again
}
