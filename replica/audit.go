package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// AuditState is the state of an audit.
type AuditState string

// The states. An audit that is due by itself waits for those that somebody asked for.
const (
	AuditRunning AuditState = "running"
	AuditPaused  AuditState = "paused"
	AuditStopped AuditState = "stopped"
	AuditDone    AuditState = "done"
	// AuditIncomplete is an audit that has ended without having passed all its shards.
	AuditIncomplete AuditState = "incomplete"
)

// Ended reports whether nothing more will be done about the audit.
func (s AuditState) Ended() bool {
	return s == AuditDone || s == AuditIncomplete || s == AuditStopped
}

// ShardFault is a shard that an audit could not pass.
type ShardFault struct {
	Shard  catalog.Shard `json:"shard"`
	Reason string        `json:"reason"`
}

// Audit is one audit of shards of this node, with its progress. It survives a restart of the node.
type Audit struct {
	ID    string `json:"id"`
	Group string `json:"group,omitempty"` // the group that it belongs to, the same on several nodes
	// of the group: all whose copies were to be audited, this one too
	Nodes      []catalog.NodeID `json:"nodes,omitempty"`
	State      AuditState       `json:"state"`
	Kind       AuditKind        `json:"kind,omitempty"` // empty: AuditChecksum
	Scope      AuditScope       `json:"scope,omitzero"`
	Scheduled  bool             `json:"scheduled,omitempty"` // begun because it was due
	Shards     []catalog.Shard  `json:"shards"`
	Passed     int              `json:"passed"` // shards done
	Began      time.Time        `json:"began"`
	Ended      time.Time        `json:"ended,omitzero"`
	TotalFiles int64            `json:"totalFiles"` // as the catalog had it when the audit began
	TotalBytes int64            `json:"totalBytes"`
	Tally
	Course
	Challenges
	// of the group: what no node held when it began, so that nobody reads it
	Unheld     catalog.Root      `json:"unheld,omitzero"`
	Exceptions []catalog.Finding `json:"exceptions,omitempty"` // the first of them
	Beside
	Faults      []ShardFault     `json:"faults,omitempty"`      // the first shards that could not be passed
	Faulty      int              `json:"faulty,omitempty"`      // how many could not
	Outbox      bool             `json:"outbox,omitempty"`      // the outbox is read too, behind the shards
	OutboxFault string           `json:"outboxFault,omitempty"` // why it could not be read
	OutboxAfter catalog.FileName `json:"outboxAfter,omitempty"` // the last file of it that was checked
	Pass        *Pass            `json:"pass,omitempty"`        // the shard under way
}

// Beside is what an audit has found beside the copies themselves: the first of each kind.
type Beside struct {
	Extras []Extra `json:"extras,omitempty"` // files on disk that the archive does not count on here
	Lines  []Extra `json:"lines,omitempty"`  // files whose line in the manifest was wrong or missing, and was put right
}

// Extra is something that was found beside the copies, with what is odd about it.
type Extra struct {
	Name catalog.FileName `json:"name"`
	Why  string           `json:"why"`
}

// Course is how far an audit has come in time.
type Course struct {
	Planned bool          `json:"planned,omitempty"` // the shards of a scope by names are known
	Worked  time.Duration `json:"worked,omitempty"`  // nanoseconds that it has been at work
}

// Challenges are what an audit that challenges has beside what other audits have.
type Challenges struct {
	Draw  uint64  `json:"draw,omitempty"`  // by which the examiners are known
	Share float64 `json:"share,omitempty"` // of the copies that are challenged; 0: all
	// the first that were not answered rightly, and how those of each replica's copies ended
	Unanswered []Unanswered                  `json:"unanswered,omitempty"`
	Asked      map[catalog.ReplicaName]Asked `json:"asked,omitempty"`
	// of the unanswered: those answered rightly when they were asked again, but for those that were wrong before
	Answered int `json:"answered,omitempty"`
	// late answers of each node in a row, while the audit is at work; of whoever carries it out alone
	late map[catalog.NodeID]int
	// nodes that were not ready after some tries: they are not tried so often again. As late
	hasty map[catalog.NodeID]bool
}

