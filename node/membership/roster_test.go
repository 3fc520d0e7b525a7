package membership

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
	"holdfast/node/config"
	"holdfast/peer"
)

// links note who is trusted.
type links struct{ names []string }

func (l *links) SetMembers(_ uint64, members []peer.Member) {
	l.names = nil
	for _, m := range members {
		l.names = append(l.names, m.Name)
	}
	slices.Sort(l.names)
}

// agreed is a catalog of one node, and who votes.
type agreed struct {
	t     *testing.T
	tx    memory.Tx
	index uint64
	none  atomic.Bool // votes
}

func (a *agreed) View(see func(catalog.View) error) error { return see(catalog.NewView(&a.tx)) }
func (a *agreed) Applied() uint64                         { return a.index }
func (a *agreed) Votes(catalog.NodeID) bool               { return !a.none.Load() }
func (a *agreed) Linear(context.Context) error            { return nil }
func (a *agreed) IsLeader() bool                          { return false }
func (a *agreed) Heard() (time.Duration, bool)            { return 0, true }

func (a *agreed) Propose(context.Context, catalog.Kind, any, string) (catalog.Result, error) {
	return catalog.Result{}, nil
}

func (a *agreed) apply(kind catalog.Kind, body any) {
	a.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	command, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: 1000, Actor: "test", Body: raw})
	if err != nil {
		a.t.Fatal(err)
	}
	a.index++
	if r, err := catalog.Apply(&a.tx, a.index, command); err != nil || r.Refusal != nil {
		a.t.Fatalf("%s: %v %v", kind, r.Refusal, err)
	}
}

func memberOf(name string) catalog.Member {
	key := sha256.Sum256([]byte(name))
	return catalog.Member{ID: catalog.Fingerprint(key[:]), Name: name, Key: key[:], Replica: "north", Level: 1}
}

// TestARemovedVoterStaysLinked removes a member that the leader may still need for its majority, and that another node
// only told of. It is cut off when it votes no more, also by a node that was started again meanwhile.
func TestARemovedVoterStaysLinked(t *testing.T) {
	for name, remove := range map[string]func(r *Roster, a *agreed, gone catalog.NodeID){
		"by the catalog": func(_ *Roster, a *agreed, gone catalog.NodeID) {
			a.apply(catalog.RemoveMember, catalog.MemberRemoval{ID: gone, Lost: true})
		},
		"told by another": func(r *Roster, a *agreed, gone catalog.NodeID) {
			k := *r.Known()
			k.Index = a.index + 1
			k.Members = slices.DeleteFunc(slices.Clone(k.Members), func(m catalog.Member) bool { return m.ID == gone })
			r.adopt(k, a.Votes)
			a.apply(catalog.RemoveMember, catalog.MemberRemoval{ID: gone, Lost: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { removeVoter(t, remove) })
		})
	}
}

func removeVoter(t *testing.T, remove func(*Roster, *agreed, catalog.NodeID)) {
	a := &agreed{t: t}
	self, gone := memberOf("self"), memberOf("gone")
	a.apply(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1}, Member: self,
		Collections: []catalog.Collection{{Name: "web"}},
		Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "n"}}})
	a.apply(catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: sha256.Sum256([]byte("s")), Replica: "north", Expires: 1 << 40})
	a.apply(catalog.JoinMember, catalog.Joining{Token: "t", Secret: []byte("s"), Member: gone})

	folder := Folder{Config: config.Config{Data: t.TempDir()}}
	if err := os.MkdirAll(filepath.Join(folder.Data, "identity"), 0o700); err != nil {
		t.Fatal(err)
	}
	trusted := &links{}
	log := slog.New(slog.DiscardHandler)
	r := NewRoster(folder, disk.New(), self.ID, Known{Cluster: catalog.Cluster{ID: "c", Epoch: 1}}, trusted, log)
	ctx, stop := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}), make(chan struct{})
	go func() { _ = Member{Folder: folder, Roster: r, Agreement: a}.Trust(ctx, changed); close(ended) }()
	synctest.Wait()

	remove(r, a, gone.ID)
	changed <- struct{}{}
	synctest.Wait()
	both := []string{"gone", "self"}
	if !slices.Equal(trusted.names, both) || len(r.Known().Members) != 1 {
		t.Errorf("linked are %v of %d members, want %v of 1", trusted.names, len(r.Known().Members), both)
	}
	k, err := folder.load()
	if err != nil {
		t.Fatal(err)
	}
	again := &links{}
	NewRoster(folder, disk.New(), self.ID, k, again, log)
	if !slices.Equal(again.names, both) {
		t.Errorf("started again, linked are %v", again.names)
	}

	a.none.Store(true) // which changes nothing in the catalog
	time.Sleep(2 * leavingEvery)
	synctest.Wait()
	if !slices.Equal(trusted.names, []string{"self"}) {
		t.Errorf("in the end linked are %v", trusted.names)
	}
	stop()
	<-ended
}

