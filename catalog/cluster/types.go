package cluster

import (
	"crypto/ed25519"
	"slices"

	"holdfast/catalog/agree"
)

// Member is a node that the cluster trusts.
type Member struct {
	ID        agree.NodeID `json:"id"`
	Name      string       `json:"name"`
	Key       []byte       `json:"key"` // Ed25519 public key, 32 bytes
	Replica   ReplicaName  `json:"replica"`
	Addresses []string     `json:"addresses,omitempty"` // host:port at which others reach it, inside first
	OutOnly   bool         `json:"outOnly,omitempty"`   // can only dial out, never votes
	Weight    int          `json:"weight,omitempty"`    // share of its replica's shards, 100 if 0
	Draining  bool         `json:"draining,omitempty"`  // is to hold no shards
	Level     int          `json:"level"`               // what its program supports
	Joined    agree.Time   `json:"joined"`
	Crawls    bool         `json:"crawls,omitempty"`   // it crawls jobs, and so opens their secrets; since level 2
	Seal      *SealKey     `json:"seal,omitempty"`     // its key for secrets; since level 2
	Local     agree.Digest `json:"local,omitzero"`     // SHA-256 of the secret of its local token; since level 2
	Channels  []string     `json:"channels,omitempty"` // that it serves; none: both defaults; since level 4
}

// ReplicaKind says what a replica holds.
type ReplicaKind string

// The kinds of replica.
const (
	Bitarchive ReplicaKind = "bitarchive" // the bytes
	Checksum   ReplicaKind = "checksum"   // names, sizes and checksums; it votes
)

// Replica is one set of the archive at one place.
type Replica struct {
	Name        ReplicaName      `json:"name"`
	Kind        ReplicaKind      `json:"kind"`
	Place       string           `json:"place"`                 // where its nodes are and fail together
	Collections []CollectionName `json:"collections,omitempty"` // those it is meant to hold; none = all
	Created     agree.Time       `json:"created"`
}

// Holds reports whether the replica is meant to hold the collection's files.
func (r *Replica) Holds(collection CollectionName) bool {
	return len(r.Collections) == 0 || slices.Contains(r.Collections, collection)
}

// Collection is what a file, a domain and a harvest belong to.
type Collection struct {
	Name    CollectionName `json:"name"`
	Created agree.Time     `json:"created"`
}

// Placement says which node holds a shard of a replica and, while it moves, which is next.
type Placement struct {
	Holder agree.NodeID `json:"holder,omitempty"`
	Next   agree.NodeID `json:"next,omitempty"`
}

// JoinToken lets one machine become a member once.
type JoinToken struct {
	ID         string       `json:"id"`
	SecretHash agree.Digest `json:"secretHash"`
	Replica    ReplicaName  `json:"replica"`
	Created    agree.Time   `json:"created"`
	Expires    agree.Time   `json:"expires"`
	UsedBy     agree.NodeID `json:"usedBy,omitempty"`
	Used       agree.Time   `json:"used,omitempty"`
	Revoked    agree.Time   `json:"revoked,omitempty"`
}

// SealKey is the public X25519 key to which secrets are sealed for a member. Proof is the signature of the member's own
// key over SealStatement, so that nobody else can put a key in its place.
type SealKey struct {
	Key   []byte `json:"key"`
	Proof []byte `json:"proof"`
}

// SealStatement is what a member's own key signs about its key for secrets.
func SealStatement(key []byte) []byte { return append([]byte("holdfast/seal-key/1\x00"), key...) }

// Proved reports whether the member's own key vouches for its key for secrets.
func (k *SealKey) Proved(member []byte) bool {
	return k != nil && len(k.Key) == 32 && len(member) == ed25519.PublicKeySize &&
		ed25519.Verify(member, SealStatement(k.Key), k.Proof)
}
