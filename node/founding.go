package node

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/peer"
	"holdfast/raft"
)

// ErrFounded reports that a node belongs to a cluster already.
var ErrFounded = errors.New("this node belongs to a cluster already")

// Init founds a cluster whose first member is the configured node. When it returns nil the founding is agreed and on
// stable storage, and the node can be started. It returns the new cluster's record. One that was cut off may be repeated.
func Init(ctx context.Context, cfg Config, log *slog.Logger) (catalog.Cluster, error) {
	d := disk.New()
	_, there := cfg.loadKnown()
	k, err := cfg.recall(d, log)
	if err == nil && errors.Is(there, ErrNotFounded) && k.Index <= 1 {
		return k.Cluster, nil // an earlier founding ended before the member list was written
	}
	id, err := cfg.prepare(d, log)
	if err != nil {
		return catalog.Cluster{}, err
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	cluster := catalog.Cluster{ID: hex.EncodeToString(random), Name: cfg.File.Cluster, Epoch: 1, Level: catalog.Level,
		Founded: catalog.At(time.Now())}
	founding := catalog.Founding{Cluster: cluster, Member: cfg.member(id)}
	for _, r := range cfg.File.Replicas {
		founding.Replicas = append(founding.Replicas, replicaOf(r))
	}
	for _, c := range cfg.File.collections() {
		founding.Collections = append(founding.Collections, catalog.Collection{Name: catalog.CollectionName(c)})
	}
	if err := found(ctx, cfg, d, id, founding, log); err != nil {
		return catalog.Cluster{}, err
	}
	return cluster, cfg.saveKnown(d, known{Cluster: cluster, Members: []catalog.Member{founding.Member}})
}

func replicaOf(r ReplicaTable) catalog.Replica {
	out := catalog.Replica{Name: catalog.ReplicaName(r.Name), Kind: catalog.ReplicaKind(r.Kind), Place: r.Place}
	if out.Place == "" {
		out.Place = r.Name
	}
	for _, c := range r.Collections {
		out.Collections = append(out.Collections, catalog.CollectionName(c))
	}
	return out
}

// found makes the founding the first entry of the cluster's log.
func found(ctx context.Context, cfg Config, d disk.Disk, id peer.Identity, founding catalog.Founding, log *slog.Logger) error {
	r, err := raft.Open(cfg.raft(catalog.NodeID(id.ID())), d, nowhere{}, nowhere{}, log)
	if err != nil {
		return err
	}
	body, err := json.Marshal(founding)
	if err != nil {
		return fmt.Errorf("encode the founding: %w", err)
	}
	err = r.Bootstrap(ctx, catalog.Command{Version: 1, Kind: catalog.Found, At: founding.Cluster.Founded, Body: body})
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("found the cluster: %w", err)
	}
	return nil
}

// prepare makes the node's folders and key. It fails with ErrFounded when the node belongs to a cluster.
func (c Config) prepare(d disk.Disk, log *slog.Logger) (peer.Identity, error) {
	if k, err := c.recall(d, log); err == nil {
		return peer.Identity{}, fmt.Errorf("%w: %s (%s)", ErrFounded, k.Cluster.Name, c.Data)
	} else if !errors.Is(err, ErrNotFounded) {
		return peer.Identity{}, err
	}
	return c.identity(d)
}

// joinRequest and joinReply travel between a machine that joins and the member it reached.
type joinRequest struct {
	Token  string         `json:"token"`
	Secret []byte         `json:"secret"`
	Member catalog.Member `json:"member"`
}

type joinReply struct {
	Known known `json:"known"`
}

