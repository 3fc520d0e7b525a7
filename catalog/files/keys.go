package files

import (
	"fmt"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// The subject's keys, in the order of doc/format/catalog.md.
const (
	PrefixFills    = "fill/"     // <replica>: Fill
	PrefixFiles    = "file/"     // <name>: File
	prefixShards   = "shard/"    // <shard>/<name>: mark
	prefixRoots    = "root/"     // <shard>/<collection>: Root
	prefixOwed     = "owed/"     // <replica>/<shard>/<name>: mark
	prefixNeeds    = "need/"     // <replica>/<name>: mark, the owed copies that go before others (level 2)
	prefixSources  = "source/"   // <node>/<name>: mark, while the source keeps its bytes
	prefixReleases = "release/"  // <node>/<name>: mark, when its bytes may be asked to go
	prefixLeft     = "left/"     // <node>/<replica>/<shard>: mark, a whole shard of releases
	prefixLost     = "lost/"     // <name>: mark, while the file is declared lost (level 2)
	PrefixDisputed = "disputed/" // <name>/<replica>: mark
	prefixPasses   = "pass/"     // <replica>/<shard>: ShardPass
	prefixTotals   = "totals/"   // <replica>: Totals
	prefixWords    = "word/"     // <number, 8 hexadecimal digits>: a text of compact entries (level 5)
	keyDraws       = "draws"     // Draws: the last two (level 5)
	prefixChecks   = "check/"    // <replica>/<kind>/<node>: Check (level 5)
	prefixLedger   = "ledger/"   // <replica>/<serial>: Ledger (level 5)
	PrefixNewest   = "newest/"   // <replica>: Ledger, the one with the greatest number (level 5)
	PrefixHidden   = "hidden/"   // <name>: mark, while the file is removed and can be restored (level 5)
	PrefixDue      = "due/"      // <time, 16 hexadecimal digits>/<name>: mark, a hidden file until then (level 5)
	keyRemovals    = "removals"  // RemovalRule (level 5)
	keyHeld        = "held"      // agree.Time, until when no hidden file is released (level 5)
	prefixDiscards = "discard/"  // <node>/<name in its quarantine>: Discarding (level 5)
	prefixAway     = "away/"     // <node>: Away (level 5)
)

// PrefixOwed returns the prefix of the keys of a replica's owed copies: a change beneath it means work for the holder
// of the shard that follows in the key.
func PrefixOwed(replica cluster.ReplicaName) string { return prefixOwed + string(replica) + "/" }

// PrefixNeeded returns the prefix of the keys of the owed copies of a replica that go before others.
func PrefixNeeded(replica cluster.ReplicaName) string { return prefixNeeds + string(replica) + "/" }

// PrefixReleases returns the prefix of the single files that a node may ask to release.
func PrefixReleases(node agree.NodeID) string { return prefixReleases + string(node) + "/" }

// PrefixLeft returns the prefix of the whole shards whose files a node may ask to release.
func PrefixLeft(node agree.NodeID) string { return prefixLeft + string(node) + "/" }

// PrefixShard returns the prefix of the names of a shard's files.
func PrefixShard(shard cluster.Shard) string { return prefixShards + shard.String() + "/" }

// PrefixDiscards returns the prefix of the bytes that a node is to delete from its quarantine.
func PrefixDiscards(node agree.NodeID) string { return prefixDiscards + string(node) + "/" }

func keyDiscard(n agree.NodeID, name AsideName) string { return PrefixDiscards(n) + string(name) }

func keyAway(n agree.NodeID) string { return prefixAway + string(n) }

func prefixSource(node agree.NodeID) string { return prefixSources + string(node) + "/" }

func keyFill(r cluster.ReplicaName) string { return PrefixFills + string(r) }

func keyFile(name FileName) string { return PrefixFiles + string(name) }

func keyShard(s cluster.Shard, name FileName) string { return PrefixShard(s) + string(name) }

func keyRoot(s cluster.Shard, c cluster.CollectionName) string {
	return prefixRoots + s.String() + "/" + string(c)
}

func keySource(n agree.NodeID, name FileName) string { return prefixSource(n) + string(name) }

func keyRelease(n agree.NodeID, name FileName) string { return PrefixReleases(n) + string(name) }

func keyPass(r cluster.ReplicaName, s cluster.Shard) string {
	return prefixPasses + string(r) + "/" + s.String()
}

func keyWord(n uint64) string { return fmt.Sprintf("%s%08x", prefixWords, n) }

func keyCheck(r cluster.ReplicaName, kind string, node agree.NodeID) string {
	return prefixChecks + string(r) + "/" + kind + "/" + string(node)
}

func keyTotals(r cluster.ReplicaName) string { return prefixTotals + string(r) }

func keyOwed(r cluster.ReplicaName, s cluster.Shard, name FileName) string {
	return PrefixOwed(r) + s.String() + "/" + string(name)
}

func keyHidden(name FileName) string { return PrefixHidden + string(name) }

func keyDue(until agree.Time, name FileName) string {
	return PrefixDue + agree.Hex(uint64(until)) + "/" + string(name)
}

func keyLost(name FileName) string { return prefixLost + string(name) }

func keyNeed(r cluster.ReplicaName, name FileName) string { return PrefixNeeded(r) + string(name) }

func keyLeft(n agree.NodeID, r cluster.ReplicaName, s cluster.Shard) string {
	return PrefixLeft(n) + string(r) + "/" + s.String()
}

func keyDisputed(name FileName, r cluster.ReplicaName) string {
	return PrefixDisputed + string(name) + "/" + string(r)
}

func prefixLedgers(r cluster.ReplicaName) string { return prefixLedger + string(r) + "/" }

func keyLedger(r cluster.ReplicaName, serial uint64) string {
	return prefixLedgers(r) + agree.Hex(serial)
}

func keyNewestLedger(r cluster.ReplicaName) string { return PrefixNewest + string(r) }
