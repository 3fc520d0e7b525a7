package membership

import (
	"context"
	"log/slog"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
)

// Agreement is what a member reads and proposes.
type Agreement interface {
	Applied
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
	Heard() (silent time.Duration, heard bool)
}

// Member keeps a running node a member, and ends the node when it is no longer one. It is safe for concurrent use.
type Member struct {
	Folder    Folder
	Roster    *Roster
	Refusals  *Refusals
	Agreement Agreement
	Caller    wire.Caller
	Insist    func(context.Context, catalog.Kind, any) (*catalog.Refusal, error) // proposes until it is decided
	Log       *slog.Logger
}

// Trusted are the prefixes of the catalog whose changes concern Trust.
func Trusted() []string { return []string{catalog.PrefixMembers, catalog.PrefixCluster} }

// leavingEvery is how often Trust looks whether members that were removed still vote.
const leavingEvery = time.Second

// Trust keeps the list of trusted members, and its copy on disk, in step with the catalog.
func (m Member) Trust(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(leavingEvery)
	defer tick.Stop()
	for {
		if err := m.Roster.Follow(m.Agreement); err != nil {
			return err
		}
		var look <-chan time.Time
		if len(m.Roster.Known().Leaving) > 0 || m.Roster.Unkept() {
			look = tick.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-look:
		}
	}
}
