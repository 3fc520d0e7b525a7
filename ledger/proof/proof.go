// Package proof checks files on disks against a ledger: it needs no cluster and no catalog, and reads every byte of
// what the ledger lists.
package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"holdfast/ledger"
)

// Kind is a sort of finding. Its name is in the JSON of commands and keeps its meaning.
type Kind string

// What a check can find.
const (
	Missing Kind = "missing" // the ledger lists the file, no folder has it
	Changed Kind = "changed" // the file's size or SHA-256 is another one
	Unread  Kind = "unread"  // the file or folder could not be read
	Extra   Kind = "extra"   // a folder has a file that the ledger does not list
	Wrong   Kind = "ledger"  // the ledger, its signatures, its trail or its place behind another is wrong
)

// Finding is one thing that is not as the ledger says.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // of the file
	Detail string `json:"detail"`
}

// Config says what is checked.
type Config struct {
	Ledgers   []string         // paths of heads, of one replica; the newest is compared with the folders
	Dirs      []string         // a node's data folder, its files folder, or a folder with the files themselves
	Trusted   []ledger.Trusted // whose signatures count
	Witnesses int              // how many nodes at other places have to have countersigned
	Partial   bool             // the folders are a part of the replica: what is in none is counted, and is no finding
	Newer     bool             // the folders may have files that the ledger does not list: they are counted
	Workers   int              // files read at once; 0: one for each processor
	State     string           // a file that keeps how far the check is; empty: none
	SaveEvery time.Duration    // how often it is written; 0: every ten seconds

	Found    func(Finding)  // called for each finding, not at the same time
	Progress func(Progress) // called from time to time
}

// Progress is how far a check is.
type Progress struct{ Files, Bytes, TotalFiles, TotalBytes int64 }

// Result is what a check came to.
type Result struct {
	Ledger    string       `json:"ledger"` // the newest
	Time      string       `json:"time"`   // of it
	Replica   string       `json:"replica"`
	Ledgers   int          `json:"ledgers"` // that were followed, one to the next
	First     bool         `json:"first"`   // the oldest of them is the replica's first
	Files     int64        `json:"files"`   // that the ledger lists
	Good      int64        `json:"good"`    // of them, read and right
	Bytes     int64        `json:"bytes"`   // read
	Absent    int64        `json:"absent"`  // in no folder, if the folders are a part of the replica
	Newer     int64        `json:"newer"`   // files that the ledger does not list, if that is allowed
	Known     int64        `json:"knownMissing"`
	Signed    []string     `json:"countersigned"` // nodes at other places that signed the newest
	Findings  map[Kind]int `json:"findings"`
	Continued bool         `json:"continued"` // from an earlier check that was stopped
}

// Whole reports whether all is as the ledger says.
func (r *Result) Whole() bool { return len(r.Findings) == 0 }

// check is one run.
type check struct {
	Config
	homes  []home
	bytes  int64 // that the newest ledger lists
	result Result
	found  []Finding // for the state file
}

// Run checks the ledgers and the folders. The error says why the check could not be done; what is not as it has to
// be are findings.
func Run(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.SaveEvery <= 0 {
		cfg.SaveEvery = 10 * time.Second
	}
	c := &check{Config: cfg, result: Result{Findings: map[Kind]int{}}}
	if len(cfg.Ledgers) == 0 {
		return c.result, errors.New("no ledger is given")
	}
	for _, dir := range cfg.Dirs {
		h, err := openHome(dir)
		if err != nil {
			return c.result, err
		}
		if cfg.Partial && !h.sharded && len(h.names) == 0 { // such as a disk that is not mounted
			c.tell(Missing, dir, "nothing lies in this folder that the ledger could list")
		}
		c.homes = append(c.homes, h)
	}
	books, err := c.books()
	if err != nil || len(books) == 0 {
		return c.result, err
	}
	newest := books[len(books)-1]
	c.result.Ledger, c.result.Time = ledger.HeadName(newest.Head.Base), newest.Head.Time.Format("2006-01-02 "+
		"15:04:05 UTC")
	c.result.Replica, c.result.Files, c.result.Known = newest.Head.Replica, newest.Head.Total.Files, newest.Head.Missing
	c.bytes = newest.Head.Total.Bytes
	c.links(books)
	return c.result, c.files(ctx, newest)
}

