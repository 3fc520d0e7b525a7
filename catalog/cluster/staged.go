package cluster

import (
	"fmt"
	"slices"

	"holdfast/catalog/agree"
)

// LevelOfStaging is the level since which changes of the layout can be gathered before they are carried out.
const LevelOfStaging = 5

// MaxStaged bounds the changes that are gathered.
const MaxStaged = 40

// Step says what a staged change does.
type Step string

// The steps.
const (
	StepDrain       Step = "drain"
	StepUndrain     Step = "undrain"
	StepWeight      Step = "weight"
	StepRemove      Step = "remove"      // of a node that is drained
	StepCollections Step = "collections" // that a replica is to hold
)

// Staged is a change of the layout that is not carried out yet.
type Staged struct {
	ID          uint64           `json:"id"`
	Step        Step             `json:"step"`
	Node        agree.NodeID     `json:"node,omitempty"`
	Weight      int              `json:"weight,omitempty"`
	Replica     ReplicaName      `json:"replica,omitempty"`
	Collections []CollectionName `json:"collections,omitempty"` // none: all
	Joined      bool             `json:"joined,omitempty"`      // it was staged since the node joined
	Reason      string           `json:"reason,omitempty"`
	By          string           `json:"by"` // an actor
	At          agree.Time       `json:"at"`
}

// Staging has the changes that are gathered, in the order in which they are carried out.
type Staging struct {
	// Version grows with each change of the rest. What is carried out is what was shown with it.
	Version uint64 `json:"version"`
	// Always has such changes refused unless they are staged, and lets new nodes wait for an apply.
	Always  bool     `json:"always,omitempty"`
	Last    uint64   `json:"last"` // number of the last change that was staged
	Changes []Staged `json:"changes,omitempty"`
}

// StagingIn returns what is staged.
func StagingIn(r agree.Reader) (Staging, error) {
	out, _, err := agree.Get[Staging](r, keyStaging)
	return out, err
}

// Staging returns what is staged.
func (v View) Staging() (Staging, error) { return StagingIn(v.Reader) }

// subject names what the change is about; two changes of one subject cannot both be staged.
func (c *Staged) subject() string {
	switch c.Step {
	case StepDrain, StepUndrain:
		return "drain " + string(c.Node)
	case StepCollections:
		return "collections " + string(c.Replica)
	}
	return string(c.Step) + " " + string(c.Node)
}

// about returns the name of what the change is about, for people.
func (c *Staged) about(s *agree.State) (string, error) {
	if c.Step == StepCollections {
		return "replica " + agree.Clip(string(c.Replica), 64), nil
	}
	m, there, err := In(s).Member(c.Node)
	if err != nil || !there {
		return "node " + agree.Clip(string(c.Node), 60), err
	}
	return "node " + m.Name, nil
}

// Text says what the change is, for refusals.
func (c *Staged) Text(s *agree.State) (string, error) {
	about, err := c.about(s)
	return fmt.Sprintf("%s of %s", c.Step, about), err
}

// checkStaged refuses a change that makes no sense, whatever the state.
func checkStaged(c *Staged) error {
	switch c.Step {
	case StepDrain, StepUndrain, StepRemove, StepWeight:
		if c.Node == "" || c.Replica != "" || len(c.Collections) > 0 {
			return agree.Refuse(agree.Invalid, "%s names a node, and no replica or collections", c.Step)
		}
		if c.Step == StepWeight && (c.Weight < 1 || c.Weight > 1_000_000) {
			return agree.Refuse(agree.Invalid, "weight %d: want 1 to 1000000", c.Weight)
		}
	case StepCollections:
		if c.Replica == "" || c.Node != "" {
			return agree.Refuse(agree.Invalid, "%s names a replica, and no node", c.Step)
		}
		if len(c.Collections) > 100 {
			return agree.Refuse(agree.Invalid, "%d collections: at most 100", len(c.Collections))
		}
		for _, name := range c.Collections {
			if err := agree.CheckName("collection", string(name)); err != nil {
				return err
			}
		}
	default:
		return agree.Refuse(agree.Invalid, "%q cannot be staged: want %s, %s, %s, %s or %s",
			agree.Clip(string(c.Step), 40), StepDrain, StepUndrain, StepWeight, StepRemove, StepCollections)
	}
	if c.Step != StepWeight && c.Weight != 0 {
		return agree.Refuse(agree.Invalid, "%s has no weight", c.Step)
	}
	return nil
}

// Stage keeps a change that is to be carried out later. Whether it could be carried out now, the catalog has asked.
func Stage(s *agree.State, b *StageChange) (*Staged, error) {
	all, err := StagingIn(s)
	if err != nil {
		return nil, err
	}
	c := &Staged{ID: all.Last + 1, Step: b.Step, Node: b.Node, Weight: b.Weight, Replica: b.Replica,
		Collections: slices.Compact(slices.Sorted(slices.Values(b.Collections))), Reason: agree.ClipReason(b.Reason),
		By: s.Actor, At: s.At}
	if err := checkStaged(c); err != nil {
		return nil, err
	}
	for i := range all.Changes {
		if other := &all.Changes[i]; other.subject() == c.subject() {
			text, err := other.Text(s)
			return nil, agree.OrConflict(err, "%s is staged already, as change %d: revert that one first", text,
				other.ID)
		}
	}
	if len(all.Changes) >= MaxStaged {
		return nil, agree.Refuse(agree.Conflict, "%d changes are staged: no more before they are applied or reverted",
			len(all.Changes))
	}
	return c, put(s, all, c)
}

