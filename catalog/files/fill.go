package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// fillChunk bounds the files that one step of a Fill looks at.
const fillChunk = 128

// StartFill begins the walk over a replica's files, or begins it again.
func StartFill(s *agree.State, replica cluster.ReplicaName, all bool) error {
	f, going, err := agree.Get[Fill](s, keyFill(replica))
	if err != nil {
		return err
	}
	if !going && all {
		if any, err := agree.HasAny(s, prefixShards); err != nil || !any {
			return err
		}
	}
	return s.Set(keyFill(replica), Fill{Replica: replica, All: all || f.All, Began: s.At})
}

// fillReplica continues a replica's walk by one chunk. Files that the replica now has to hold become owed; those that
// it no longer has to hold become surplus; those whose node was lost become owed again. A shard whose files were all
// seen is taken from its lost node.
func fillReplica(s *state, b *FillStep) (any, error) {
	f, going, err := agree.Get[Fill](s, keyFill(b.Replica))
	if err != nil || !going {
		return nil, agree.OrNotFound(err, "nothing is to be filled in replica %q", agree.Clip(string(b.Replica), 64))
	}
	if f.Shard != b.Shard || f.After != b.After {
		return nil, agree.Refuse(agree.Conflict, "the walk over %s is at shard %s behind %q", f.Replica, f.Shard,
			f.After)
	}
	replica, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %s", b.Replica)
	}
	layout, err := s.Layout(b.Replica)
	if err != nil {
		return nil, err
	}
	w := walk{state: s, replica: replica, layout: layout, alive: make(map[agree.NodeID]bool)}
	if s.Cluster.Level >= 2 {
		if w.removing, err = s.IsRemoved(b.Replica); err != nil {
			return nil, err
		}
	}
	cursor, done, err := w.step(Cursor{Shard: f.Shard, After: f.After}, f.All)
	if err != nil {
		return nil, err
	}
	if done && w.removing {
		return nil, DropReplica(s.State, b.Replica)
	}
	if done {
		s.Delete(keyFill(b.Replica))
		return nil, nil
	}
	f.Shard, f.After = cursor.Shard, cursor.After
	return &f, s.Set(keyFill(b.Replica), f)
}

// walk is one step of a Fill.
type walk struct {
	*state
	replica cluster.Replica
	layout  []cluster.Placement
	alive   map[agree.NodeID]bool
	// removing reports whether the replica is to hold nothing any more.
	removing bool
}

// roomForOne reports whether the command may still change one more file.
func (w *walk) roomForOne() bool {
	if w.Cluster.Level >= 2 {
		return w.Room(8 + cluster.MaxReplicas)
	}
	return w.Room(8)
}

func (w *walk) isAlive(node agree.NodeID) (bool, error) {
	if alive, ok := w.alive[node]; ok {
		return alive, nil
	}
	alive, err := w.IsMember(node)
	w.alive[node] = alive
	return alive, err
}

// lost reports whether the shard's holder is no longer a member.
func (w *walk) lost(shard cluster.Shard) (bool, error) {
	holder := w.layout[shard].Holder
	if holder == "" {
		return false, nil
	}
	alive, err := w.isAlive(holder)
	return !alive, err
}

// step looks at the next files behind the cursor, of every shard or of the lost ones, and returns where the
// next step begins, with true when nothing is left. It ends when it has seen enough files or used up the
// command's keys.
func (w *walk) step(c Cursor, all bool) (Cursor, bool, error) {
	if all {
		_, done, err := w.scan(&c, prefixShards, cluster.Shards, fillChunk)
		return c, done, err
	}
	for files := fillChunk; files > 0 && w.roomForOne(); {
		lost, err := w.lost(c.Shard)
		if err != nil {
			return c, false, err
		}
		var done bool
		if lost {
			var seen int
			seen, done, err = w.scan(&c, PrefixShard(c.Shard), c.Shard+1, files)
			files -= seen
		} else {
			done, err = w.pass(&c)
		}
		if done || err != nil {
			return c, done, err
		}
	}
	return c, false, nil
}

