package catalog

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// records reads the catalog's values by what they are about.
type records struct{ cluster.Records }

func recordsIn(r Reader) records { return records{cluster.In(r)} }

func (r records) file(name FileName) (File, bool, error) {
	return agree.Get[File](r.Reader, keyFile(name))
}

// root sums the roots of the collections that the replica is meant to hold.
func (r records) root(replica Replica, shard Shard) (Root, error) {
	var sum Root
	prefix := prefixRoots + shard.String() + "/"
	var failed error
	err := r.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		if !replica.Holds(CollectionName(key[len(prefix):])) {
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
func (r records) roots(replica Replica) ([]Root, error) {
	out := make([]Root, Shards)
	var failed error
	err := r.Scan([]byte(prefixRoots), nil, func(key, value []byte) bool {
		text, collection, _ := strings.Cut(string(key[len(prefixRoots):]), "/")
		var shard Shard
		if shard, failed = ParseShard(text); failed != nil || !replica.Holds(CollectionName(collection)) {
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
func (r records) keeper(f *File, c *Copy) (NodeID, error) {
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