// Tally counts what an audit has found so far.
type Tally struct {
	Files int64 `json:"files"` // read
	Bytes int64 `json:"bytes"`
	// files that were not read, as the catalog itself says that they are not here yet
	Owed      int64 `json:"owed,omitempty"`
	OwedBytes int64 `json:"owedBytes,omitempty"`
	Excepted  int   `json:"excepted"` // missing and corrupt files and relisted lines
	Missing   int   `json:"missing,omitempty"`
	Corrupt   int   `json:"corrupt,omitempty"`
	Relisted  int   `json:"relisted,omitempty"`  // lines of manifests that were wrong or missing, and were put right
	Unknowns  int   `json:"unknowns"`            // files on disk that the catalog does not know
	Uncounted int   `json:"uncounted,omitempty"` // files on disk that it knows, and that are no copy of this replica
	// challenges with a wrong answer, a reason instead of one, none in time, and those that could not be made
	Wrong     int `json:"wrong,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Late      int `json:"late,omitempty"`
	Unreached int `json:"unreached,omitempty"`
}

// Asked counts the challenges of one replica's copies.
type Asked struct {
	Files    int64 `json:"files"`    // answered
	Findings int64 `json:"findings"` // wrong, refused or late
	Missed   int64 `json:"missed"`   // not answered, or not made
}

// asked counts challenges. The caller holds the lock of the audits.
func (one *Audit) asked(r catalog.ReplicaName, files, findings, missed int64) {
	if one.Asked == nil {
		one.Asked = map[catalog.ReplicaName]Asked{}
	}
	a := one.Asked[r]
	one.Asked[r] = Asked{a.Files + files, a.Findings + findings, a.Missed + missed}
}

// Pass is how far the audit of one shard has come.
type Pass struct {
	Shard      catalog.Shard    `json:"shard"`
	Began      catalog.Time     `json:"began"`
	After      catalog.FileName `json:"after,omitempty"` // the last file checked
	Root       catalog.Root     `json:"root"`            // of the files found right
	Exceptions int              `json:"exceptions"`
	Surveyed   bool             `json:"surveyed,omitempty"` // the shard's unknown files have been counted
}

// except counts a fault of a file and lists it, if there is room. The caller holds the lock of the audits.
func (one *Audit) except(found catalog.Finding) {
	one.Excepted++
	if found.FileList == catalog.FileListMissing {
		one.Missing++
	} else {
		one.Corrupt++
	}
	if len(one.Exceptions) < listed {
		one.Exceptions = append(one.Exceptions, found)
	}
}

// Of the exceptions and unknown files of an audit this many are listed; of ended audits this many are kept.
const (
	listed = 100
	kept   = 100
)

// audits is this node's audits and their state on disk, <id>.json each.
type audits struct {
	dir  string
	disk disk.Disk
	wake chan struct{}

	mu     sync.Mutex
	all    []*Audit                      // by id, and so by their beginning
	now    map[string]context.CancelFunc // those being carried out
	rest   map[catalog.Shard]time.Time   // shards that could not be passed, until when they are left alone
	opened time.Time                     // when this process read them
}

// openAudits reads the state of the audits. The state of one that is damaged is set aside: its shards are due again,
// and nothing else depends on it.
func openAudits(dir string, d disk.Disk, log *slog.Logger) (*audits, error) {
	a := &audits{dir: dir, disk: d, wake: make(chan struct{}, 1), rest: make(map[catalog.Shard]time.Time),
		now: make(map[string]context.CancelFunc), opened: time.Now()}
	if err := d.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("open audits: %w", err)
	}
	if err := d.CleanTemporary(dir); err != nil {
		return nil, fmt.Errorf("open audits: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open audits: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var one Audit
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil || one.ID != id || one.Passed < 0 || one.Passed > len(one.Shards) {
			a.setDamagedAside(filepath.Join(dir, e.Name()), err, log)
			continue
		}
		a.all = append(a.all, &one)
	}
	return a, nil
}

func (a *audits) setDamagedAside(path string, why error, log *slog.Logger) {
	log.Error("the state of an audit is damaged and was set aside; the audit is not carried on", "file", path, "err",
		why)
	if err := a.disk.Rename(path, path+".damaged"); err != nil {
		log.Error("the state of a damaged audit stays where it is", "file", path, "err", err)
	}
}

// save writes the audit's state. The caller holds mu.
func (a *audits) save(one *Audit) error {
	err := a.disk.WriteFile(filepath.Join(a.dir, one.ID+".json"), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(one)
	})
	if err != nil {
		return fmt.Errorf("save audit %s: %w", one.ID, err)
	}
	return nil
}

// change applies do to the audit, saves it and wakes the one who carries audits out.
func (a *audits) change(id string, do func(*Audit) error) (Audit, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if one.ID != id {
			continue
		}
		if err := do(one); err != nil {
			return one.copy(), err
		}
		if stop := a.now[id]; one.State != AuditRunning && stop != nil {
			stop()
		}
		a.poke()
		return one.copy(), a.save(one)
	}
	return Audit{}, fmt.Errorf("audit %q: %w", id, ErrUnknown)
}

func (a *audits) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// copy returns a copy of the audit's present state, for others.
func (one *Audit) copy() Audit {
	c := *one
	c.Shards, c.Unanswered, c.Asked = slices.Clone(one.Shards), slices.Clone(one.Unanswered), maps.Clone(one.Asked)
	c.Exceptions, c.Faults = slices.Clone(one.Exceptions), slices.Clone(one.Faults)
	c.Extras, c.Lines = slices.Clone(one.Extras), slices.Clone(one.Lines)
	if one.Pass != nil {
		pass := *one.Pass
		c.Pass = &pass
	}
	return c
}

// nextID returns a number above all that were given here: ids need no clock. Ids from before were times, and are
// numbers too. The caller holds mu.
func (a *audits) nextID() string {
	last := uint64(0)
	for _, one := range a.all {
		if n, err := strconv.ParseUint(one.ID, 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return fmt.Sprintf("%017d", last+1)
}

// add begins an audit and forgets the oldest ended ones.
func (a *audits) add(one *Audit) (Audit, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.ID = a.nextID()
	if err := a.save(one); err != nil {
		return Audit{}, err
	}
	a.all = append(a.all, one)
	for i := 0; len(a.all) > kept && i < len(a.all); {
		if !a.all[i].State.Ended() {
			i++
			continue
		}
		if err := a.disk.Remove(filepath.Join(a.dir, a.all[i].ID+".json")); err != nil {
			return Audit{}, err
		}
		a.all = slices.Delete(a.all, i, i+1)
	}
	a.poke()
	return one.copy(), nil
}

// Audits returns this node's audits, the oldest first.
func (r *auditor) Audits() []Audit {
	r.audits.mu.Lock()
	defer r.audits.mu.Unlock()
	list := make([]Audit, 0, len(r.audits.all))
	for _, one := range r.audits.all {
		list = append(list, one.copy())
	}
	return list
}

// Audit returns the audit's present state, or ErrUnknown.
func (r *auditor) Audit(id string) (Audit, error) {
	for _, one := range r.Audits() {
		if one.ID == id {
			return one, nil
		}
	}
	return Audit{}, fmt.Errorf("audit %q: %w", id, ErrUnknown)
}

// errEnded refuses to change an audit that has ended.
var errEnded = errors.New("the audit has ended")

// PauseAudit lets the audit rest where it is until it is resumed.
func (r *auditor) PauseAudit(id string) (Audit, error) { return r.audits.turn(id, AuditPaused) }

// ResumeAudit resumes a paused audit.
func (r *auditor) ResumeAudit(id string) (Audit, error) { return r.audits.turn(id, AuditRunning) }

// StopAudit ends the audit where it is, for good.
func (r *auditor) StopAudit(id string) (Audit, error) { return r.audits.turn(id, AuditStopped) }

func (a *audits) turn(id string, to AuditState) (Audit, error) {
	return a.change(id, func(one *Audit) error {
		if one.State.Ended() {
			return fmt.Errorf("audit %s is %s: %w", id, one.State, errEnded)
		}
		one.State = to
		if to == AuditStopped {
			one.Ended = time.Now()
		}
		return nil
	})
}
