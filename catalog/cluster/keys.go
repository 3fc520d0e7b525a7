package cluster

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md.
const (
	PrefixMembers     = "member/"     // <node>: Member
	PrefixUnproved    = "unproved/"   // <node>: the epoch since which it has to compare its copies (level 2)
	prefixNames       = "name/"       // <member's name>: node
	PrefixReplicas    = "replica/"    // <replica>: Replica
	PrefixCollections = "collection/" // <collection>: Collection
	PrefixLayout      = "layout/"     // <replica>/<shard>: Placement
	prefixRemovals    = "removing/"   // <replica>: mark, while its owed copies are dropped (level 2)
	PrefixJoinTokens  = "join/"       // <id>: JoinToken
	keyStaging        = "staging"     // Staging (level 5)
)

// PrefixReplicaLayout returns the prefix of a replica's 4096 placements.
func PrefixReplicaLayout(replica ReplicaName) string { return PrefixLayout + string(replica) + "/" }

func keyMember(id agree.NodeID) string           { return PrefixMembers + string(id) }
func keyUnproved(id agree.NodeID) string         { return PrefixUnproved + string(id) }
func keyName(name string) string                 { return prefixNames + name }
func keyReplica(name ReplicaName) string         { return PrefixReplicas + string(name) }
func keyCollection(name CollectionName) string   { return PrefixCollections + string(name) }
func keyPlacement(r ReplicaName, s Shard) string { return PrefixReplicaLayout(r) + s.String() }
func keyRemoval(r ReplicaName) string            { return prefixRemovals + string(r) }
func keyJoinToken(id string) string              { return PrefixJoinTokens + id }
