package node

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/peer"
)

// TestATokenIsUsedUpByNewMembersOnly lets a member join by mistake, and then others with tokens that are good for
// nothing, which are counted by what is wrong with them.
func TestATokenIsUsedUpByNewMembersOnly(t *testing.T) {
	ports := freeUDP(t, 3)
	f, err := ParseConfig("cluster.toml", fmt.Sprintf(threeNodes, t.TempDir(), ports[0], ports[1], ports[2])+
		"[[node]]\nname = \"third-2\"\nreplica = \"third\"\n")
	if err != nil {
		t.Fatal(err)
	}
	cfgs := map[string]Config{}
	for _, name := range f.NodeNames() {
		if cfgs[name], err = f.Node(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Init(t.Context(), cfgs["north-1"], slogOf(t)); err != nil {
		t.Fatal(err)
	}
	first := start(t, cfgs["north-1"])
	if err := joinBy(t, first, cfgs["third-1"]); err != nil {
		t.Fatal(err)
	}
	text, kept, err := invites{first.Node}.Create(t.Context(), "third", time.Hour, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), cfgs["third-1"], text, slogOf(t)); !errors.Is(err, ErrFounded) {
		t.Errorf("a member joins: %v", err)
	}
	if err := first.raft.View(func(v catalog.View) (err error) { kept, err = v.JoinToken(kept.ID); return err }); err != nil || kept.UsedBy != "" {
		t.Errorf("the token: %+v, %v", kept, err)
	}
	altered := func(change func(*peer.Token)) string {
		token, err := peer.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		change(&token)
		return token.Encode()
	}
	for _, bad := range []string{altered(func(k *peer.Token) { k.Secret[0]++ }), altered(func(k *peer.Token) { k.ID = "0123456789ab" })} {
		if _, err := Join(t.Context(), cfgs["third-2"], bad, slogOf(t)); !errors.Is(err, ErrRefused) {
			t.Errorf("an unknown token: %v", err)
		}
	}
	if _, err := Join(t.Context(), cfgs["third-2"], text, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	cfg := cfgs["third-2"]
	cfg.Data = t.TempDir()
	if _, err := Join(t.Context(), cfg, text, slogOf(t)); !errors.Is(err, ErrRefused) {
		t.Errorf("a used token: %v", err)
	}
	text, _, err = invites{first.Node}.Create(t.Context(), "third", time.Second, "test")
	if err != nil {
		t.Fatal(err)
	}
	bad := altered(func(k *peer.Token) { k.Expires = time.Now().Add(time.Hour) })
	eventually(t, "the token expires", func() error {
		err := first.raft.View(func(v catalog.View) (err error) {
			token, err := peer.ParseToken(bad)
			if err == nil {
				kept, err = v.JoinToken(token.ID)
			}
			return err
		})
		if err == nil && kept.Expires > catalog.At(time.Now()) {
			err = errors.New("not yet")
		}
		return err
	})
	if _, err := Join(t.Context(), cfg, bad, slogOf(t)); !errors.Is(err, ErrRefused) {
		t.Errorf("an expired token: %v", err)
	}
	if s := first.peer.Stats(); s.TokensUnknown != 2 || s.TokensUsed != 1 || s.TokensExpired != 1 {
		t.Errorf("counted %+v", s)
	}
}
