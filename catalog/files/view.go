package files

import (
	"cmp"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// View answers questions about the subject and about the cluster; see agree.View.
type View struct{ cluster.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{cluster.NewView(r)} }

func (v View) records() records { return recordsIn(v.Reader) }

// Fills returns the walks over replicas' files that are not done, by replica.
func (v View) Fills() ([]Fill, error) { return agree.List[Fill](v.Reader, PrefixFills, "", 0) }

// Root returns the proof of the files that the replica is to hold in the shard.
func (v View) Root(replica cluster.ReplicaName, shard cluster.Shard) (Root, error) {
	r, err := v.Replica(replica)
	if err != nil {
		return Root{}, err
	}
	return v.records().root(r, shard)
}

// Roots returns the root of each of the replica's 4096 shards.
func (v View) Roots(replica cluster.ReplicaName) ([]Root, error) {
	r, err := v.Replica(replica)
	if err != nil {
		return nil, err
	}
	return v.records().roots(r)
}

// RootsOf returns, for each of the 4096 shards, the root of its files that belong to the collections.
func (v View) RootsOf(collections []cluster.CollectionName) ([]Root, error) {
	if len(collections) == 0 {
		return make([]Root, cluster.Shards), nil
	}
	return v.records().roots(cluster.Replica{Collections: collections})
}

// Totals counts what the replica holds.
func (v View) Totals(replica cluster.ReplicaName) (Totals, error) {
	t, _, err := agree.Get[Totals](v.Reader, keyTotals(replica))
	return t, err
}

// Passes returns the last audit pass of each of the replica's shards that had one, by shard.
func (v View) Passes(replica cluster.ReplicaName) ([]ShardPass, error) {
	return agree.List[ShardPass](v.Reader, prefixPasses+string(replica)+"/", "", 0)
}

// Left returns the shards that moved away from the node and whose files it may ask to release.
func (v View) Left(node agree.NodeID) ([]ReplicaShard, error) {
	keys, err := agree.Tails(v.Reader, PrefixLeft(node), "", 0)
	out := make([]ReplicaShard, 0, len(keys))
	for _, key := range keys {
		replica, text, _ := strings.Cut(key, "/")
		shard, err := cluster.ParseShard(text)
		if err != nil {
			return nil, err
		}
		out = append(out, ReplicaShard{Replica: cluster.ReplicaName(replica), Shard: shard})
	}
	return out, err
}

// Needed returns at most n files of which the replica owes a copy that goes before others, in shards that wanted
// accepts (nil: all), by name behind after.
func (v View) Needed(replica cluster.ReplicaName, wanted func(cluster.Shard) bool, after FileName, n int) ([]File,
	error) {
	prefix := PrefixNeeded(replica)
	var names []string
	err := v.Reader.Scan([]byte(prefix), agree.From(prefix, string(after)), func(key, _ []byte) bool {
		if name := FileName(key[len(prefix):]); wanted == nil || wanted(name.Shard()) {
			names = append(names, string(name))
		}
		return n <= 0 || len(names) < n
	})
	return v.entries(names, err)
}

// IsNeeded reports whether the replica owes a copy of the file that goes before others.
func (v View) IsNeeded(replica cluster.ReplicaName, name FileName) (bool, error) {
	return agree.Has(v.Reader, keyNeed(replica, name))
}

// Lost returns at most n files behind after that are declared lost.
func (v View) Lost(after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.Reader, prefixLost, string(after), n))
}

// Sourced returns at most n files behind after whose bytes the node keeps as their source.
func (v View) Sourced(node agree.NodeID, after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.Reader, prefixSource(node), string(after), n))
}

// Releases returns at most n single files behind after whose bytes the node may ask to release; for the whole
// shards that moved away from it, see Left.
func (v View) Releases(node agree.NodeID, after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.Reader, PrefixReleases(node), string(after), n))
}

// Disputed returns at most n files behind after that have a disputed copy.
func (v View) Disputed(after FileName, n int) ([]File, error) {
	behind := ""
	if after != "" {
		behind = string(after) + "/\xff"
	}
	var names []string
	err := v.Reader.Scan([]byte(PrefixDisputed), agree.From(PrefixDisputed, behind), func(key, _ []byte) bool {
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

// Owed returns at most n files that the replica owes a copy of, in shards that wanted accepts (nil: all),
// behind the cursor, and the cursor behind them. Fewer than n means that there are no more.
func (v View) Owed(replica cluster.ReplicaName, wanted func(cluster.Shard) bool, after Cursor, n int) ([]File,
	Cursor, error) {
	prefix := PrefixOwed(replica)
	var names []string
	for shard := int(after.Shard); shard < cluster.Shards && len(names) < n; {
		start := prefix + cluster.Shard(shard).String() + "/"
		if shard == int(after.Shard) && after.After != "" {
			start += string(after.After) + "\x00"
		}
		shard = cluster.Shards // unless the scan stops at a shard that is not wanted
		var failed error
		err := v.Reader.Scan([]byte(prefix), []byte(start), func(key, _ []byte) bool {
			text, name, _ := strings.Cut(string(key[len(prefix):]), "/")
			at, err := cluster.ParseShard(text)
			if err != nil {
				failed = err
				return false
			}
			if wanted != nil && !wanted(at) {
				for shard = int(at) + 1; shard < cluster.Shards && !wanted(cluster.Shard(shard)); shard++ {
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

// OwedShards returns in which shards the replica owes a copy.
func (v View) OwedShards(replica cluster.ReplicaName) (out [cluster.Shards]bool, err error) {
	prefix := PrefixOwed(replica)
	for shard := cluster.Shard(0); shard < cluster.Shards; shard++ {
		next, there := cluster.Shard(0), false
		var failed error
		err := v.Reader.Scan([]byte(prefix), []byte(prefix+shard.String()+"/"), func(key, _ []byte) bool {
			text, _, _ := strings.Cut(string(key[len(prefix):]), "/")
			next, failed = cluster.ParseShard(text)
			there = failed == nil
			return false
		})
		if err = cmp.Or(err, failed); err != nil || !there {
			return out, err
		}
		shard = next
		out[shard] = true
	}
	return out, nil
}

// ShardFiles returns at most n files of the shard behind after, tombstones too.
func (v View) ShardFiles(shard cluster.Shard, after FileName, n int) ([]File, error) {
	return v.entries(agree.Tails(v.Reader, PrefixShard(shard), string(after), n))
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
