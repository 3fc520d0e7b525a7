package catalog

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/catalog/agree"
)

// File returns the file's entry, tombstones too, or ErrNotFound.
func (v View) File(name FileName) (File, error) {
	f, err := agree.Found(v.rec.file(name))
	return dress(f), err
}

// dress puts in the words for what no audit has found yet.
func dress(f File) File {
	for i := range f.Copies {
		c := &f.Copies[i]
		c.FileList = cmp.Or(c.FileList, NoFileListStatus)
		c.Checksum = cmp.Or(c.Checksum, ChecksumUnknown)
	}
	return f
}

// Audited returns the entry with what the audits' passes say of its copies: a good copy whose shard was
// passed since it was stored is there and right.
func (v View) Audited(f File) (File, error) {
	f.Copies = slices.Clone(f.Copies)
	for i := range f.Copies {
		c := &f.Copies[i]
		if !c.Good() || c.Checksum == ChecksumOK {
			continue
		}
		p, there, err := agree.Get[ShardPass](v.rec, keyPass(c.Replica, f.Name.Shard()))
		if err != nil {
			return f, err
		}
		if there && p.Began >= c.Since {
			c.FileList, c.Checksum = FileListOK, ChecksumOK
		}
	}
	return f, nil
}

// Passed returns when the last audit pass over a replica's shard began, 0 when there was none: every copy in it that was
// stored before and is good was read since.
func (v View) Passed(r ReplicaName, s Shard) (Time, error) {
	p, _, err := agree.Get[ShardPass](v.rec, keyPass(r, s))
	return p.Began, err
}

// Keeper returns the node that keeps a good copy of the file; none while its shard has no holder that is a member, or the
// holder has not compared what it has with the catalog since the cluster was recovered.
func (v View) Keeper(f *File, c *Copy) (NodeID, error) {
	node, err := v.rec.keeper(f, c)
	if err != nil || node == "" {
		return "", err
	}
	if epoch, err := v.Unproved(node); err != nil || epoch != 0 {
		return "", err
	}
	return node, nil
}

// Files returns at most n files whose names have the prefix and follow after, tombstones too.
func (v View) Files(prefix string, after FileName, n int) ([]File, error) {
	start := []byte(nil)
	if after != "" {
		start = []byte(keyFile(after) + "\x00")
	}
	var out []File
	var failed error
	err := v.rec.Scan([]byte(PrefixFiles+prefix), start, func(key, value []byte) bool {
		var f File
		if failed = agree.DecodeValue(key, value, &f); failed != nil {
			return false
		}
		out = append(out, dress(f))
		return n <= 0 || len(out) < n
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// ShardFiles returns at most n files of the shard behind after, tombstones too.
func (v View) ShardFiles(shard Shard, after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.rec, PrefixShard(shard), string(after), n))
}

// entries returns the files of the names.
func (v View) entries(names []string, err error) ([]File, error) {
	out := make([]File, 0, len(names))
	for _, name := range names {
		if err != nil {
			break
		}
		var f File
		f, err = v.File(FileName(name))
		out = append(out, f)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Owed returns at most n files that the replica owes a copy of, in shards that wanted accepts (nil: all),
// behind the cursor, and the cursor behind them. Fewer than n means that there are no more.
func (v View) Owed(replica ReplicaName, wanted func(Shard) bool, after Cursor, n int) ([]File, Cursor, error) {
	prefix := PrefixOwed(replica)
	var names []string
	for shard := int(after.Shard); shard < Shards && len(names) < n; {
		start := prefix + Shard(shard).String() + "/"
		if shard == int(after.Shard) && after.After != "" {
			start += string(after.After) + "\x00"
		}
		shard = Shards // unless the scan stops at a shard that is not wanted
		var failed error
		err := v.rec.Scan([]byte(prefix), []byte(start), func(key, _ []byte) bool {
			text, name, _ := strings.Cut(string(key[len(prefix):]), "/")
			at, err := ParseShard(text)
			if err != nil {
				failed = err
				return false
			}
			if wanted != nil && !wanted(at) {
				for shard = int(at) + 1; shard < Shards && !wanted(Shard(shard)); shard++ {
				}
				return false
			}
			names = append(names, name)
			return len(names) < n
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return nil, after, err
		}
	}
	files, err := v.entries(names, nil)
	if len(files) > 0 {
		last := files[len(files)-1].Name
		after = Cursor{Shard: last.Shard(), After: last}
	}
	return files, after, err
}

// Releases returns at most n single files behind after whose bytes the node may ask to release; for the whole
// shards that moved away from it, see Left.
func (v View) Releases(node NodeID, after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.rec, PrefixReleases(node), string(after), n))
}

// Disputed returns at most n files behind after that have a disputed copy.
func (v View) Disputed(after FileName, n int) ([]File, error) {
	behind := ""
	if after != "" {
		behind = string(after) + "/\xff"
	}
	var names []string
	err := v.rec.Scan([]byte(PrefixDisputed), agree.From(PrefixDisputed, behind), func(key, _ []byte) bool {
		name, _, _ := strings.Cut(string(key[len(PrefixDisputed):]), "/")
		if len(names) == 0 || names[len(names)-1] != name {
			if n > 0 && len(names) == n {
				return false
			}
			names = append(names, name)
		}
		return true
	})
	return v.entries(names, err)
}

// Holding is a node that has the bytes of a file.
type Holding struct {
	Node    NodeID      `json:"node"`
	Replica ReplicaName `json:"replica"`
	Place   string      `json:"place"`            // of the replica
	Source  bool        `json:"source,omitempty"` // keeps the bytes of a file only until it may release them
}

// CoveringFile returns the members that have good bytes of the file: the holders of good copies by replica,
// then the source as long as it keeps them. A tombstone has none.
func (v View) CoveringFile(f *File) ([]Holding, error) {
	var out []Holding
	if f.Removed != 0 {
		return nil, nil
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		r, there, err := v.rec.Replica(c.Replica)
		if err != nil {
			return nil, err
		}
		if !there || r.Kind != Bitarchive {
			continue
		}
		node, err := v.rec.keeper(f, c)
		if err != nil {
			return nil, err
		}
		if node != "" {
			out = append(out, Holding{Node: node, Replica: r.Name, Place: r.Place})
		}
	}
	if f.Released {
		return out, nil
	}
	m, there, err := v.rec.Member(f.Source)
	if err != nil || !there {
		return out, err
	}
	r, _, err := v.rec.Replica(m.Replica)
	return append(out, Holding{Node: m.ID, Replica: m.Replica, Place: r.Place, Source: true}), err
}