// Join makes the configured node a member, by a token that a member made. It may be repeated by the same node until
// it succeeds. A node without which the cluster was recovered, or which was removed, joins again with its key and its
// files; what it had agreed on before is removed. When Join returns nil the node can be started.
func Join(ctx context.Context, cfg Config, text string, log *slog.Logger) (_ catalog.Cluster, err error) {
	token, err := peer.ParseToken(text)
	if err != nil {
		return catalog.Cluster{}, err
	}
	if token.Replica != cfg.Replica.Name {
		return catalog.Cluster{}, fmt.Errorf("%w: the token is for replica %q, but node %s is configured for replica %q",
			ErrConfig, token.Replica, cfg.Name, cfg.Replica.Name)
	}
	d := disk.New()
	old, release, err := cfg.reopen(d, token.Cluster, log)
	if err != nil {
		return catalog.Cluster{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	id, err := cfg.identity(d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	request, err := json.Marshal(joinRequest{Token: token.ID, Secret: token.Secret, Member: cfg.member(id)})
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("encode the join request: %w", err)
	}
	answer, err := peer.Join(ctx, token, id, request)
	var refused *peer.RemoteError
	if errors.As(err, &refused) && refused.Code != peer.CodeInternal {
		return catalog.Cluster{}, fmt.Errorf("join the cluster: %w: %s", ErrRefused, refused.Message)
	}
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("join the cluster: %w", err)
	}
	var reply joinReply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return catalog.Cluster{}, fmt.Errorf("read the answer to the join request: %w", err)
	}
	if err := cfg.drop(d, old, reply.Known, catalog.NodeID(id.ID())); err != nil {
		return catalog.Cluster{}, err
	}
	return reply.Known.Cluster, cfg.saveKnown(d, reply.Known)
}

// ErrRefused reports that the cluster turned a machine away; the text says why.
var ErrRefused = errors.New("refused")

// welcome answers a machine that wants to join.
func (n *Node) welcome(ctx context.Context, key ed25519.PublicKey, request []byte) ([]byte, error) {
	var r joinRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &peer.RemoteError{Code: peer.CodeJoinRefused, Message: "the request cannot be read"}
	}
	r.Member.Key, r.Member.ID = key, catalog.NodeID(peer.Fingerprint(key))
	result, err := n.raft.Propose(ctx, catalog.JoinMember, catalog.Joining{Token: r.Token, Secret: r.Secret, Member: r.Member}, string(n.id))
	if err != nil {
		return nil, fmt.Errorf("admit %s: %w", r.Member.Name, err)
	}
	if result.Refusal != nil {
		return nil, &peer.RemoteError{Code: peer.CodeJoinRefused, Message: result.Refusal.Message}
	}
	if err := n.raft.Linear(ctx); err != nil {
		return nil, err
	}
	if err := n.applyTrust(); err != nil {
		return nil, err
	}
	n.log.Info("node joined", "node", r.Member.ID, "name", r.Member.Name, "replica", r.Member.Replica)
	return json.Marshal(joinReply{Known: *n.known.Load()})
}

// Recover makes the configured node the only voter of its cluster under a higher epoch, when the majority of voters
// is lost for good. The node must be stopped. Members of the older epoch are refused from then on.
func Recover(_ context.Context, cfg Config, reason string, log *slog.Logger) (catalog.Cluster, error) {
	k, err := cfg.loadKnown()
	if err != nil {
		return catalog.Cluster{}, err
	}
	d := disk.New()
	id, err := peer.LoadOrCreateIdentity(cfg.identityDir(), d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	k.Cluster.Epoch, err = raft.Recover(cfg.raft(catalog.NodeID(id.ID())), d, reason, log)
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("recover %s: %w", cfg.Name, err)
	}
	k.Index = 0 // of the old epoch
	return k.Cluster, cfg.saveKnown(d, k)
}

func (c Config) raft(self catalog.NodeID) raft.Config {
	return raft.Config{Dir: c.Data, Self: self, Profile: c.File.Profile, MemoryMiB: int(c.Limits.Memory >> 20 / 64),
		TrailingMiB: int(c.Limits.RaftLog >> 20)}
}

// Single returns the configuration of an archive of one node with all defaults, its folder being data.
func Single(data string, listen Listen) (Config, error) {
	text := fmt.Sprintf("cluster = \"local\"\ndata = %q\npeer = %q\napi = %q\naccess = %q\nreserve = \"64MiB\"\n"+
		"[[replica]]\nname = \"local\"\nkind = \"bitarchive\"\n[[node]]\nname = \"local\"\nreplica = \"local\"\n",
		data, listen.Peer, listen.API, listen.Access)
	f, err := ParseConfig(filepath.Join(data, "cluster.toml"), text)
	if err != nil {
		return Config{}, err
	}
	return f.Node("local")
}
