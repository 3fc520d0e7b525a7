package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/peer"
)

// invites makes join tokens for the API.
type invites struct{ n *Node }

// Create agrees on a token and returns its text, which holds the addresses of the members that can be dialled.
func (i invites) Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration, actor string) (string, catalog.JoinToken, error) {
	k := i.n.known.Load()
	secret, id := make([]byte, 32), make([]byte, 6)
	_, _ = rand.Read(secret)
	_, _ = rand.Read(id)
	now := time.Now()
	token := peer.Token{ID: fmt.Sprintf("%x", id), Cluster: k.Cluster.ID, Replica: string(replica), Expires: now.Add(lifetime), Secret: secret}
	for _, m := range k.Members {
		for _, a := range m.Addresses {
			token.Addresses = append(token.Addresses, peer.TokenAddress{Address: a, Fingerprint: peer.ID(m.ID)})
		}
	}
	if len(token.Addresses) == 0 {
		return "", catalog.JoinToken{}, fmt.Errorf("%w: no member has an address that a new node could dial: give addresses in cluster.toml", api.ErrInvalid)
	}
	if err := token.Check(); err != nil {
		return "", catalog.JoinToken{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	kept := catalog.JoinToken{ID: token.ID, SecretHash: catalog.Digest(token.SecretHash()), Replica: replica,
		Created: catalog.At(now), Expires: catalog.At(token.Expires)}
	result, err := apiCatalog(i).Propose(ctx, catalog.CreateToken, kept, actor)
	if err != nil {
		return "", catalog.JoinToken{}, err
	}
	if result.Refusal != nil {
		return "", catalog.JoinToken{}, result.Refusal
	}
	return token.Encode(), kept, nil
}
