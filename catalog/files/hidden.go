package files

import (
	"strconv"
	"strings"

	"holdfast/catalog/agree"
)

// LevelOfHidden is the level from which on a removed file can be restored for some days, and puts and audits that
// people ask for are in the trail.
const LevelOfHidden = 5

const (
	removalDays    = 30   // how long a removed file can be restored, unless the rule says otherwise
	maxRemovalDays = 3650 // ten years
	day            = agree.Time(24 * 60 * 60 * 1000)
)

// RemovalRule says how long a removed file can be restored.
type RemovalRule struct {
	Days    int        `json:"days"`    // 0: not at all
	Version uint64     `json:"version"` // grows by one with each change; 0 as long as nobody has changed it
	By      string     `json:"by,omitempty"`
	At      agree.Time `json:"at,omitempty"`
}

// RemovalSetting changes for how many days files that are removed from then on can be restored. Those that wait
// already keep their date. It is refused unless the rule has this version.
type RemovalSetting struct {
	Days    int    `json:"days"`
	Version uint64 `json:"version"`
	Reason  string `json:"reason"`
}

// Restoration makes a removed file one like any other again. It is refused when the release of its bytes has begun.
type Restoration struct {
	Name   FileName     `json:"name"`
	SHA256 agree.Digest `json:"sha256"` // must agree, against mistakes
	Reason string       `json:"reason"`
}

// Expiry makes tombstones of removed files whose time to be restored is over. It is the leader's: one that is not due,
// by the catalog's clock and by the leader's own, is refused.
type Expiry struct {
	Files []FileName `json:"files"`
}

// RemovalRuleIn returns the rule of removals.
func RemovalRuleIn(r agree.Reader) (RemovalRule, error) {
	rule, there, err := agree.Get[RemovalRule](r, keyRemovals)
	if err == nil && !there {
		rule.Days = removalDays
	}
	return rule, err
}

// RemovalDaysIn returns for how many days a file that is removed now can be restored: 0 below LevelOfHidden.
func RemovalDaysIn(r agree.Reader) (int, error) {
	c, _, err := agree.Get[agree.Cluster](r, agree.PrefixCluster)
	if err != nil || c.Level < LevelOfHidden {
		return 0, err
	}
	rule, err := RemovalRuleIn(r)
	return rule.Days, err
}

// HoldHidden has no removed file released for thirty days. The state from which a recovered cluster continues may be
// older than the restoration of a file that is hidden in it: whoever restored it has that time to do it again.
func HoldHidden(s *agree.State) error {
	if s.Cluster.Level < LevelOfHidden {
		return nil
	}
	return s.Set(keyHeld, s.At+removalDays*day)
}

// heldUntil returns until when no hidden file is released, 0 if none is kept longer than its own time.
func heldUntil(r agree.Reader) (agree.Time, error) {
	at, _, err := agree.Get[agree.Time](r, keyHeld)
	return at, err
}

func setRemovals(s *state, b *RemovalSetting) (any, error) {
	rule, err := RemovalRuleIn(s)
	if err != nil {
		return nil, err
	}
	if b.Days < 0 || b.Days > maxRemovalDays {
		return nil, agree.Refuse(agree.Invalid, "%d days: want 0 to %d", b.Days, maxRemovalDays)
	}
	if b.Version != rule.Version {
		return nil, agree.Refuse(agree.Stale, "the rule of removals is version %d now, it was %d: look at it again",
			rule.Version, b.Version)
	}
	was := rule.Days
	rule = RemovalRule{Days: b.Days, Version: rule.Version + 1, By: s.Actor, At: s.At}
	if err := s.Set(keyRemovals, rule); err != nil {
		return nil, err
	}
	return rule, s.Event(SetRemovals, s.Cluster.ID, "days=%d before=%d reason=%s", b.Days, was,
		agree.ClipReason(b.Reason))
}

// hide makes a removed file one that nobody is given, and that can be restored for these days. All that the archive
// does to keep its copies goes on.
func hide(s *state, f File, reason string, days int) error {
	old, now := edit(f)
	now.Hidden = max(s.At, 1)
	now.Until = now.Hidden + agree.Time(days)*day
	now.RemovedBy, now.Reason = s.Actor, agree.ClipReason(reason)
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event(RemoveFile, string(f.Name), "sha256=%s until=%s reason=%s", f.SHA256, clock(now.Until), now.Reason)
}

