package session

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// Nobody is told that she is signed out everywhere before that is so, however often she asks.
func TestAskingTwiceToSignOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s, north := a.signIn("anna"), a.nodes["north-1"]
		a.down = true
		for range 2 {
			if err := north.End(t.Context(), s.Text); err == nil {
				t.Error("the end is agreed although nobody decides")
			}
		}
		a.down = false
		if err := north.End(t.Context(), s.Text); err != nil || a.good(s.Text) != nowhere {
			t.Errorf("%v, good on %v", err, a.good(s.Text))
		}
		a.down = true
		if err := north.End(t.Context(), s.Text); err != nil {
			t.Errorf("it has ended everywhere: %v", err)
		}
	})
}

// What one node takes for worth nothing may be good on another: signing out ends it there, too.
func TestSigningOutWhereTheSessionIsWorthNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		local := a.signIn(api.LocalID)
		if a.good(local.Text) != [2]bool{true, false} {
			t.Fatal("south-1 takes the session of another node's token")
		}
		a.end("south-1", local)
		if a.good(local.Text) != nowhere {
			t.Error("she is told that she is signed out, and the session is good")
		}
		c, _, _, err := parse(a.signIn("anna").Text)
		if err != nil {
			t.Fatal(err)
		}
		c.Standing = "of a grant that south-1 has not heard of"
		text, err := a.nodes["north-1"].seal(founded, c)
		if err != nil {
			t.Fatal(err)
		}
		a.end("south-1", Session{Text: text})
		ended := false
		err = a.View(func(v catalog.View) (err error) {
			ended, err = catalog.PeopleIn(v).SessionEnded(c.Owner, c.ID)
			return err
		})
		if err != nil || !ended {
			t.Errorf("a node with an older state ends nothing: %v", err)
		}
	})
}

// Who has lost every right, or is disabled, signs out like others, also where the leader is another node.
func TestSigningOutWithoutRights(t *testing.T) {
	for name, lose := range map[string]func(a *archive){
		"no grant":    func(a *archive) { a.must("", catalog.EndGrant, catalog.Ending{Person: "anna", ID: 1}) },
		"is disabled": func(a *archive) { a.must("", catalog.DisablePerson, catalog.PersonRef{ID: "anna"}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				before := a.signIn("anna")
				lose(a)
				var after Session
				if name == "no grant" {
					after = a.signIn("anna")
				}
				a.vouch = true
				a.end("north-1", before)
				if name == "no grant" {
					a.end("north-1", after)
				}
				if a.good(before.Text) != nowhere || a.good(after.Text) != nowhere || len(a.nodes["north-1"].pending.all()) != 0 {
					t.Errorf("before %v, after %v, pending %d", a.good(before.Text), a.good(after.Text), len(a.nodes["north-1"].pending.all()))
				}
			})
		})
	}
}

// A session ends with the node that began it, also when another one has renewed it.
func TestRenewalDoesNotOutliveTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s := a.renew("south-1", a.signIn("anna"))
		a.must("", catalog.RemoveMember, catalog.MemberRemoval{ID: a.ids["north-1"], Lost: true})
		if a.good(s.Text) != nowhere {
			t.Error("it is good after north-1 was removed")
		}
	})
}

// No node makes a session that others renew for longer than a week, by saying that it begins later.
func TestSessionsDoNotBeginLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		c, _, _, err := parse(a.signIn("anna").Text)
		if err != nil {
			t.Fatal(err)
		}
		for ahead, want := range map[catalog.Time]error{early: nil, early + 1: ErrEnded, 100 * people.SessionMost: ErrEnded} {
			later := c
			later.Began = catalog.At(time.Now()) + ahead
			text, err := a.nodes["north-1"].seal(founded, later)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.nodes["south-1"].Renew(text); !errors.Is(err, want) {
				t.Errorf("%v ahead: %v, want %v", ahead, err, want)
			}
		}
	})
}

// A node whose clock is wrong, or that does not know the member yet that signed a session, does not say that it ended.
func TestSigningOutWhereTooLittleIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s, south := a.signIn("anna"), a.nodes["south-1"]
		for name, off := range map[string]time.Duration{"behind": -48 * time.Hour, "ahead": 48 * time.Hour} {
			s := a.signIn("anna")
			south.cfg.Now = func() time.Time { return time.Now().Add(off) }
			a.end("south-1", s)
			south.cfg.Now = time.Now
			if a.good(s.Text) != nowhere {
				t.Errorf("a clock that is %s: she is told that she is signed out, and the session is good", name)
			}
		}
		c, _, _, err := parse(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		c.Node, c.Begun = "a member that south-1 has not heard of", "a member that south-1 has not heard of"
		text, err := a.nodes["north-1"].seal(founded, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := south.End(t.Context(), text); err == nil {
			t.Error("a node says that a session has ended that it knows nothing of")
		}
	})
}
