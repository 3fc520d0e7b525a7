package catalog

import "holdfast/catalog/agree"

// The prefixes of the catalog's keys, in the order of doc/format/catalog.md. No key begins with a byte
// below 'a' or with "raft": those are left to whoever stores the state.
const (
	keyJobs    = "jobcount"
	keySealing = "sealing"

	PrefixSealing   = keySealing  // Sealing: one key
	PrefixFills     = "fill/"     // <replica>: Fill
	PrefixFiles     = "file/"     // <name>: File
	prefixShards    = "shard/"    // <shard>/<name>: mark
	prefixRoots     = "root/"     // <shard>/<collection>: Root
	prefixOwed      = "owed/"     // <replica>/<shard>/<name>: mark
	prefixNeeds     = "need/"     // <replica>/<name>: mark, the owed copies that go before others (level 2)
	prefixSources   = "source/"   // <node>/<name>: mark, while the source keeps its bytes
	prefixReleases  = "release/"  // <node>/<name>: mark, when its bytes may be asked to go
	prefixLeft      = "left/"     // <node>/<replica>/<shard>: mark, a whole shard of releases
	prefixLost      = "lost/"     // <name>: mark, while the file is declared lost (level 2)
	PrefixDisputed  = "disputed/" // <name>/<replica>: mark
	prefixPasses    = "pass/"     // <replica>/<shard>: ShardPass
	prefixTotals    = "totals/"   // <replica>: Totals
	PrefixJobs      = "job/"      // <id>: Job
	prefixJobStates = "jobstate/" // <state>/<id>: mark
	PrefixAccess    = "access/"   // <id>: AccessToken
	PrefixSecrets   = "secret/"   // <id>: Secret
)

// PrefixOwed returns the prefix of the keys of what a replica owes: a change beneath it means work for
// the holder of the shard that follows in the key.
func PrefixOwed(replica ReplicaName) string { return prefixOwed + string(replica) + "/" }

// PrefixNeeded returns the prefix of the keys of the owed copies of a replica that go before others.
func PrefixNeeded(replica ReplicaName) string { return prefixNeeds + string(replica) + "/" }

// PrefixReleases returns the prefix of the single files that a node may ask to release.
func PrefixReleases(node NodeID) string { return prefixReleases + string(node) + "/" }

// PrefixLeft returns the prefix of the whole shards whose files a node may ask to release.
func PrefixLeft(node NodeID) string { return prefixLeft + string(node) + "/" }

// PrefixShard returns the prefix of the names of a shard's files.
func PrefixShard(shard Shard) string { return prefixShards + shard.String() + "/" }

func prefixSource(node NodeID) string { return prefixSources + string(node) + "/" }

func keyFill(r ReplicaName) string { return PrefixFills + string(r) }

func keyFile(name FileName) string { return PrefixFiles + string(name) }

func keyShard(s Shard, name FileName) string { return PrefixShard(s) + string(name) }

func keyRoot(s Shard, c CollectionName) string { return prefixRoots + s.String() + "/" + string(c) }

func keySource(n NodeID, name FileName) string { return prefixSource(n) + string(name) }

func keyRelease(n NodeID, name FileName) string { return PrefixReleases(n) + string(name) }

func keyPass(r ReplicaName, s Shard) string { return prefixPasses + string(r) + "/" + s.String() }

func keyTotals(r ReplicaName) string { return prefixTotals + string(r) }

func keyJob(id uint64) string { return PrefixJobs + agree.Hex(id) }

func keyJobState(s JobState, id uint64) string {
	return prefixJobStates + string(s) + "/" + agree.Hex(id)
}

func keyAccess(id string) string { return PrefixAccess + id }

func keySecret(id string) string { return PrefixSecrets + id }

func keyOwed(r ReplicaName, s Shard, name FileName) string {
	return PrefixOwed(r) + s.String() + "/" + string(name)
}

func keyLost(name FileName) string { return prefixLost + string(name) }

func keyNeed(r ReplicaName, name FileName) string { return PrefixNeeded(r) + string(name) }

func keyLeft(n NodeID, r ReplicaName, s Shard) string {
	return PrefixLeft(n) + string(r) + "/" + s.String()
}

func keyDisputed(name FileName, r ReplicaName) string {
	return PrefixDisputed + string(name) + "/" + string(r)
}
