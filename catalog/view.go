package catalog

import (
	"errors"
	"strings"
)

// ErrNotFound reports that the catalog has nothing of that name.
var ErrNotFound = errors.New("not in the catalog")

// View answers questions over the agreed state. It reads what its Reader shows, so that one View over one
// transaction sees one moment. Every error but ErrNotFound is the Reader's, or says that a value is damaged.
// Lists are in the order of their keys; pages take at most n things behind the given one.
type View struct{ rec records }

// NewView returns a View of what r shows.
func NewView(r Reader) View { return View{rec: records{r}} }

// Cursor is a place in a walk over the files of shards, in the order of shards and then names: behind the file
// After of the shard, or before all its files. The zero Cursor is the start.
type Cursor struct {
	Shard Shard    `json:"shard"`
	After FileName `json:"after,omitempty"`
}

func found1[T any](v T, there bool, err error) (T, error) {
	if err == nil && !there {
		err = ErrNotFound
	}
	return v, err
}

// Cluster returns the cluster's own record; ErrNotFound before it was founded.
func (v View) Cluster() (Cluster, error) { return found1(get[Cluster](v.rec, keyCluster)) }

// Clock returns the time of the last command that was carried out.
func (v View) Clock() (Time, error) {
	t, _, err := get[Time](v.rec, keyClock)
	return t, err
}

// Members returns all members by id.
func (v View) Members() ([]Member, error) { return list[Member](v.rec, PrefixMembers, "", 0) }

// Member returns the member, or ErrNotFound.
func (v View) Member(id NodeID) (Member, error) { return found1(v.rec.member(id)) }

// Replicas returns all replicas by name.
func (v View) Replicas() ([]Replica, error) { return v.rec.replicas() }

// Replica returns the replica, or ErrNotFound.
func (v View) Replica(name ReplicaName) (Replica, error) {
	return found1(get[Replica](v.rec, keyReplica(name)))
}

// Collections returns all collections by name.
func (v View) Collections() ([]Collection, error) {
	return list[Collection](v.rec, PrefixCollections, "", 0)
}

// Layout returns the placements of the replica's 4096 shards.
func (v View) Layout(replica ReplicaName) ([]Placement, error) { return v.rec.layout(replica) }

// Placement returns where one shard of the replica is.
func (v View) Placement(replica ReplicaName, shard Shard) (Placement, error) {
	return v.rec.placement(replica, shard)
}

// Fills returns the walks over replicas' files that are not done, by replica.
func (v View) Fills() ([]Fill, error) { return list[Fill](v.rec, PrefixFills, "", 0) }

// Root returns the proof of the files that the replica is to hold in the shard.
func (v View) Root(replica ReplicaName, shard Shard) (Root, error) {
	r, err := v.Replica(replica)
	if err != nil {
		return Root{}, err
	}
	return v.rec.root(r, shard)
}

// Roots returns the root of each of the replica's 4096 shards.
func (v View) Roots(replica ReplicaName) ([]Root, error) {
	r, err := v.Replica(replica)
	if err != nil {
		return nil, err
	}
	return v.rec.roots(r)
}

// Totals counts what the replica holds.
func (v View) Totals(replica ReplicaName) (Totals, error) {
	t, _, err := get[Totals](v.rec, keyTotals(replica))
	return t, err
}

// Passes returns the last audit pass of each of the replica's shards that had one, by shard.
func (v View) Passes(replica ReplicaName) ([]ShardPass, error) {
	return list[ShardPass](v.rec, prefixPasses+string(replica)+"/", "", 0)
}

// Job returns the job, or ErrNotFound.
func (v View) Job(id uint64) (Job, error) { return found1(get[Job](v.rec, keyJob(id))) }

// Jobs returns jobs of the state behind job after; of every state when state is empty.
func (v View) Jobs(state JobState, after uint64, n int) ([]Job, error) {
	behind := ""
	if after != 0 {
		behind = hex16(after)
	}
	if state == "" {
		return list[Job](v.rec, PrefixJobs, behind, n)
	}
	ids, err := tails(v.rec, prefixJobStates+string(state)+"/", behind, n)
	if err != nil {
		return nil, err
	}
	jobs := make([]Job, 0, len(ids))
	for _, id := range ids {
		j, err := found1(get[Job](v.rec, PrefixJobs+id))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// JoinTokens returns all join tokens by id.
func (v View) JoinTokens() ([]JoinToken, error) {
	return list[JoinToken](v.rec, PrefixJoinTokens, "", 0)
}

// JoinToken returns the join token, or ErrNotFound.
func (v View) JoinToken(id string) (JoinToken, error) {
	return found1(get[JoinToken](v.rec, keyJoinToken(id)))
}

// AccessTokens returns all access tokens by id.
func (v View) AccessTokens() ([]AccessToken, error) {
	return list[AccessToken](v.rec, PrefixAccess, "", 0)
}

// AccessToken returns the access token, revoked and expired ones too, or ErrNotFound.
func (v View) AccessToken(id string) (AccessToken, error) {
	return found1(get[AccessToken](v.rec, keyAccess(id)))
}

// Trail returns at most n events of the audit trail behind event after.
func (v View) Trail(after uint64, n int) ([]Event, error) {
	behind := ""
	if after != 0 {
		behind = hex16(after)
	}
	return list[Event](v.rec, PrefixTrail, behind, n)
}

// Left returns the shards that moved away from the node and whose files it may ask to release.
func (v View) Left(node NodeID) ([]ReplicaShard, error) {
	keys, err := tails(v.rec, PrefixLeft(node), "", 0)
	out := make([]ReplicaShard, 0, len(keys))
	for _, key := range keys {
		replica, text, _ := strings.Cut(key, "/")
		shard, err := ParseShard(text)
		if err != nil {
			return nil, err
		}
		out = append(out, ReplicaShard{Replica: ReplicaName(replica), Shard: shard})
	}
	return out, err
}

// Boot returns the node's boot from which the latest request was remembered, 0 when none is.
func (v View) Boot(node NodeID) (uint64, error) {
	w, _, err := get[window](v.rec, keyWindow(node))
	return w.Boot, err
}

// ReplicaShard is one shard of one replica.
type ReplicaShard struct {
	Replica ReplicaName `json:"replica"`
	Shard   Shard       `json:"shard"`
}
