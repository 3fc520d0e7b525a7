package catalog

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// View answers questions over the agreed state. It reads what its Reader shows, so that one View over one
// transaction sees one moment. Every error but ErrNotFound is the Reader's, or says that a value is damaged.
// Lists are in the order of their keys; pages take at most n things behind the given one.
type View struct {
	ofCluster
	rec records
}

type ofCluster = cluster.View

// NewView returns a View of what r shows.
func NewView(r Reader) View { return View{cluster.NewView(r), recordsIn(r)} }

// Cursor is a place in a walk over the files of shards, in the order of shards and then names: behind the file
// After of the shard, or before all its files. The zero Cursor is the start.
type Cursor struct {
	Shard Shard    `json:"shard"`
	After FileName `json:"after,omitempty"`
}

// Fills returns the walks over replicas' files that are not done, by replica.
func (v View) Fills() ([]Fill, error) { return agree.List[Fill](v.rec, PrefixFills, "", 0) }

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
	t, _, err := agree.Get[Totals](v.rec, keyTotals(replica))
	return t, err
}

// Passes returns the last audit pass of each of the replica's shards that had one, by shard.
func (v View) Passes(replica ReplicaName) ([]ShardPass, error) {
	return agree.List[ShardPass](v.rec, prefixPasses+string(replica)+"/", "", 0)
}

// Job returns the job, or ErrNotFound.
func (v View) Job(id uint64) (Job, error) { return agree.Found(agree.Get[Job](v.rec, keyJob(id))) }

// Jobs returns jobs of the state behind job after; of every state when state is empty.
func (v View) Jobs(state JobState, after uint64, n int) ([]Job, error) {
	behind := ""
	if after != 0 {
		behind = agree.Hex(after)
	}
	if state == "" {
		return agree.List[Job](v.rec, PrefixJobs, behind, n)
	}
	ids, err := agree.Tails(v.rec, prefixJobStates+string(state)+"/", behind, n)
	if err != nil {
		return nil, err
	}
	jobs := make([]Job, 0, len(ids))
	for _, id := range ids {
		j, err := agree.Found(agree.Get[Job](v.rec, PrefixJobs+id))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// AccessTokens returns all access tokens by id.
func (v View) AccessTokens() ([]AccessToken, error) {
	return agree.List[AccessToken](v.rec, PrefixAccess, "", 0)
}

// AccessToken returns the access token, revoked and expired ones too, or ErrNotFound.
func (v View) AccessToken(id string) (AccessToken, error) {
	return agree.Found(agree.Get[AccessToken](v.rec, keyAccess(id)))
}

// Left returns the shards that moved away from the node and whose files it may ask to release.
func (v View) Left(node NodeID) ([]ReplicaShard, error) {
	keys, err := agree.Tails(v.rec, PrefixLeft(node), "", 0)
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

// ReplicaShard is one shard of one replica.
type ReplicaShard struct {
	Replica ReplicaName `json:"replica"`
	Shard   Shard       `json:"shard"`
}
