package peer

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/disk"
)

func TestIdentityIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "identity")
	first, err := LoadOrCreateIdentity(dir, disk.New())
	if err != nil {
		t.Fatal(err)
	}
	second, err := LoadOrCreateIdentity(dir, disk.New())
	if err != nil || first.ID() != second.ID() {
		t.Fatalf("second load: %s, %v; want %s", second.ID(), err, first.ID())
	}
	if _, err := ParseID(string(first.ID())); err != nil {
		t.Error(err)
	}
	path := filepath.Join(dir, keyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, damage := range []string{"", "rubbish", "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrCreateIdentity(dir, disk.New()); err == nil {
			t.Errorf("damaged key %q was accepted", damage)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != damage {
			t.Errorf("damaged key was replaced by %q, %v", now, err)
		}
	}
}

func TestStrangerIsRefused(t *testing.T) {
	t.Parallel()
	a, stranger := newTestNode(t, Config{}), newTestNode(t, Config{})
	acquaint(1, a)
	stranger.SetMembers(1, []Member{a.member()})
	refusedAs(t, stranger, a, Stranger)
	if got := a.Stats(); got.RefusedStrangers == 0 || len(got.Links) != 0 {
		t.Errorf("stats %+v", got)
	}
	eventually(t, "the stranger is told why", func() bool {
		e, ok := stranger.saw(EventRefused, a.ID())
		return ok && e.Refusal == Stranger
	})
	if _, ok := a.saw(EventTurnedAway, stranger.ID()); !ok {
		t.Error("no event about the stranger")
	}
}

// refusedAs checks that from cannot call to, and why.
func refusedAs(t *testing.T, from, to *testNode, why Refusal) {
	t.Helper()
	_, err := from.Call(within(t), to.ID(), "echo", nil)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Refusal != why || refused.Reason == "" {
		t.Fatalf("call: %v; want refusal %q", err, why)
	}
}

func TestOtherClusterIsRefused(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{Cluster: "one"}), newTestNode(t, Config{Cluster: "two"})
	acquaint(1, a, b)
	refusedAs(t, b, a, OtherCluster)
	if a.Stats().RefusedOtherCluster == 0 {
		t.Error("not counted")
	}
}

func TestOlderEpochIsRefused(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	both := []Member{a.member(), b.member()}
	a.SetMembers(7, both)
	b.SetMembers(3, both)
	refusedAs(t, b, a, OlderEpoch)
	eventually(t, "event on the older side", func() bool {
		e, ok := b.saw(EventNewerEpoch, a.ID())
		return ok && e.Epoch == 7
	})
	if _, ok := a.saw(EventNewerEpoch, b.ID()); ok {
		t.Error("the newer side believes that it is the older")
	}
	refusedAs(t, a, b, NewerEpoch)

	b.SetMembers(7, both)
	eventually(t, "connection in the new epoch", func() bool { return len(b.Connected()) == 1 && len(a.Connected()) == 1 })
	call(t, a, b, "same epoch")
	b.SetMembers(2, both)
	if got := b.Stats().Epoch; got != 7 {
		t.Errorf("epoch went back to %d", got)
	}
}

func TestRaisedEpochDropsOldConnections(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	acquaint(1, a, b)
	call(t, a, b, "epoch 1")
	a.SetMembers(2, []Member{a.member(), b.member()})
	if got := a.Connected(); len(got) != 0 {
		t.Errorf("still connected to %v", got)
	}
	eventually(t, "the other side hears of the epoch", func() bool { _, ok := b.saw(EventNewerEpoch, a.ID()); return ok })
}

func TestRemovedMembersConnectionsCloseAtOnce(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	for _, n := range []*testNode{a, b} {
		n.Handle("hold", Bulk, func(ctx context.Context, _ ID, s net.Conn) {
			<-ctx.Done()
			_ = s.Close()
		})
		n.begin(t)
	}
	acquaint(1, a, b)
	s, err := b.Open(within(t), a.ID(), "hold")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call(t, b, a, "still trusted")
	failed := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		failed <- err
	}()
	a.SetMembers(1, []Member{a.member()})
	select {
	case err := <-failed:
		if !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), "removed") {
			t.Errorf("stream ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the stream of a removed member lives on")
	}
	if a.SendPacket(b.ID(), []byte("x")) {
		t.Error("packet to a removed member was accepted")
	}
	if _, err := a.Call(within(t), b.ID(), "echo", nil); !errors.Is(err, ErrNotMember) {
		t.Errorf("call to a removed member: %v", err)
	}
	eventually(t, "the removed side knows", func() bool {
		e, ok := b.saw(EventRefused, a.ID())
		return ok && e.Refusal == Removed
	})
	eventually(t, "it is refused when it dials again", func() bool { return a.Stats().RefusedRemoved > 0 })
	if got := a.Stats().Links; len(got) != 0 {
		t.Errorf("links left: %+v", got)
	}
}