// scan takes the cursor over at most n files of the shards beneath the prefix, which end before end, and past
// those shards when it has seen all their files. It returns how many files it saw.
func (w *walk) scan(c *Cursor, prefix string, end cluster.Shard, n int) (int, bool, error) {
	names, err := w.names(prefix, *c, n)
	if err != nil {
		return 0, false, err
	}
	for i, name := range names {
		for c.Shard < name.Shard() && w.roomForOne() {
			if _, err := w.pass(c); err != nil {
				return i, false, err
			}
		}
		if !w.roomForOne() {
			return i, false, nil
		}
		if err := w.reconcile(name); err != nil {
			return i, false, err
		}
		c.After = name
	}
	if len(names) == n {
		return n, false, nil
	}
	for c.Shard < end && w.roomForOne() {
		if done, err := w.pass(c); done || err != nil {
			return len(names), done, err
		}
	}
	return len(names), false, nil
}

// names returns the next files' names behind the cursor, of the shards beneath the prefix.
func (w *walk) names(prefix string, c Cursor, n int) ([]FileName, error) {
	var names []FileName
	start := []byte(PrefixShard(c.Shard))
	if c.After != "" {
		start = []byte(keyShard(c.Shard, c.After) + "\x00")
	}
	err := w.Scan([]byte(prefix), start, func(key, _ []byte) bool {
		names = append(names, FileName(key[len(PrefixShard(0)):]))
		return len(names) < n
	})
	return names, err
}

// pass ends the cursor's shard: a lost holder gives way to next, a lost next to nobody. It returns true behind
// the last shard.
func (w *walk) pass(c *Cursor) (bool, error) {
	p := w.layout[c.Shard]
	if p != (cluster.Placement{}) {
		lost, err := w.lost(c.Shard)
		if err != nil {
			return false, err
		}
		nextAlive, err := w.isAlive(p.Next)
		if err != nil {
			return false, err
		}
		settled := p
		if !nextAlive {
			settled.Next = ""
		}
		if lost {
			settled = cluster.Placement{Holder: settled.Next}
		}
		if settled != p {
			cluster.Place(w.State, w.replica.Name, c.Shard, settled)
		}
	}
	if c.Shard+1 == cluster.Shards {
		return true, nil
	}
	*c = Cursor{Shard: c.Shard + 1}
	return false, nil
}

// reconcile updates the replica's copy of one file to what it has to be now. A surplus copy that is required again is
// owed again: no audit has read it meanwhile, so its holder reads it before it counts. (At level 1 it counted at
// once.)
func (w *walk) reconcile(name FileName) error {
	f, there, err := w.file(name)
	if err != nil || !there {
		return err
	}
	lost, err := w.lost(name.Shard())
	if err != nil {
		return err
	}
	old, now := edit(f)
	c := now.Copy(w.replica.Name)
	holder := w.layout[name.Shard()].Holder
	required := f.Removed == 0 && w.replica.Holds(f.Collection) && !w.removing
	fresh := Copy{Replica: w.replica.Name, State: UploadStarted, Since: w.At}
	switch {
	case c == nil && !required:
		return nil
	case c == nil:
		now.addCopy(fresh)
	case c.Surplus:
		alive, err := w.isAlive(c.Node)
		if err != nil {
			return err
		}
		switch {
		case required && alive && c.Node == holder && c.State == UploadCompleted && w.Cluster.Level < 2:
			c.Surplus = false
		case required:
			*c = fresh
		case !alive:
			now.dropCopy(c.Replica)
		default:
			return nil
		}
	case !required && (holder == "" || lost || c.State != UploadCompleted):
		now.dropCopy(c.Replica)
	case !required:
		c.Surplus, c.Disputed, c.Node = true, false, holder
	case lost && c.State != UploadStarted:
		*c = fresh
		c.Reason = "its node was lost"
	default:
		return nil
	}
	return w.putFile(old, now)
}

// DropReplica deletes what is left of a replica whose copies have been dropped. No member is of it, so it holds no
// shards.
func DropReplica(s *agree.State, name cluster.ReplicaName) error {
	for _, key := range []string{keyTotals(name), keyFill(name)} {
		there, err := agree.Has(s, key)
		if err != nil {
			return err
		}
		if there {
			s.Delete(key)
		}
	}
	if err := dropLedgers(s, name); err != nil {
		return err
	}
	return cluster.DropReplica(s, name)
}
