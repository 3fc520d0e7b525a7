package rebuild

import (
	"fmt"
	"time"
)

// mostNamed is how many differences are kept in a report; all are counted.
const mostNamed = 1000

// Report says what was found, what comes back, and what does not.
type Report struct {
	Cluster string       `json:"cluster"` // id
	Name    string       `json:"name"`
	Epoch   uint64       `json:"epoch"` // the last that is known
	Folders []Folder     `json:"folders"`
	Ledgers []LedgerUsed `json:"ledgers"`
	Members []string     `json:"members"` // that stay members: their folders are here

	Counts

	Jobs        int64 `json:"jobs"`        //
	Unended     int64 `json:"unended"`     // jobs of which nothing says how they ended
	UnknownJobs int64 `json:"unknownJobs"` // numbers of jobs in names of files that no metadata file documents
	Events      int64 `json:"events"`      // of the audit trail

	// Until is the time of the newest ledger: what was decided later, such as a removal, is not known.
	Until time.Time `json:"until,omitzero"`

	Differences []Difference `json:"differences"` // the first of them
	Differing   int64        `json:"differing"`   // all
	Lacking     []string     `json:"lacking"`     // what does not come back
}

// Counts are numbers of files.
type Counts struct {
	Files   int64 `json:"files"`   // that come back, without removed and lost ones
	Bytes   int64 `json:"bytes"`   //
	Removed int64 `json:"removed"` // for good
	Hidden  int64 `json:"hidden"`  // removed, and can be restored
	Lost    int64 `json:"lost"`    // declared lost
	Absent  int64 `json:"absent"`  // of the files that come back, those without bytes in any folder
	Read    int64 `json:"read"`    // whose bytes were read, because claims differ or say too little
	Voted   int64 `json:"voted"`   // about which claims differ
	Unread  int64 `json:"unread"`  // folders and files that could not be read
	// of the files that come back, those of which nothing but their bytes is known
	Unlisted  int64 `json:"unlisted"`
	Undecided int64 `json:"undecided"` // files that do not come back, because nothing decides what they are
	// whose date a ledger or the trail says; of the others it is that of the oldest copy
	Dated    int64 `json:"dated"`
	Supposed int64 `json:"supposed"` // whose collection nothing says
}

// Folder is what was found in one folder.
type Folder struct {
	Dir      string `json:"dir"`
	Node     string `json:"node,omitempty"`    // whose it is, if that is known
	Replica  string `json:"replica,omitempty"` //
	Unsaid   bool   `json:"unsaid,omitempty"`  // nothing in it says of which cluster it is
	Files    int64  `json:"files"`
	Bytes    int64  `json:"bytes"`
	Listed   int64  `json:"listed"`   // by manifests
	Missing  int64  `json:"missing"`  // of these, those that are not there
	Unlisted int64  `json:"unlisted"` // files without a line in their manifest
	Waiting  int64  `json:"waiting"`  // in the outbox
}

// LedgerUsed is a ledger by which files were voted on.
type LedgerUsed struct {
	Name          string    `json:"name"`
	Replica       string    `json:"replica"`
	Time          time.Time `json:"time"`
	Files         int64     `json:"files"`
	Countersigned int       `json:"countersigned"` // by nodes at other places
}

// Difference is one thing about which the folders do not agree, or that is not as it should be.
type Difference struct {
	Name string `json:"name"`
	What string `json:"what"`
}

// Whole reports whether all that is known of comes back.
func (r *Report) Whole() bool {
	return r.Undecided == 0 && r.Absent == 0 && r.Supposed == 0 && r.UnknownJobs == 0 && r.Unread == 0 &&
		r.Unlisted == 0 &&
		len(r.Lacking) == 0
}

func (s *Survey) differs(name, format string, args ...any) {
	if s.done {
		return
	}
	s.report.Differing++
	if len(s.report.Differences) < mostNamed {
		s.report.Differences = append(s.report.Differences, Difference{name, fmt.Sprintf(format, args...)})
	}
}

// unread tells what could not be read. What lies there may be all that there is.
func (s *Survey) unread(name, format string, args ...any) {
	if !s.done {
		s.report.Unread++
	}
	s.differs(name, format, args...)
}

func (s *Survey) lacks(format string, args ...any) {
	if !s.done {
		s.report.Lacking = append(s.report.Lacking, fmt.Sprintf(format, args...))
	}
}

// summary is what the audit trail says.
func (r *Report) summary() string {
	return fmt.Sprintf("folders=%d ledgers=%d files=%d removed=%d hidden=%d lost=%d jobs=%d events=%d voted=%d "+
		"undecided=%d absent=%d", len(r.Folders), len(r.Ledgers), r.Files, r.Removed, r.Hidden, r.Lost,
		r.Jobs, r.Events,
		r.Voted, r.Undecided, r.Absent)
}
