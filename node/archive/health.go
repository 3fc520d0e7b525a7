package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/replica"
)

const (
	healthEvery = 2 * time.Second // a look at the catalog answers all who ask within this time
	healthPage  = 1000            // of each sort, things looked at
	enterTime   = time.Minute     // that a file may lie in the outbox before it has entered the archive
)

// Health looks for what a human should know of this node's copies.
type Health struct {
	Self    catalog.NodeID
	Outbox  string // the folder
	Store   *replica.Store
	Replica *replica.Replica
	View    func(func(catalog.View) error) error
	Alive   func() map[catalog.NodeID]bool
	Clock   func() duty.Clock
	More    func(catalog.View) ([]alert.Alert, error) // what else is to be said of the catalog
	Log     *slog.Logger

	mu     sync.Mutex
	at     time.Time
	alerts []alert.Alert
	outbox int
	fault  error // why the outbox could not be listed
}

// Waiting returns how many files wait in the outbox, as of the last look.
func (h *Health) Waiting() (int, error) {
	h.Look()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outbox, h.fault
}

// Look returns what a human should know of this node's copies, and how many files wait in its outbox. What it looks at
// is bounded, and it looks again only after a while.
func (h *Health) Look() (alerts []alert.Alert, outbox int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) < healthEvery {
		return h.alerts, h.outbox
	}
	var late int
	h.outbox, late, h.fault = h.lookAtOutbox(time.Now())
	h.alerts = nil
	if late > 0 {
		h.alerts = append(h.alerts, alert.New(alert.OutboxLate, "", "files", alert.Number(late)))
	}
	h.alerts = append(h.alerts, h.gone()...)
	h.alerts = append(h.alerts, unaudited(h.Replica.Audits())...)
	h.alerts = append(h.alerts, unanswered(h.Replica.Audits(), time.Now())...)
	h.alerts = append(h.alerts, unclaimed(h.Replica.Strays())...)
	alive := h.Alive()
	err := h.View(func(v catalog.View) error {
		found, err := ailing(v, h.Self, func(id catalog.NodeID) bool { return alive[id] }, h.Clock())
		if err != nil {
			return err
		}
		drain, err := StuckDrain(v, h.Self, func(id catalog.NodeID) bool { return alive[id] })
		if err != nil {
			return err
		}
		if epoch, err := v.Unproved(h.Self); err != nil {
			return err
		} else if epoch != 0 {
			drain = append(drain, alert.New(alert.CopiesUnproved, ""))
		}
		strangers, err := nobodys(v, h.Store.Loose())
		if err != nil {
			return err
		}
		lacking, err := h.More(v)
		h.alerts = slices.Concat(h.alerts, found, drain, strangers, lacking)
		return err
	})
	if err != nil && !errors.Is(err, catalog.ErrNotFound) { // one that has just joined does not see itself yet
		h.alerts = append(h.alerts, alert.New(alert.CatalogUnreadable, "", "reason", err.Error()))
	}
	h.at = time.Now()
	return h.alerts, h.outbox
}

// gone names the disks that are not there, with what is out of reach with them.
func (h *Health) gone() (all []alert.Alert) {
	away := h.Store.Mounted()
	if away == nil {
		return nil
	}
	report, err := h.Replica.Disks.Report()
	if err != nil { // of the catalog: the disks are named all the same
		for line := range strings.SplitSeq(away.Error(), "\n") {
			all = append(all, alert.New(alert.FolderGone, line, "reason", line))
		}
		return all
	}
	for _, d := range report.Disks {
		if d.State != replica.DiskGone || h.Replica.Disks.TakenAway(d.Path) {
			continue
		}
		reason := fmt.Sprintf("%d shards with %d bytes are out of reach: %s", d.Shards, d.Bytes, d.Why)
		all = append(all, alert.New(alert.FolderGone, d.Path, "reason", reason))
	}
	return all
}

// unaudited says which shards the latest audit could not read.
func unaudited(all []replica.Audit) []alert.Alert {
	for _, one := range slices.Backward(all) {
		whole := one.Proves() && one.Scope.All()
		if one.Faulty == 0 && (one.State == replica.AuditRunning || !whole) || len(one.Scope.Files) > 0 ||
			one.State == replica.AuditPaused || one.State == replica.AuditStopped {
			continue
		}
		if one.Faulty == 0 {
			return nil
		}
		return []alert.Alert{alert.New(alert.ShardsUnaudited, "", "shards", alert.Number(one.Faulty),
			"shard", fmt.Sprint(one.Faults[0].Shard), "reason", one.Faults[0].Reason)}
	}
	return nil
}

// unlisted is said of challenges that an audit has counted and no longer knows: it lists the first thousand.
const unlisted = "it was answered since, but the others are not listed and not asked again: challenge all copies again"

