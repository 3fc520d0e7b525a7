package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// waiter says what a command is that can wait for a second person.
type waiter struct {
	// class is empty when the command, as it is, waits for nobody.
	class func(r agree.Reader, body json.RawMessage) (approvals.Class, error)
	// act says what it would do now; it refuses a command about what has changed since it was looked at.
	act func(r agree.Reader, body json.RawMessage) (approvals.Act, error)
	// gate has the command refused while it waits.
	gate func(agree.Handler) agree.Handler
}

// waits makes a waiter of what a command's body says.
func waits[B any](class func(agree.Reader, *B) (approvals.Class, error),
	act func(agree.Reader, *B) (approvals.Act, error)) waiter {
	read := func(raw json.RawMessage) (*B, error) {
		b := new(B)
		if err := agree.DecodeStrict(raw, b); err != nil {
			return nil, agree.Refuse(agree.Invalid, "body: %v", err)
		}
		return b, nil
	}
	return waiter{
		class: func(r agree.Reader, raw json.RawMessage) (approvals.Class, error) {
			b, err := read(raw)
			if err != nil {
				return "", err
			}
			return class(r, b)
		},
		act: func(r agree.Reader, raw json.RawMessage) (out approvals.Act, err error) {
			b, err := read(raw)
			if err != nil {
				return out, err
			}
			if out, err = act(r, b); err == nil {
				out.Class, err = class(r, b)
			}
			return out, err
		},
		gate: func(do agree.Handler) agree.Handler {
			return agree.Unless(func(s *agree.State, b *B) error {
				if s.Cluster.Level < approvals.Level {
					return nil
				}
				c, err := class(s, b)
				if err != nil {
					return err
				}
				return approvals.Waits(s, c)
			}, do)
		},
	}
}

// always is for commands that are of one class, whatever they say.
func always[B any](c approvals.Class) func(agree.Reader, *B) (approvals.Class, error) {
	return func(agree.Reader, *B) (approvals.Class, error) { return c, nil }
}

// waiters has every command by which something is taken from the archive that a person asks for. What the machine does
// by itself, such as verdicts and releases, is not among them.
var waiters = map[Kind]waiter{
	RemoveFile: waits(always[FileRemoval](approvals.FileRemove),
		aboutRemoval),
	LoseFile: waits(classOfLoss, func(r agree.Reader, b *FileLoss) (approvals.Act, error) {
		return aboutFile(r, b.Name, b.SHA256, b.Version)
	}),
	files.SetChecksum: waits(always[files.Correction](approvals.FileChecksum),
		func(r agree.Reader, b *files.Correction) (approvals.Act, error) {
			return aboutFile(r, b.Name, b.Was, b.Version)
		}),
	files.SetCopyState: waits(always[files.CopySetting](approvals.CopyState),
		func(r agree.Reader, b *files.CopySetting) (approvals.Act, error) {
			return aboutCopy(r, b.Name, b.Replica, b.SHA256, b.Version)
		}),
	files.ReplaceCopy: waits(always[files.Replacement](approvals.CopyReplace),
		func(r agree.Reader, b *files.Replacement) (approvals.Act, error) {
			return aboutCopy(r, b.Name, b.Replica, Digest{}, 0)
		}),
	files.DiscardAside: waits(always[files.Discard](approvals.AsideDelete), aboutAside),
	RemoveMember:       waits(classOfMemberRemoval, aboutMember),
	RemoveReplica:      waits(always[ReplicaRemoval](approvals.ReplicaRemove), aboutReplica),
	SetReplica:         waits(classOfReplica, aboutNarrowing),
	approvals.Set:      waits(always[approvals.Setting](approvals.RuleChange), aboutRule),
}

// WaitingKinds returns the commands that can wait for a second person.
func WaitingKinds() []Kind { return slices.Sorted(maps.Keys(waiters)) }

// gated has the rules refuse what waits for a second person.
func gated(rules []agree.Rule) []agree.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		if w, waits := waiters[rules[i].Kind]; waits {
			rules[i].Do = w.gate(rules[i].Do)
		}
	}
	return rules
}

func classOfLoss(_ agree.Reader, b *FileLoss) (approvals.Class, error) {
	if b.Undo {
		return "", nil
	}
	return approvals.FileLost, nil
}

// classOfMemberRemoval: a node that has been drained has nothing that is lost.
func classOfMemberRemoval(_ agree.Reader, b *MemberRemoval) (approvals.Class, error) {
	if !b.Lost {
		return "", nil
	}
	return approvals.NodeLost, nil
}

// classOfReplica: one that is new, or is to hold more than before, takes nothing away.
func classOfReplica(r agree.Reader, b *Replica) (approvals.Class, error) {
	old, there, err := cluster.In(r).Replica(b.Name)
	if err != nil || !there || len(b.Collections) == 0 {
		return "", err
	}
	if len(old.Collections) == 0 {
		return approvals.ReplicaNarrow, nil
	}
	for _, c := range old.Collections {
		if !b.Holds(c) {
			return approvals.ReplicaNarrow, nil
		}
	}
	return "", nil
}

