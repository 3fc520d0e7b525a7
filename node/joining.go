package node

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/peer"
)

// joinRequest and joinReply travel between a machine that joins and the member it reached.
type joinRequest struct {
	Token  string         `json:"token"`
	Secret []byte         `json:"secret"`
	Member catalog.Member `json:"member"`
	Epoch  uint64         `json:"epoch,omitempty"`  // of the membership that the machine knows of, if any
	Joined catalog.Time   `json:"joined,omitempty"` // when that began
}

type joinReply struct {
	Known known `json:"known"`
}

// Join makes the configured node a member, by a token that a member made. It may be repeated by the same node until
// it succeeds. A node without which the cluster was recovered, or which was removed, joins again with its key and its
// files; what it had agreed on before is removed. When Join returns nil the node can be started.
func Join(ctx context.Context, settings config.Config, text string, log *slog.Logger) (_ catalog.Cluster, err error) {
	cfg := folder{settings}
	token, err := peer.ParseToken(text)
	if err != nil {
		return catalog.Cluster{}, err
	}
	if token.Replica != cfg.Replica.Name {
		return catalog.Cluster{}, fmt.Errorf("%w: the token is for replica %q, but node %s is configured for replica %q",
			config.ErrConfig, token.Replica, cfg.Name, cfg.Replica.Name)
	}
	d := cfg.privateDisk()
	old, release, err := cfg.reopen(d, token.Cluster, log)
	if err != nil {
		return catalog.Cluster{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	id, err := cfg.identity(d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	request, err := json.Marshal(joinRequest{Token: token.ID, Secret: token.Secret, Member: cfg.member(id),
		Epoch: old.Cluster.Epoch, Joined: joined(old, catalog.NodeID(id.ID()))})
	if err != nil {
		return catalog.Cluster{}, fmt.Errorf("encode the join request: %w", err)
	}
	answer, err := askToJoin(ctx, token, id, request)
	var refused *peer.RemoteError
	if errors.As(err, &refused) && refused.Code == codeMember {
		return catalog.Cluster{}, cfg.memberStill(old)
	}
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

// joinWait is how long a machine that the cluster cannot take yet asks again.
const joinWait = time.Minute

// askToJoin asks the members that the token names, and asks again while the node's earlier membership is being wound up.
func askToJoin(ctx context.Context, token peer.Token, id peer.Identity, request []byte) (answer []byte, err error) {
	for until := time.Now().Add(joinWait); ; {
		var refused *peer.RemoteError
		if answer, err = peer.Join(ctx, token, id, request); !errors.As(err, &refused) || refused.Code != codeSoon || time.Now().After(until) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(time.Second):
		}
	}
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
	if err := n.checkEnded(ctx, r); err != nil {
		return nil, err
	}
	result, err := n.raft.Propose(ctx, catalog.JoinMember, catalog.Joining{Token: r.Token, Secret: r.Secret, Member: r.Member}, string(n.id))
	if err != nil {
		return nil, fmt.Errorf("admit %s: %w", r.Member.Name, err)
	}
	if result.Refusal != nil {
		return nil, n.turnedAway(ctx, r, result.Refusal)
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

// Codes that answer a machine before its token is used up: its membership goes on, or its vote does, or what is left of it
// goes in a moment.
const (
	codeMember = "member"
	codeVoter  = "voter"
	codeSoon   = "soon"
)

// checkEnded turns away a machine that is a member still as the cluster sees it, before its token is used up, and one that
// has forgotten its membership as long as its vote counts: a voter without its log could undo decisions.
func (n *Node) checkEnded(ctx context.Context, r joinRequest) error {
	if err := n.raft.Linear(ctx); err != nil {
		return fmt.Errorf("admit %s: %w", r.Member.Name, err)
	}
	if err := n.applyTrust(); err != nil {
		return err
	}
	now := n.known.Load()
	since := joined(*now, r.Member.ID)
	switch {
	case r.Joined != 0 && now.Cluster.Epoch == r.Epoch && since == r.Joined:
		return &peer.RemoteError{Code: codeMember, Message: r.Member.Name + " is a member already"}
	case !n.raft.Votes(r.Member.ID):
		return n.checkGivenUp(r.Member, since)
	case since == 0:
		return &peer.RemoteError{Code: codeSoon, Message: r.Member.Name + " was removed, but its vote counts still: try again in a moment"}
	}
	return &peer.RemoteError{Code: codeVoter, Message: n.nameOf(r.Member.ID) + " is a voter of the cluster and has forgotten it: " +
		"on another node, run `holdfast node remove --lost` for it, then let it join again: its files stay"}
}

// checkGivenUp turns away a machine that was removed as lost as long as the leader has not given its shards to others.
func (n *Node) checkGivenUp(m catalog.Member, since catalog.Time) error {
	if since != 0 {
		return nil // it is a member and keeps them
	}
	return n.raft.View(func(v catalog.View) error {
		layout, err := v.Layout(m.Replica)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil // the catalog says what is wrong
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(layout, func(p catalog.Placement) bool { return p.Holder == m.ID || p.Next == m.ID }) {
			return &peer.RemoteError{Code: codeSoon, Message: m.Name + " was removed, and its shards are still being given up: try again in a moment"}
		}
		return nil
	})
}

// turnedAway answers a machine whose token the catalog refused, in a way that is counted by what was wrong with it.
func (n *Node) turnedAway(ctx context.Context, r joinRequest, why *catalog.Refusal) error {
	n.catchUp(ctx)
	code := peer.CodeJoinRefused
	err := n.raft.View(func(v catalog.View) error {
		token, err := v.JoinToken(r.Token)
		hash := sha256.Sum256(r.Secret)
		switch {
		case why.Code != catalog.Denied:
		case errors.Is(err, catalog.ErrNotFound), err == nil && subtle.ConstantTimeCompare(hash[:], token.SecretHash[:]) != 1:
			code = peer.CodeTokenUnknown
		case err != nil:
			return err
		case token.UsedBy != "":
			code = peer.CodeTokenUsed
		case token.Revoked != 0 || token.Expires <= catalog.At(time.Now()):
			code = peer.CodeTokenExpired
		}
		return nil
	})
	if err != nil {
		n.log.Warn("join token cannot be looked at", "error", err)
	}
	return &peer.RemoteError{Code: code, Message: why.Message}
}
