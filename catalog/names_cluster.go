package catalog

import "holdfast/catalog/cluster"

// The names of catalog/cluster, under which other rooms know them. Their meaning is explained there.
type (
	Shard          = cluster.Shard
	ReplicaName    = cluster.ReplicaName
	CollectionName = cluster.CollectionName
	Named          = cluster.Named
	Joining        = cluster.Joining
	MemberChange   = cluster.MemberChange
	Proof          = cluster.Proof
	Member         = cluster.Member
	ReplicaKind    = cluster.ReplicaKind
	Replica        = cluster.Replica
	Collection     = cluster.Collection
	Placement      = cluster.Placement
	JoinToken      = cluster.JoinToken
	SealKey        = cluster.SealKey
)

// Constants of catalog/cluster.
const (
	Shards           = cluster.Shards
	SetCollection    = cluster.SetCollection
	CreateToken      = cluster.CreateToken
	RevokeToken      = cluster.RevokeToken
	JoinMember       = cluster.JoinMember
	UpdateMember     = cluster.UpdateMember
	ProveHolding     = cluster.ProveHolding
	PrefixMembers    = cluster.PrefixMembers
	PrefixUnproved   = cluster.PrefixUnproved
	PrefixReplicas   = cluster.PrefixReplicas
	PrefixLayout     = cluster.PrefixLayout
	PrefixJoinTokens = cluster.PrefixJoinTokens
	Bitarchive       = cluster.Bitarchive
	Checksum         = cluster.Checksum
)

// ParseShard reads three hexadecimal digits.
func ParseShard(text string) (Shard, error) { return cluster.ParseShard(text) }

// Fingerprint returns the id of the node whose Ed25519 public key it is.
func Fingerprint(key []byte) NodeID { return cluster.Fingerprint(key) }

// PrefixReplicaLayout returns the prefix of a replica's 4096 placements.
func PrefixReplicaLayout(replica ReplicaName) string { return cluster.PrefixReplicaLayout(replica) }

// SealStatement is what a member's own key signs about its key for secrets.
func SealStatement(key []byte) []byte { return cluster.SealStatement(key) }