// aboutFile says what an act on a file is about. Its mark is the file's entry: any change of it is another one.
func aboutFile(r agree.Reader, name FileName, sum Digest, version uint64) (approvals.Act, error) {
	f, err := files.EntryIn(r, name)
	if err != nil {
		return approvals.Act{}, err
	}
	switch {
	case f.Removed != 0:
		return approvals.Act{}, agree.Refuse(agree.Conflict, "file %s was removed", f.Name)
	case sum != f.SHA256 && !sum.IsZero():
		return approvals.Act{}, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	case version != 0 && version != f.Version:
		return approvals.Act{}, agree.Refuse(agree.Conflict, "file %s has changed since it was looked at: its entry "+
			"is version %d now, it was %d", f.Name, f.Version, version)
	}
	return approvals.Act{Subject: string(f.Name), SHA256: f.SHA256, Files: 1, Bytes: f.Size,
		Mark: fmt.Sprintf("%d %s", f.Version, f.SHA256)}, nil
}

// aboutRemoval is aboutFile with for how many days the file could be restored: a second person who was told
// that it can be restored does not grant that its bytes go at once.
func aboutRemoval(r agree.Reader, b *FileRemoval) (approvals.Act, error) {
	act, err := aboutFile(r, b.Name, b.SHA256, b.Version)
	if err != nil {
		return act, err
	}
	f, err := files.EntryIn(r, b.Name)
	if err != nil {
		return act, err
	}
	if f.Hidden != 0 {
		return act, agree.Refuse(agree.Conflict, "%s", f.Gone())
	}
	act.Days, err = files.RemovalDaysIn(r)
	return act, err
}

func aboutCopy(r agree.Reader, name FileName, replica ReplicaName, sum Digest,
	version uint64) (approvals.Act, error) {
	act, err := aboutFile(r, name, sum, version)
	if err != nil {
		return act, err
	}
	if _, there, err := cluster.In(r).Replica(replica); err != nil || !there {
		return act, agree.OrNotFound(err, "no replica %q", agree.Clip(string(replica), 64))
	}
	act.Replica = string(replica)
	return act, nil
}

// aboutAside says what the deletion of bytes set aside is about. Its mark is the entry of the file as which they lay
// there: what was wrong bytes may be the file's, or the last ones, when that is another.
func aboutAside(r agree.Reader, b *files.Discard) (approvals.Act, error) {
	m, there, err := cluster.In(r).Member(b.Node)
	if err != nil || !there {
		return approvals.Act{}, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	name, ok := b.Aside.File()
	if !ok {
		return approvals.Act{}, agree.Refuse(agree.Invalid, "%q is not the name of bytes in a quarantine",
			agree.Clip(string(b.Aside), 220))
	}
	act := approvals.Act{Subject: m.Name + "/" + string(b.Aside), SHA256: b.SHA256, Mark: "unknown"}
	f, err := files.EntryIn(r, name)
	if err == nil {
		act.Mark = fmt.Sprintf("%d %s", f.Version, f.SHA256)
	} else if refused(err) {
		err = nil
	}
	return act, err
}

func aboutMember(r agree.Reader, b *MemberRemoval) (approvals.Act, error) {
	m, there, err := cluster.In(r).Member(b.ID)
	if err != nil || !there {
		return approvals.Act{}, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	standing, err := cluster.StandingOf(r, &m)
	if err != nil {
		return approvals.Act{}, err
	}
	if !b.Standing.IsZero() && b.Standing != standing {
		return approvals.Act{}, agree.Refuse(agree.Conflict,
			"the members, or what %s holds, have changed since that was looked at", m.Name)
	}
	totals, err := files.TotalsOf(r, m.Replica)
	if err != nil {
		return approvals.Act{}, err
	}
	shards, err := cluster.In(r).ShardsOf(&m)
	return approvals.Act{Subject: m.Name, Replica: string(m.Replica), Files: totals.Files, Bytes: totals.Bytes,
		Shards: shards, Mark: standing.String()}, err
}

func aboutReplica(r agree.Reader, b *ReplicaRemoval) (approvals.Act, error) {
	if _, there, err := cluster.In(r).Replica(b.Replica); err != nil || !there {
		return approvals.Act{}, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	totals, err := files.TotalsOf(r, b.Replica)
	if err != nil {
		return approvals.Act{}, err
	}
	mark, err := markOfReplicas(r)
	return approvals.Act{Subject: string(b.Replica), Files: totals.Files, Bytes: totals.Bytes, Mark: mark}, err
}

// aboutNarrowing counts what the replica is not to hold any more.
func aboutNarrowing(r agree.Reader, b *Replica) (approvals.Act, error) {
	old, there, err := cluster.In(r).Replica(b.Name)
	if err != nil || !there {
		return approvals.Act{}, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Name), 64))
	}
	act := approvals.Act{Subject: string(b.Name)}
	act.Files, act.Bytes, err = files.Counted(r, func(c CollectionName) bool { return old.Holds(c) && !b.Holds(c) })
	if err != nil {
		return act, err
	}
	act.Mark, err = markOfReplicas(r)
	return act, err
}

// markOfReplicas tells all replicas, and what each is to hold, from any other.
func markOfReplicas(r agree.Reader) (string, error) {
	all, err := cluster.In(r).Replicas()
	if err != nil {
		return "", err
	}
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = cluster.PrefixReplicas + string(all[i].Name)
	}
	return agree.VersionOf(r, keys...)
}

func aboutRule(r agree.Reader, b *approvals.Setting) (approvals.Act, error) {
	rule, err := approvals.RuleIn(r)
	if err == nil && rule.Version != b.Version {
		err = agree.Refuse(agree.Conflict,
			"the rule has changed since it was looked at: it is version %d now, it was %d", rule.Version, b.Version)
	}
	return approvals.Act{Subject: "approvals", Mark: fmt.Sprint(rule.Version)}, err
}