// tell notes a finding.
func (c *check) tell(kind Kind, name, format string, args ...any) {
	f := Finding{Kind: kind, Name: name, Detail: fmt.Sprintf(format, args...)}
	c.result.Findings[kind]++
	if len(c.found) < maxKept {
		c.found = append(c.found, f)
	}
	if c.Found != nil {
		c.Found(f)
	}
}

// opener opens the files of a ledger: beside its head, then in the folders.
func (c *check) opener(head string) ledger.Open {
	return func(name string) (io.ReadCloser, error) {
		at := filepath.Join(filepath.Dir(head), name)
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			return openRegular(at)
		}
		for _, path := range c.paths(name) {
			return openRegular(path)
		}
		return nil, fmt.Errorf("%s is neither beside the ledger nor in the folders: %w", name, fs.ErrNotExist)
	}
}

// books opens the ledgers, oldest first. One that is wrong is a finding, and left out.
func (c *check) books() ([]*ledger.Book, error) {
	var out []*ledger.Book
	for _, path := range c.Ledgers {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		open := c.opener(path)
		b, err := ledger.OpenBook(filepath.Base(path), open)
		if err != nil {
			c.tell(Wrong, filepath.Base(path), "%v", err)
			continue
		}
		c.judge(b, open)
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b *ledger.Book) int { return cmp.Compare(a.Head.Serial, b.Head.Serial) })
	for _, b := range out {
		if b.Head.Replica != out[0].Head.Replica {
			return nil, fmt.Errorf("%s is of replica %s, and %s of %s: check them one after the other",
				ledger.HeadName(out[0].Head.Base), out[0].Head.Replica, ledger.HeadName(b.Head.Base), b.Head.Replica)
		}
	}
	return out, nil
}

// judge checks a ledger's signatures and trail.
func (c *check) judge(b *ledger.Book, open ledger.Open) {
	name := ledger.SignaturesName(b.Head.Base)
	f, err := open(name)
	var s *ledger.Signatures
	if err == nil {
		s, err = ledger.ParseSignatures(name, f)
		_ = f.Close()
	}
	if err != nil {
		c.tell(Wrong, ledger.HeadName(b.Head.Base), "it is not signed: %v", err)
	} else {
		signed, faults := s.Judge(b.Head, b.Texts, c.Trusted, c.Witnesses)
		for _, fault := range faults {
			c.tell(Wrong, ledger.HeadName(b.Head.Base), "%v", fault)
		}
		c.result.Signed = signed
	}
	f, err = open(b.Head.Trail.Name)
	if err == nil {
		err = ledger.CheckTrail(b.Head.Trail, b.Head.Span, f)
		_ = f.Close()
	}
	if err != nil {
		c.tell(Wrong, b.Head.Trail.Name, "%v", err)
	}
}

// links follows the ledgers from one to the next, and on from the oldest to those before it that are in the folders.
func (c *check) links(books []*ledger.Book) {
	c.result.Ledgers = len(books)
	for i := 1; i < len(books); i++ {
		before := books[i-1]
		if err := books[i].Head.Follows(before.Head, before.Texts[ledger.HeadName(before.Head.Base)]); err != nil {
			c.tell(Wrong, ledger.HeadName(books[i].Head.Base), "%v", err)
		}
	}
	for h := books[0].Head; ; {
		if h.Previous == nil {
			c.result.First = true
			return
		}
		paths := c.paths(h.Previous.Name)
		for _, ledgers := range c.Ledgers {
			if beside := filepath.Join(filepath.Dir(ledgers), h.Previous.Name); len(paths) == 0 {
				if _, err := os.Stat(beside); err == nil {
					paths = append(paths, beside)
				}
			}
		}
		if len(paths) == 0 {
			return
		}
		text, err := ledger.Slurp(h.Previous.Name, func(string) (io.ReadCloser, error) { return openRegular(paths[0]) })
		var before *ledger.Head
		if err == nil {
			before, err = ledger.ReadHead(h.Previous.Name, text)
		}
		if err == nil {
			err = h.Follows(before, text)
		}
		if err != nil {
			c.tell(Wrong, h.Previous.Name, "%v", err)
			return
		}
		c.result.Ledgers++
		h = before
	}
}
