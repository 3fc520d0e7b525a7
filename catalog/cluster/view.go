package cluster

import "holdfast/catalog/agree"

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of r.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

func (v View) records() Records { return In(v.Reader) }

// Members returns all members by id.
func (v View) Members() ([]Member, error) { return agree.List[Member](v.Reader, PrefixMembers, "", 0) }

// Member returns the member, or ErrNotFound.
func (v View) Member(id agree.NodeID) (Member, error) { return agree.Found(v.records().Member(id)) }

// Replicas returns all replicas by name.
func (v View) Replicas() ([]Replica, error) { return v.records().Replicas() }

// Replica returns the replica, or ErrNotFound.
func (v View) Replica(name ReplicaName) (Replica, error) {
	return agree.Found(agree.Get[Replica](v.Reader, keyReplica(name)))
}

// Collections returns all collections by name.
func (v View) Collections() ([]Collection, error) {
	return agree.List[Collection](v.Reader, PrefixCollections, "", 0)
}

// Layout returns the placements of the replica's 4096 shards, which must not be changed.
func (v View) Layout(replica ReplicaName) ([]Placement, error) { return v.records().Layout(replica) }

// Placement returns where one shard of the replica is.
func (v View) Placement(replica ReplicaName, shard Shard) (Placement, error) {
	return v.records().Placement(replica, shard)
}

// JoinTokens returns all join tokens by id.
func (v View) JoinTokens() ([]JoinToken, error) {
	return agree.List[JoinToken](v.Reader, PrefixJoinTokens, "", 0)
}

// JoinToken returns the join token, or ErrNotFound.
func (v View) JoinToken(id string) (JoinToken, error) {
	return agree.Found(agree.Get[JoinToken](v.Reader, keyJoinToken(id)))
}

// Unproved returns the epoch since which the node has to compare its copies with the catalog; 0 if it need not.
func (v View) Unproved(node agree.NodeID) (uint64, error) {
	epoch, _, err := agree.Get[uint64](v.Reader, keyUnproved(node))
	return epoch, err
}