func TestRemovedIsKnownFromTheList(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	gone := b.member()
	gone.Removed = true
	a.SetMembers(1, []Member{a.member(), gone})
	b.SetMembers(1, []Member{a.member(), b.member()})
	refusedAs(t, b, a, Removed)
}

func TestWrongKeyIsNotTrusted(t *testing.T) {
	t.Parallel()
	a, b, c := newTestNode(t, Config{}), newTestNode(t, Config{}), newTestNode(t, Config{})
	forged := b.member()
	forged.Key = c.id.Public()
	a.SetMembers(1, []Member{forged})
	if _, err := a.Call(within(t), b.ID(), "echo", nil); !errors.Is(err, ErrNotMember) {
		t.Errorf("forged key: %v", err)
	}
	misled := b.member()
	misled.Addresses = []string{c.Addr().String()} // c answers where b should be
	a.SetMembers(1, []Member{misled})
	_, err := a.Call(within(t), b.ID(), "echo", nil)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "has the key of") {
		t.Errorf("another node at the address: %v", err)
	}
}

// inviter answers joins as a cluster would: each token once, bound to the key.
type inviter struct {
	mu   sync.Mutex
	used map[string]ID
}

func (i *inviter) join(_ context.Context, key ed25519.PublicKey, request []byte) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	by, ok := i.used[string(request)]
	switch {
	case string(request) == "old":
		return nil, ErrTokenExpired
	case !ok:
		return nil, ErrTokenUnknown
	case by != "" && by != Fingerprint(key):
		return nil, ErrTokenUsed
	}
	i.used[string(request)] = Fingerprint(key)
	return []byte("welcome " + Fingerprint(key)), nil
}

func testToken(n *testNode) Token {
	return Token{
		ID: "t1", Cluster: "test", Replica: "north", Secret: []byte("0123456789abcdef"),
		Addresses: []TokenAddress{{Address: n.Addr().String(), Fingerprint: n.ID()}},
		Expires:   time.Now().Add(time.Hour),
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	a := prepare(t, Config{}, newTestIdentity(t))
	i := &inviter{used: map[string]ID{"good": ""}}
	a.HandleJoin(i.join)
	a.begin(t)
	acquaint(1, a)
	token, joiner := testToken(a), newTestIdentity(t)

	for range 2 { // a retry by the same key succeeds
		reply, err := Join(within(t), token, joiner, []byte("good"))
		if err != nil || string(reply) != "welcome "+string(joiner.ID()) {
			t.Fatalf("join: %q, %v", reply, err)
		}
	}
	tests := []struct {
		name    string
		request string
		change  func(*Token)
		want    error
	}{
		{"used by another key", "good", func(*Token) {}, ErrTokenUsed},
		{"unknown", "bad", func(*Token) {}, ErrTokenUnknown},
		{"expired there", "old", func(*Token) {}, ErrTokenExpired},
		{"expired here", "good", func(k *Token) { k.Expires = time.Now().Add(-time.Second) }, ErrTokenExpired},
		{"request too large", strings.Repeat("x", maxJoinRequest+1), func(*Token) {}, ErrTooLarge},
		{"no address", "good", func(k *Token) { k.Addresses = nil }, ErrMalformedToken},
		{"other node's fingerprint", "good", func(k *Token) { k.Addresses[0].Fingerprint = joiner.ID() }, ErrUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			own := token
			own.Addresses = append([]TokenAddress(nil), token.Addresses...)
			tt.change(&own)
			if _, err := Join(within(t), own, newTestIdentity(t), []byte(tt.request)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	var refused *RefusedError
	other := token
	other.Cluster = "another"
	if _, err := Join(within(t), other, joiner, nil); !errors.As(err, &refused) || refused.Refusal != OtherCluster {
		t.Errorf("other cluster: %v", err)
	}
	got := a.Stats()
	if got.Joins != 2 || got.TokensUsed != 1 || got.TokensUnknown != 1 || got.TokensExpired != 1 {
		t.Errorf("stats %+v", got)
	}
}

func TestJoinTriesTheNextAddress(t *testing.T) {
	t.Parallel()
	a := prepare(t, Config{}, newTestIdentity(t))
	a.HandleJoin((&inviter{used: map[string]ID{"good": ""}}).join)
	a.begin(t)
	token := testToken(a)
	token.Addresses = append([]TokenAddress{{Address: a.Addr().String(), Fingerprint: newTestIdentity(t).ID()}}, token.Addresses...)
	if _, err := Join(within(t), token, newTestIdentity(t), []byte("good")); err != nil {
		t.Error(err)
	}
}

func TestJoinsAreLimited(t *testing.T) {
	t.Parallel()
	a := prepare(t, Config{}, newTestIdentity(t))
	a.HandleJoin((&inviter{}).join)
	a.begin(t)
	token, joiner := testToken(a), newTestIdentity(t)
	for range 100 {
		_, err := Join(within(t), token, joiner, nil)
		var refused *RefusedError
		if errors.As(err, &refused) && refused.Refusal == Busy {
			return
		}
	}
	t.Error("a hundred joins in a row were all answered")
}
