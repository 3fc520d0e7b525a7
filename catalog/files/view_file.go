package files

import (
	"cmp"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// File returns the file's entry, tombstones too, or ErrNotFound.
func (v View) File(name FileName) (File, error) {
	f, err := agree.Found(v.records().file(name))
	return dress(f), err
}

// dress fills in the words for findings that no audit has made yet.
func dress(f File) File {
	for i := range f.Copies {
		c := &f.Copies[i]
		c.FileList = cmp.Or(c.FileList, NoFileListStatus)
		c.Checksum = cmp.Or(c.Checksum, ChecksumUnknown)
	}
	return f
}

// Files returns at most n files whose names have the prefix and follow after, tombstones too.
func (v View) Files(prefix string, after FileName, n int) ([]File, error) {
	start := []byte(nil)
	if after != "" {
		start = []byte(keyFile(after) + "\x00")
	}
	words, err := v.records().words()
	if err != nil {
		return nil, err
	}
	var out []File
	var failed error
	err = v.Reader.Scan([]byte(PrefixFiles+prefix), start, func(key, value []byte) bool {
		f, err := decodeFile(key, value, func() (wordList, error) { return words, nil })
		if failed = err; failed != nil {
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

// Audited returns the entry with the audits' findings about its copies: a good copy whose shard was audited since it
// was stored is present and right.
func (v View) Audited(f File) (File, error) {
	f.Copies = slices.Clone(f.Copies)
	for i := range f.Copies {
		c := &f.Copies[i]
		if !c.Good() || c.Checksum == ChecksumOK {
			continue
		}
		p, there, err := agree.Get[ShardPass](v.Reader, keyPass(c.Replica, f.Name.Shard()))
		if err != nil {
			return f, err
		}
		if there && p.Began >= c.Since {
			c.FileList, c.Checksum = FileListOK, ChecksumOK
		}
	}
	return f, nil
}

// Passed returns when the last audit pass over a replica's shard began, 0 when there was none: every copy in it that
// was stored before and is good was read since.
func (v View) Passed(r cluster.ReplicaName, s cluster.Shard) (agree.Time, error) {
	p, _, err := agree.Get[ShardPass](v.Reader, keyPass(r, s))
	return p.Began, err
}

// Keeper returns the node that keeps a good copy of the file; none while its shard has no holder that is a member, or
// while the holder has not compared its copies with the catalog since the cluster was recovered.
func (v View) Keeper(f *File, c *Copy) (agree.NodeID, error) {
	node, err := v.records().keeper(f, c)
	if err != nil || node == "" {
		return "", err
	}
	if epoch, err := v.Unproved(node); err != nil || epoch != 0 {
		return "", err
	}
	return node, nil
}

// Holding is a node that has the bytes of a file.
type Holding struct {
	Node    agree.NodeID        `json:"node"`
	Replica cluster.ReplicaName `json:"replica"`
	Place   string              `json:"place"`            // of the replica
	Source  bool                `json:"source,omitempty"` // keeps the bytes of a file only until it may release them
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
		r, there, err := v.records().Replica(c.Replica)
		if err != nil {
			return nil, err
		}
		if !there || r.Kind != cluster.Bitarchive {
			continue
		}
		node, err := v.records().keeper(f, c)
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
	replica, there, err := v.records().ReplicaOf(f.Source)
	if err != nil || !there {
		return out, err
	}
	r, _, err := v.records().Replica(replica)
	return append(out, Holding{Node: f.Source, Replica: replica, Place: r.Place, Source: true}), err
}

// Mark returns the mark of a file's entry for FileRemoval and FileLoss: its version, and 0 in a cluster of an earlier
// level.
func (v View) Mark(f File) (uint64, error) {
	c, err := v.Cluster()
	if err != nil || c.Level < cluster.LevelOfMarks {
		return 0, err
	}
	return f.Version, nil
}
