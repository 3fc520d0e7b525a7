package membership

import (
	"context"
	"time"

	"holdfast/catalog"
)

// Invites makes join tokens for the API.
type Invites struct {
	Member  Member
	Propose Propose
}

// Create agrees on a token and returns its text.
func (i Invites) Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration,
	actor string) (string, catalog.JoinToken, error) {
	return i.Member.Invite(ctx, i.Propose, replica, lifetime, actor)
}