// putHidden keeps the lists of hidden files in step with an entry.
func putHidden(s *state, old, now *File) {
	if old.Hidden != 0 && (now.Hidden == 0 || old.Until != now.Until) {
		s.Delete(keyDue(old.Until, now.Name))
	}
	if old.Hidden == 0 && now.Hidden == 0 {
		return
	}
	s.Marked(keyHidden(now.Name), now.Hidden != 0)
	if now.Hidden != 0 {
		s.Mark(keyDue(now.Until, now.Name))
	}
}

func restoreFile(s *state, b *Restoration) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case f.SHA256 != b.SHA256:
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	case f.Removed != 0:
		return nil, agree.Refuse(agree.Conflict, "file %s cannot be restored: the release of its bytes has begun",
			f.Name)
	case f.Hidden == 0:
		return nil, agree.Refuse(agree.Conflict, "file %s is not removed", f.Name)
	}
	old, now := edit(f)
	now.Hidden, now.Until, now.RemovedBy, now.Reason = 0, 0, "", ""
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(RestoreFile, string(f.Name), "sha256=%s removed=%s by=%s reason=%s", f.SHA256,
		clock(f.Hidden), f.RemovedBy, agree.ClipReason(b.Reason))
}

func expireFiles(s *state, b *Expiry) (any, error) {
	if err := agree.CheckItems(len(b.Files)); err != nil {
		return nil, err
	}
	return each(b.Files, func(name *FileName) FileName { return *name },
		func(name *FileName) error { return expire(s, name) })
}

// expire compares the leader's stamp, too: the catalog's clock may have been put ahead by an earlier leader.
func expire(s *state, name *FileName) error {
	f, err := s.entry(*name)
	if err != nil {
		return err
	}
	held, err := heldUntil(s)
	if err != nil {
		return err
	}
	switch {
	case f.Hidden == 0:
		return agree.Refuse(agree.Conflict, "file %s does not wait to be released", f.Name)
	case s.At < held || s.Stamp < held:
		return agree.Refuse(agree.Unsafe, "file %s is kept until %s, because the cluster was recovered", f.Name,
			clock(held))
	case s.At < f.Until || s.Stamp < f.Until:
		return agree.Refuse(agree.Unsafe, "file %s can be restored until %s", f.Name, clock(f.Until))
	case !s.roomFor(&f, 14+6*len(f.Copies)):
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", f.Name)
	}
	old, now := edit(f)
	now.Removed, now.Hidden, now.Until = f.Hidden, 0, 0
	if err := bury(s, old, now); err != nil {
		return err
	}
	return s.Event(ExpireFiles, string(f.Name), "sha256=%s removed=%s by=%s", f.SHA256, clock(f.Hidden), f.RemovedBy)
}

// Removals answers questions about files that are removed and can be restored.
type Removals struct{ View }

// RemovalsIn returns the Removals of what r shows.
func RemovalsIn(r agree.Reader) Removals { return Removals{NewView(r)} }

// Rule returns the rule of removals.
func (v Removals) Rule() (RemovalRule, error) { return RemovalRuleIn(v.Reader) }

// Hidden returns at most n files behind after that are removed and can be restored.
func (v Removals) Hidden(after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.Reader, PrefixHidden, string(after), n))
}

// IsGone reports whether the file is removed, whether or not it can be restored.
func (v Removals) IsGone(name FileName) (bool, error) {
	value, err := v.Reader.Get([]byte(keyFile(name)))
	if err != nil || len(value) < 2 || value[1] == compactForm { // what is compact stands
		return false, err
	}
	var f File
	err = agree.DecodeValue([]byte(keyFile(name)), value, &f)
	return f.RemovedAt() != 0, err
}

// Expired returns at most n hidden files whose time is over at now, those that waited longest first.
func (v Removals) Expired(now agree.Time, n int) ([]FileName, error) {
	var out []FileName
	if held, err := heldUntil(v.Reader); err != nil || now < held {
		return nil, err
	}
	err := v.Reader.Scan([]byte(PrefixDue), nil, func(key, _ []byte) bool {
		until, name, _ := strings.Cut(string(key[len(PrefixDue):]), "/")
		at, err := strconv.ParseUint(until, 16, 64)
		if err != nil || agree.Time(at) > now {
			return false
		}
		out = append(out, FileName(name))
		return len(out) < n
	})
	return out, err
}
