//go:build slow

package node

import (
	"errors"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/membership"
	"holdfast/peer"
)

// TestATokenIsUsedUpByNewMembersOnly lets a member join by mistake, and then others with tokens that are good for
// nothing, which are counted by what is wrong with them.
func TestATokenIsUsedUpByNewMembersOnly(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "[[node]]\nname = \"third-2\"\nreplica = \"third\"\n")
	first := startNodes(t, cfgs[:1])[0]
	if err := joinBy(t, first, cfgs[2]); err != nil {
		t.Fatal(err)
	}
	text, kept, err := first.invites().Create(t.Context(), "third", time.Hour, catalog.Local(first.id))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), cfgs[2], text, slogOf(t)); !errors.Is(err, membership.ErrFounded) {
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
		if _, err := Join(t.Context(), cfgs[3], bad, slogOf(t)); !errors.Is(err, membership.ErrRefused) {
			t.Errorf("an unknown token: %v", err)
		}
	}
	if _, err := Join(t.Context(), cfgs[3], text, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	cfg := cfgs[3]
	cfg.Data = t.TempDir()
	if _, err := Join(t.Context(), cfg, text, slogOf(t)); !errors.Is(err, membership.ErrRefused) {
		t.Errorf("a used token: %v", err)
	}
	text, _, err = first.invites().Create(t.Context(), "third", time.Second, catalog.Local(first.id))
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
	if _, err := Join(t.Context(), cfg, bad, slogOf(t)); !errors.Is(err, membership.ErrRefused) {
		t.Errorf("an expired token: %v", err)
	}
	if s := first.peer.Stats(); s.TokensUnknown != 2 || s.TokensUsed != 1 || s.TokensExpired != 1 {
		t.Errorf("counted %+v", s)
	}
}