// unanswered says which challenges of the last audit of that kind were not answered rightly. A wrong answer is told at
// once; others only when asking again did not help for a while. Those that could not be made are in the audit. What an
// audit before the last sample was not told is told as long as it is asked for.
func unanswered(all []replica.Audit, now time.Time) []alert.Alert {
	sampled := false
	for _, one := range slices.Backward(all) {
		if one.Kind != replica.AuditChallenge || one.State == replica.AuditStopped {
			continue
		}
		var first *replica.Unanswered
		failed := one.Wrong + one.Refused + one.Late
		for i := range one.Unanswered {
			switch u := &one.Unanswered[i]; {
			case u.Outcome == replica.AnswerUnreached, u.Outcome == replica.AnswerUnread:
			case !u.Settled.IsZero(), u.Outcome != replica.AnswerWrong && !u.At.After(now) &&
				now.Sub(u.At) < replica.UnansweredFor, sampled && u.Next.IsZero():
				failed--
			case first == nil:
				first = u
			}
		}
		reason := unlisted
		if first != nil {
			reason = cmp.Or(first.Why, "it gives no reason")
		} else if failed > 0 && len(one.Unanswered) > 0 && !sampled && one.State.Ended() &&
			(one.Ended.After(now) || now.Sub(one.Ended) >= replica.UnansweredFor) {
			first = &one.Unanswered[0]
		}
		if first != nil {
			return []alert.Alert{alert.New(alert.ChallengesFailed, "", "copies", alert.Number(failed),
				"file", string(first.Name), "replica", string(first.Replica), "outcome", string(first.Outcome),
				"reason", reason)}
		}
		if one.AskedAll() {
			return nil
		}
		sampled = sampled || one.Share > 0 && one.State.Ended()
	}
	return nil
}

// unclaimed describes the bytes here that the archive neither counts on nor asks for.
func unclaimed(all []replica.Stray) []alert.Alert {
	all = slices.DeleteFunc(all, func(s replica.Stray) bool { return s.Harmless })
	if len(all) == 0 {
		return nil
	}
	size := int64(0)
	for _, s := range all {
		size += s.Size
	}
	return []alert.Alert{alert.New(alert.StrayFiles, "", "files", alert.Number(len(all)), "bytes", alert.Number(size),
		"path", all[0].Path, "state", string(all[0].State))}
}

// ailing says which of the copies that the node owes come to nothing, and which disputes nobody but a human decides.
func ailing(v catalog.View, self catalog.NodeID, alive duty.Alive, clock duty.Clock) (out []alert.Alert, err error) {
	m, err := v.Member(self)
	if err != nil {
		return nil, err
	}
	layout, err := v.Layout(m.Replica)
	if err != nil {
		return nil, err
	}
	here := func(s catalog.Shard) bool { return layout[s].Holder == self }
	owed, _, err := v.Owed(m.Replica, here, catalog.Cursor{}, healthPage)
	if err != nil {
		return nil, err
	}
	failed := slices.DeleteFunc(owed, func(f catalog.File) bool {
		c := f.Copy(m.Replica)
		return c == nil || c.State != catalog.UploadFailed
	})
	if len(failed) > 0 {
		f := &failed[0]
		out = append(out, alert.New(alert.CopiesFailed, "", "copies", alert.Number(len(failed)),
			"file", string(f.Name), "reason", f.Copy(m.Replica).Reason))
	}
	page, err := duty.Fetches(v, self, alive, clock, catalog.Cursor{}, healthPage)
	if err != nil {
		return nil, err
	}
	if page.Stuck > 0 {
		out = append(out, alert.New(alert.CopiesStuck, "", "copies", alert.Number(page.Stuck)))
	}
	verdicts, err := duty.Verdicts(v, clock.Now, "", healthPage)
	if u := verdicts.Undecided; err == nil && len(u) > 0 {
		out = append(out, alert.New(alert.DisputesUndecided, "", "copies", alert.Number(len(u)),
			"file", string(u[0].Name), "replica", string(u[0].Replica), "reason", u[0].Why))
	}
	return out, err
}

// StuckDrain says why this node's drain cannot end, if so: no other node of its replica is there to take its shards.
func StuckDrain(v catalog.View, self catalog.NodeID, alive duty.Alive) ([]alert.Alert, error) {
	m, err := v.Member(self)
	if err != nil || !m.Draining {
		return nil, err
	}
	layout, err := v.Layout(m.Replica)
	if err != nil || !slices.ContainsFunc(layout, func(p catalog.Placement) bool { return p.Holder == self }) {
		return nil, err
	}
	members, err := v.Members()
	if err != nil {
		return nil, err
	}
	why := alert.DrainAlone
	for _, other := range members {
		if other.ID == self || other.Replica != m.Replica || other.Draining {
			continue
		}
		if alive(other.ID) {
			return nil, nil
		}
		why = alert.DrainOthersAway
	}
	return []alert.Alert{alert.New(why, m.Name, "replica", string(m.Replica))}, nil
}

// lookAtOutbox counts the files in the outbox, and those of the first that the archive should know by now but does not.
func (h *Health) lookAtOutbox(now time.Time) (all, late int, err error) {
	entries, err := os.ReadDir(h.Outbox)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err != nil {
		h.Log.Warn("the outbox cannot be listed", "error", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue
		}
		if all++; all > healthPage {
			continue
		}
		info, err := e.Info()
		if err == nil && now.Sub(info.ModTime()) > enterTime && !h.archived(catalog.FileName(e.Name())) {
			late++
		}
	}
	return all, late, err
}

// archived reports whether the catalog here knows the name.
func (h *Health) archived(name catalog.FileName) bool {
	err := h.View(func(v catalog.View) error { _, err := v.File(name); return err })
	return err == nil
}

// nobodys says which of the files that lie in the archive's folders without being vouched for the archive does not
// know.
func nobodys(v catalog.View, loose []catalog.FileName) ([]alert.Alert, error) {
	var unknown []catalog.FileName
	for _, name := range loose[:min(len(loose), healthPage)] {
		_, err := v.File(name)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			unknown = append(unknown, name)
		case err != nil:
			return nil, err
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	return []alert.Alert{alert.New(alert.UnknownFiles, "", "files", alert.Number(len(unknown)),
		"file", string(unknown[0]))}, nil
}
