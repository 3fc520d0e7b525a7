package files

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// records reads the subject's values, and what it needs of the cluster's.
type records struct{ cluster.Records }

func recordsIn(r agree.Reader) records { return records{cluster.In(r)} }

func (r records) file(name FileName) (File, bool, error) {
	key := []byte(keyFile(name))
	value, err := r.Get(key)
	if err != nil || value == nil {
		return File{}, false, err
	}
	f, err := decodeFile(key, value, r.words)
	return f, err == nil, err
}

// entry returns the file's entry, or a refusal when there is none.
func (r records) entry(name FileName) (File, error) {
	f, there, err := r.file(name)
	if err != nil || !there {
		return f, agree.OrNotFound(err, "no file %q", agree.Clip(string(name), 200))
	}
	return f, nil
}

// root sums the roots of the collections that the replica is meant to hold.
func (r records) root(replica cluster.Replica, shard cluster.Shard) (Root, error) {
	var sum Root
	prefix := prefixRoots + shard.String() + "/"
	var failed error
	err := r.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		if !replica.Holds(cluster.CollectionName(key[len(prefix):])) {
			return true
		}
		var root Root
		if failed = agree.DecodeValue(key, value, &root); failed != nil {
			return false
		}
		sum = sum.Add(root)
		return true
	})
	if err == nil {
		err = failed
	}
	return sum, err
}

// roots returns the root of each of the replica's shards.
func (r records) roots(replica cluster.Replica) ([]Root, error) {
	out := make([]Root, cluster.Shards)
	var failed error
	err := r.Scan([]byte(prefixRoots), nil, func(key, value []byte) bool {
		text, collection, _ := strings.Cut(string(key[len(prefixRoots):]), "/")
		var shard cluster.Shard
		shard, failed = cluster.ParseShard(text)
		if failed != nil || !replica.Holds(cluster.CollectionName(collection)) {
			return failed == nil
		}
		var root Root
		failed = agree.DecodeValue(key, value, &root)
		out[shard] = out[shard].Add(root)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// keeper returns the member that has the bytes, or the record, of a good copy; empty when the copy is not good:
// not verified, disputed, or its node no longer a member.
func (r records) keeper(f *File, c *Copy) (agree.NodeID, error) {
	if !c.Good() {
		return "", nil
	}
	node := c.Node
	if !c.Surplus {
		place, err := r.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return "", err
		}
		node = place.Holder
	}
	member, err := r.IsMember(node)
	if err != nil || !member {
		return "", err
	}
	return node, nil
}

// TotalsOf counts what the replica holds.
func TotalsOf(r agree.Reader, replica cluster.ReplicaName) (Totals, error) {
	t, _, err := agree.Get[Totals](r, keyTotals(replica))
	return t, err
}

// EntryIn returns the file's entry, or a refusal when there is none.
func EntryIn(r agree.Reader, name FileName) (File, error) { return recordsIn(r).entry(name) }

// Counted counts the files of the collections that are chosen, and their bytes.
func Counted(r agree.Reader, chosen func(cluster.CollectionName) bool) (files, bytes int64, err error) {
	var failed error
	err = r.Scan([]byte(prefixRoots), nil, func(key, value []byte) bool {
		_, collection, _ := strings.Cut(string(key[len(prefixRoots):]), "/")
		if !chosen(cluster.CollectionName(collection)) {
			return true
		}
		var root Root
		failed = agree.DecodeValue(key, value, &root)
		files, bytes = files+root.Files, bytes+root.Bytes
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return files, bytes, err
}

// HasFiles reports whether there ever were files, removed ones too.
func HasFiles(r agree.Reader) (bool, error) { return agree.HasAny(r, prefixShards) }

// HasUnreleased reports whether the node has bytes whose release is still to be asked for.
func HasUnreleased(r agree.Reader, node agree.NodeID) (bool, error) {
	for _, prefix := range []string{prefixSource(node), PrefixReleases(node), PrefixLeft(node)} {
		if any, err := agree.HasAny(r, prefix); err != nil || any {
			return any, err
		}
	}
	return false, nil
}

// NoneOf refuses while a file belongs to the collection. One that is declared lost does, too: it is in no root, and may
// turn up again.
func NoneOf(s *agree.State, name cluster.CollectionName) error {
	for shard := range cluster.Shard(cluster.Shards) {
		if there, err := agree.Has(s, keyRoot(shard, name)); err != nil || there {
			return agree.OrConflict(err, "collection %s has files", name)
		}
	}
	if s.Cluster.Level < cluster.LevelOfMarks {
		return nil
	}
	lost, err := agree.Tails(s, prefixLost, "", 0)
	if err != nil {
		return err
	}
	for _, file := range lost {
		if f, there, err := recordsIn(s).file(FileName(file)); err != nil || there && f.Collection == name {
			return agree.OrConflict(err, "file %s of collection %s is declared lost, and may turn up again", file, name)
		}
	}
	return nil
}