// TestAFullDiskEndsNoTrust has the member list change while the disk has no room for its copy: who is trusted follows the
// catalog, and the copy is written when there is room.
func TestAFullDiskEndsNoTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agreed{t: t}
		self, next := memberOf("self"), memberOf("next")
		a.apply(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1}, Member: self,
			Collections: []catalog.Collection{{Name: "web"}},
			Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "n"}}})
		dir := t.TempDir()
		folder := Folder{Config: config.Config{Data: filepath.Join(dir, "data")}}
		for _, path := range []string{filepath.Join(folder.Data, "identity"), filepath.Join(dir, "undo")} {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		full := disk.NewFaulty(filepath.Join(dir, "undo"))
		trusted := &links{}
		r := NewRoster(folder, full.Disk(), self.ID, Known{Cluster: catalog.Cluster{ID: "c", Epoch: 1}}, trusted,
			slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		changed, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- Member{Folder: folder, Roster: r, Agreement: a}.Trust(ctx, changed) }()
		synctest.Wait()

		full.FailAt(1, disk.ErrFull)
		a.apply(catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: sha256.Sum256([]byte("s")), Replica: "north",
			Expires: 1 << 40})
		a.apply(catalog.JoinMember, catalog.Joining{Token: "t", Secret: []byte("s"), Member: next})
		changed <- struct{}{}
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("it ended: %v", <-ended)
		}
		if k, err := folder.load(); err != nil || len(k.Members) != 1 {
			t.Errorf("the full disk has %d members: %v", len(k.Members), err)
		}
		if want := []string{"next", "self"}; !slices.Equal(trusted.names, want) {
			t.Errorf("linked are %v, want %v", trusted.names, want)
		}
		full.FailAt(0, nil)
		time.Sleep(2 * leavingEvery)
		synctest.Wait()
		if k, err := folder.load(); err != nil || len(k.Members) != 2 {
			t.Errorf("with room again, the disk has %d members: %v", len(k.Members), err)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestAListThatIsToldKeepsVotersAlone has a node that is behind told of a removal: it stays linked with the one that was
// removed if that one votes, as far as it knows itself or is told, and not otherwise.
func TestAListThatIsToldKeepsVotersAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		votes, told bool
		want        []string
	}{
		"votes by what is known here":  {votes: true, want: []string{"gone", "self"}},
		"votes by what another says":   {told: true, want: []string{"gone", "self"}},
		"votes not, as all agree here": {want: []string{"self"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := Folder{Config: config.Config{Data: t.TempDir()}}
			if err := os.MkdirAll(filepath.Join(folder.Data, "identity"), 0o700); err != nil {
				t.Fatal(err)
			}
			trusted, self, gone, stranger := &links{}, memberOf("self"), memberOf("gone"), memberOf("stranger")
			k := Known{Cluster: catalog.Cluster{ID: "c", Epoch: 1}, Members: []catalog.Member{self, gone}, Index: 5}
			r := NewRoster(folder, disk.New(), self.ID, k, trusted, slog.New(slog.DiscardHandler))
			k.Members, k.Index = []catalog.Member{self}, 6
			if tt.told {
				k.Leaving = []catalog.Member{gone, stranger}
			}
			r.adopt(k, func(catalog.NodeID) bool { return tt.votes })
			if !slices.Equal(trusted.names, tt.want) {
				t.Errorf("linked are %v, want %v", trusted.names, tt.want)
			}
		})
	}
}

// recovered is a state that was recovered.
type recovered struct{ State }

func (recovered) Recover(catalog.NodeID, string) (uint64, error) { return 2, nil }

func TestARecoveredClusterKeepsNoLinkFromBefore(t *testing.T) {
	folder := Folder{Config: config.Config{Data: t.TempDir()}, State: recovered{}}
	d := disk.New()
	if err := os.MkdirAll(filepath.Join(folder.Data, "identity"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.LoadOrCreateIdentity(folder.IdentityDir(), d); err != nil {
		t.Fatal(err)
	}
	before := Known{Cluster: catalog.Cluster{ID: "c", Epoch: 1}, Members: []catalog.Member{memberOf("self")},
		Leaving: []catalog.Member{memberOf("gone")}, Index: 5}
	if err := folder.save(d, before); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(folder, "the others burnt"); err != nil {
		t.Fatal(err)
	}
	k, err := folder.load()
	if err != nil || k.Cluster.Epoch != 2 || len(k.Leaving) > 0 {
		t.Errorf("after the recovery: epoch %d, %d leaving, %v", k.Cluster.Epoch, len(k.Leaving), err)
	}
}