// put adds a change to those that are staged.
func put(s *agree.State, all Staging, c *Staged) error {
	all.Last, all.Changes = c.ID, append(all.Changes, *c)
	about, err := c.about(s)
	if err != nil {
		return err
	}
	detail := ""
	switch c.Step {
	case StepWeight:
		detail = fmt.Sprintf(" weight=%d", c.Weight)
	case StepCollections:
		detail = fmt.Sprintf(" collections=%d", len(c.Collections))
	}
	if err := keepStaging(s, &all); err != nil {
		return err
	}
	return s.Event(StageLayout, agree.Hex(c.ID), "step=%s of=%q%s version=%d reason=%s", c.Step, about, detail,
		all.Version, c.Reason)
}

// keepStaging stores what is staged as another version.
func keepStaging(s *agree.State, all *Staging) error {
	all.Version++
	return s.Set(keyStaging, *all)
}

// versionsApart is how many versions and numbers are left out when the cluster continues from a state that may be old.
const versionsApart = 100_000

// SkipVersions leaves versions out that may have been shown already: after a recovery nothing is applied that was
// looked at before.
func SkipVersions(s *agree.State) error {
	if s.Cluster.Level < LevelOfStaging {
		return nil
	}
	all, err := StagingIn(s)
	if err != nil {
		return err
	}
	all.Version += versionsApart
	all.Last += versionsApart
	return keepStaging(s, &all)
}

// Shown returns what is staged, if that is the version that was shown.
func Shown(s *agree.State, version uint64) (Staging, error) {
	all, err := StagingIn(s)
	if err == nil && all.Version != version {
		err = agree.Refuse(agree.Stale, "the staged changes are version %d now, and version %d was shown: look at "+
			"them again", all.Version, version)
	}
	return all, err
}

// Applied takes the changes of the version off the list, when they were carried out.
func Applied(s *agree.State, b *ApplyChanges, carried int) (*Staging, error) {
	all, err := StagingIn(s)
	if err != nil {
		return nil, err
	}
	all.Version, all.Changes = b.Version, nil // a removal among them takes others off the list, as a version of its own
	if err := keepStaging(s, &all); err != nil {
		return nil, err
	}
	return &all, s.Event(ApplyLayout, "", "version=%d changes=%d reason=%s", b.Version, carried,
		agree.ClipReason(b.Reason))
}

// revertLayout discards a staged change, or all of them. A node that joined stays drained, until somebody undrains it.
func revertLayout(s *agree.State, b *RevertChanges) (any, error) {
	all, err := StagingIn(s)
	if err != nil {
		return nil, err
	}
	if b.Version != 0 {
		if all, err = Shown(s, b.Version); err != nil {
			return nil, err
		}
	}
	left := slices.DeleteFunc(slices.Clone(all.Changes), func(c Staged) bool {
		return b.Change == 0 || c.ID == b.Change
	})
	gone := len(all.Changes) - len(left)
	switch {
	case gone == 0 && b.Change != 0:
		return nil, agree.Refuse(agree.NotFound, "no change %d is staged", b.Change)
	case gone == 0:
		return &all, nil
	}
	all.Changes = left
	if err := keepStaging(s, &all); err != nil {
		return nil, err
	}
	return &all, s.Event(RevertLayout, "", "change=%d reverted=%d version=%d reason=%s", b.Change, gone, all.Version,
		agree.ClipReason(b.Reason))
}

// setStaging changes whether changes of the layout are always staged.
func setStaging(s *agree.State, b *SetStaging) (any, error) {
	all, err := StagingIn(s)
	if err != nil || all.Always == b.Always {
		return &all, err
	}
	all.Always = b.Always
	if err := keepStaging(s, &all); err != nil {
		return nil, err
	}
	return &all, s.Event(StageAlways, "", "always=%t version=%d reason=%s", all.Always, all.Version,
		agree.ClipReason(b.Reason))
}

// stageJoined has a new member hold no shards before an apply, where changes are always staged.
func stageJoined(s *agree.State, m *Member) error {
	if s.Cluster.Level < LevelOfStaging {
		return nil
	}
	all, err := StagingIn(s)
	if err != nil || !all.Always {
		return err
	}
	m.Draining = true
	if err := s.Set(keyMember(m.ID), m); err != nil {
		return err
	}
	if len(all.Changes) >= MaxStaged {
		return nil // an operator undrains it
	}
	c := &Staged{ID: all.Last + 1, Step: StepUndrain, Node: m.ID, Joined: true, By: string(m.ID), At: s.At}
	return put(s, all, c)
}

// unstage drops the staged changes about what goes: another one of that name is not to inherit them.
func unstage(s *agree.State, about func(*Staged) bool) error {
	if s.Cluster.Level < LevelOfStaging {
		return nil
	}
	all, err := StagingIn(s)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(all.Changes), func(c Staged) bool { return about(&c) })
	if len(left) == len(all.Changes) {
		return nil
	}
	all.Changes = left
	return keepStaging(s, &all)
}

// OnlyStaged refuses a change that is carried out by staging and applying it alone, where that is so.
func OnlyStaged(s *agree.State) error {
	if s.Cluster.Level < LevelOfStaging {
		return nil
	}
	all, err := StagingIn(s)
	if err != nil {
		return err
	}
	return all.AtOnce()
}

// AtOnce refuses a change that would be carried out at once, where changes are always staged.
func (all *Staging) AtOnce() error {
	if !all.Always {
		return nil
	}
	return agree.Refuse(agree.OnlyStaged, "in this cluster changes of the layout are staged first, and carried out by "+
		"layout apply")
}
