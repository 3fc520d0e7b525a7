package membership

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/peer"
)

// Propose has a command decided in somebody's name.
type Propose func(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)

// Invite agrees on a join token and returns its text, which holds the addresses of the members that can be dialled.
func (m Member) Invite(ctx context.Context, propose Propose, replica catalog.ReplicaName, lifetime time.Duration,
	actor string) (string, catalog.JoinToken, error) {
	k := m.Roster.Known()
	secret, id := make([]byte, 32), make([]byte, 6)
	_, _ = rand.Read(secret)
	_, _ = rand.Read(id)
	now := time.Now()
	token := peer.Token{ID: fmt.Sprintf("%x", id), Cluster: k.Cluster.ID, Replica: string(replica),
		Expires: now.Add(lifetime), Secret: secret}
	for _, m := range k.Members {
		for _, a := range m.Addresses {
			token.Addresses = append(token.Addresses, peer.TokenAddress{Address: a, Fingerprint: peer.ID(m.ID)})
		}
	}
	if len(token.Addresses) == 0 {
		return "", catalog.JoinToken{}, fmt.Errorf("%w: no member has an address "+
			"at which a new node could reach it: set addresses in cluster.toml", api.ErrInvalid)
	}
	if err := token.Check(); err != nil {
		return "", catalog.JoinToken{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	kept := catalog.JoinToken{ID: token.ID, SecretHash: catalog.Digest(token.SecretHash()), Replica: replica,
		Created: catalog.At(now), Expires: catalog.At(token.Expires)}
	result, err := propose(ctx, catalog.CreateToken, kept, actor)
	if err != nil {
		return "", catalog.JoinToken{}, err
	}
	if result.Refusal != nil {
		return "", catalog.JoinToken{}, result.Refusal
	}
	return token.Encode(), kept, nil
}

// Welcome answers a machine that wants to join.
func (m Member) Welcome(ctx context.Context, key ed25519.PublicKey, request []byte) ([]byte, error) {
	var r joinRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &peer.RemoteError{Code: peer.CodeJoinRefused, Message: "the request cannot be read"}
	}
	r.Member.Key, r.Member.ID = key, catalog.NodeID(peer.Fingerprint(key))
	if err := m.checkEnded(ctx, r); err != nil {
		return nil, err
	}
	joining := catalog.Joining{Token: r.Token, Secret: r.Secret, Member: r.Member}
	result, err := m.Agreement.Propose(ctx, catalog.JoinMember, joining, string(m.Roster.self))
	if err != nil {
		return nil, fmt.Errorf("admit %s: %w", r.Member.Name, err)
	}
	if result.Refusal != nil {
		return nil, m.turnedAway(ctx, r, result.Refusal)
	}
	if err := m.Agreement.Linear(ctx); err != nil {
		return nil, err
	}
	if err := m.Roster.Follow(m.Agreement); err != nil {
		return nil, err
	}
	m.Log.Info("node joined", "node", r.Member.ID, "name", r.Member.Name, "replica", r.Member.Replica)
	return json.Marshal(joinReply{Known: *m.Roster.Known()})
}

// Codes that answer a machine before its token is used up: its membership continues, or its vote does, or the rest of
// its membership ends in a moment.
const (
	codeMember = "member"
	codeVoter  = "voter"
	codeSoon   = "soon"
)

// checkEnded refuses, before its token is used up, a machine that is still a member as the cluster sees it. It also
// refuses a machine that has forgotten its membership as long as its vote counts: a voter without its log could undo
// decisions.
func (m Member) checkEnded(ctx context.Context, r joinRequest) error {
	if err := m.Agreement.Linear(ctx); err != nil {
		return fmt.Errorf("admit %s: %w", r.Member.Name, err)
	}
	if err := m.Roster.Follow(m.Agreement); err != nil {
		return err
	}
	now := m.Roster.Known()
	since := joined(*now, r.Member.ID)
	switch {
	case r.Joined != 0 && now.Cluster.Epoch == r.Epoch && since == r.Joined:
		return &peer.RemoteError{Code: codeMember, Message: r.Member.Name + " is a member already"}
	case !m.Agreement.Votes(r.Member.ID):
		return m.checkGivenUp(r.Member, since)
	case since == 0:
		return &peer.RemoteError{Code: codeSoon,
			Message: r.Member.Name + " was removed, but its vote counts still: try again in a moment"}
	}
	return &peer.RemoteError{Code: codeVoter, Message: m.Roster.NameOf(r.Member.ID) +
		" is a voter of the cluster and has forgotten it: " +
		"on another node, run `holdfast node remove --lost` for it, then let it join again: its files stay"}
}

// checkGivenUp turns away a machine that was removed as lost as long as the leader has not given its shards to others.
func (m Member) checkGivenUp(who catalog.Member, since catalog.Time) error {
	if since != 0 {
		return nil // it is a member and keeps them
	}
	return m.Agreement.View(func(v catalog.View) error {
		layout, err := v.Layout(who.Replica)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil // the catalog says what is wrong
		}
		if err != nil {
			return err
		}
		keeps := func(p catalog.Placement) bool { return p.Holder == who.ID || p.Next == who.ID }
		if slices.ContainsFunc(layout, keeps) {
			return &peer.RemoteError{Code: codeSoon,
				Message: who.Name + " was removed, and its shards are still being given up: try again in a moment"}
		}
		return nil
	})
}

// turnedAway answers a machine whose token the catalog refused, so that the refusal is counted by its reason.
func (m Member) turnedAway(ctx context.Context, r joinRequest, why *catalog.Refusal) error {
	if !m.Agreement.IsLeader() {
		if err := m.Agreement.Linear(ctx); err != nil {
			m.Log.Debug("a decision is not seen here yet", "error", err)
		}
	}
	code := peer.CodeJoinRefused
	err := m.Agreement.View(func(v catalog.View) error {
		token, err := v.JoinToken(r.Token)
		hash := sha256.Sum256(r.Secret)
		switch {
		case why.Code != catalog.Denied:
		case errors.Is(err, catalog.ErrNotFound),
			err == nil && subtle.ConstantTimeCompare(hash[:], token.SecretHash[:]) != 1:
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
		m.Log.Warn("join token cannot be looked at", "error", err)
	}
	return &peer.RemoteError{Code: code, Message: why.Message}
}
