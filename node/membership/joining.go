package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	Known Known `json:"known"`
}

// Join makes the configured node a member, with a token that a member made. The same node may repeat it until it
// succeeds. A node that a recovery of the cluster left behind, or that was removed, joins again with its key and its
// files; its earlier agreed state is removed. When Join returns nil the node can be started.
func Join(ctx context.Context, cfg Folder, text string, log *slog.Logger) (_ catalog.Cluster, err error) {
	token, err := peer.ParseToken(text)
	if err != nil {
		return catalog.Cluster{}, err
	}
	if token.Replica != cfg.Replica.Name {
		return catalog.Cluster{}, fmt.Errorf(
			"%w: the token is for replica %q, but node %s is configured for replica %q",
			config.ErrConfig, token.Replica, cfg.Name, cfg.Replica.Name)
	}
	d := cfg.PrivateDisk()
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
	switch refused := refusal(err); {
	case refused == nil:
	case refused.Code == codeMember:
		return catalog.Cluster{}, cfg.memberStill(old)
	default:
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
	return reply.Known.Cluster, cfg.save(d, reply.Known)
}

// joinWait is how long a machine that the cluster cannot take yet asks again.
const joinWait = time.Minute

// askToJoin asks the members that the token names, and asks again while the node's earlier membership is being wound
// up.
func askToJoin(ctx context.Context, token peer.Token, id peer.Identity, request []byte) (answer []byte, err error) {
	for until := time.Now().Add(joinWait); ; {
		answer, err = peer.Join(ctx, token, id, request)
		if !errors.Is(err, &peer.RemoteError{Code: codeSoon}) || time.Now().After(until) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// refusal is what a member answered to the request, nil if none did. Several members may have been asked, and others
// may have been in trouble: what they answer about themselves is no refusal.
func refusal(err error) *peer.RemoteError {
	switch e := err.(type) {
	case *peer.RemoteError:
		if e.Code != peer.CodeInternal {
			return e
		}
	case interface{ Unwrap() error }:
		return refusal(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if r := refusal(one); r != nil {
				return r
			}
		}
	}
	return nil
}

// ErrRefused reports that the cluster turned a machine away; the text says why.
var ErrRefused = errors.New("refused")
