package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// says is a message of the service.
func says(subject, session string, message int) Logout {
	return Logout{Issuer: idp, Subject: subject, Session: session, Message: fmt.Sprint(message), Until: time.Now().Add(2 * time.Minute)}
}

// carla has sessions of two sessions at the service, one of which the service did not say with which, and one of a
// password.
func carla(t *testing.T, a *archive) (first, second, unnamed, password Session) {
	t.Helper()
	named := func(session, invitation string) Session {
		p := proof("c", curates)
		p.Session = session
		s, err := a.identified(p, invitation)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a.person("berta", catalog.RoleAdmin)
	first, second, unnamed = named("s1", a.invite("carla")), named("s2", ""), named("", "")
	password, err := a.nodes["north-1"].begin(catalog.Caller{Actor: "person:carla"}, byPassword)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Session{first, second, unnamed, password} {
		if a.good(s.Text) != everywhere {
			t.Fatal("a session does not begin")
		}
	}
	return first, second, unnamed, password
}

// A session of the service ends what began with it, on every node, whichever node is told.
func TestAServiceEndsASession(t *testing.T) {
	for name, subject := range map[string]string{"with a subject": "c", "without one": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				a.vouch = true
				first, second, unnamed, password := carla(t, a)
				renewed := a.renew("south-1", first)
				anna := a.signIn("anna")
				if err := a.nodes["north-1"].EndAtService(t.Context(), says(subject, "s1", 1)); err != nil {
					t.Fatal(err)
				}
				if a.good(first.Text) != nowhere || a.good(renewed.Text) != nowhere {
					t.Error("the session goes on")
				}
				if a.good(second.Text) != everywhere || a.good(password.Text) != everywhere || a.good(anna.Text) != everywhere {
					t.Error("other sessions have ended")
				}
				want := everywhere // of a session that may be any, nothing is known without a subject
				if subject != "" {
					want = nowhere
				}
				if a.good(unnamed.Text) != want {
					t.Errorf("the session of which the service did not say with which it began is good on %v, want %v", a.good(unnamed.Text), want)
				}
				p := proof("c", curates)
				p.Session = "s1" // an answer of the service that is older than its message
				if s, err := a.identified(p, ""); err == nil || s.Text != "" {
					t.Error("a session begins with one that the service has ended")
				}
				p.Session = "s3"
				if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
					t.Errorf("she cannot sign in again: %v", err)
				}
			})
		})
	}
}

// Without a session of the service, all of the person end, and no others.
func TestAServiceEndsAllSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		first, second, unnamed, password := carla(t, a)
		anna := a.signIn("anna")
		message := says("c", "", 1)
		if err := a.nodes["north-1"].EndAtService(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		for _, s := range []Session{first, second, unnamed, password} {
			if a.good(s.Text) != nowhere {
				t.Error("one of her sessions goes on")
			}
		}
		if a.good(anna.Text) != everywhere {
			t.Error("another person's session has ended")
		}
		again, err := a.identified(proof("c", curates), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range []string{"north-1", "south-1"} { // whoever saw the message sends it again
			if err := a.nodes[node].EndAtService(t.Context(), message); !errors.Is(err, ErrRepeated) {
				t.Errorf("%s: %v", node, err)
			}
		}
		if a.good(again.Text) != everywhere {
			t.Error("a message ends sessions twice")
		}
		if err := a.nodes["north-1"].EndAtService(t.Context(), says("a stranger", "", 2)); err != nil {
			t.Errorf("nobody's: %v", err)
		}
		other := says("c", "", 3)
		other.Issuer = idp + ".net"
		if err := a.nodes["north-1"].EndAtService(t.Context(), other); err != nil || a.good(again.Text) != everywhere {
			t.Errorf("another service ends her session: %v", err)
		}
	})
}

// Without a quorum it is said that the other nodes do not know; this node ends the sessions at once, and the others as
// soon as the cluster can decide.
func TestAServiceEndsSessionsWithoutAQuorum(t *testing.T) {
	for name, message := range map[string]Logout{"one": says("c", "s1", 1), "all": says("c", "", 1), "one without a subject": says("", "s1", 1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				north := a.nodes["north-1"]
				go func() { _ = north.Run(t.Context()) }()
				first, second, _, password := carla(t, a)
				elsewhere := a.renew("south-1", first)
				message.Until = time.Now().Add(2 * time.Minute)
				a.down = true
				for range 2 { // the service asks again
					if err := north.EndAtService(t.Context(), message); !errors.Is(err, ErrPending) {
						t.Fatalf("it is not said: %v", err)
					}
				}
				here := [2]bool{false, true}
				if a.good(first.Text) != here || a.good(elsewhere.Text) != here {
					t.Errorf("good on %v and %v, want south-1 alone", a.good(first.Text), a.good(elsewhere.Text))
				}
				if all := message.Session == ""; all != (a.good(second.Text) == here) || all != (a.good(password.Text) == here) {
					t.Error("too much or too little has ended here")
				}
				time.Sleep(time.Second)
				p := proof("c", curates)
				p.Session = "s9"
				fresh, err := a.identified(p, "")
				if err != nil || a.good(fresh.Text) != everywhere {
					t.Errorf("what begins later has ended: %v", err)
				}
				time.Sleep(5 * time.Minute) // the message has lapsed meanwhile
				a.mu.Lock()
				a.down = false
				a.mu.Unlock()
				time.Sleep(2 * endAgain)
				synctest.Wait()
				if a.good(first.Text) != nowhere || a.good(elsewhere.Text) != nowhere || len(north.pending.all()) != 0 {
					t.Errorf("good on %v and %v, %d ends wait", a.good(first.Text), a.good(elsewhere.Text), len(north.pending.all()))
				}
			})
		})
	}
}

// A message that was decided although the node heard nothing of it is not kept for ever, and the service that asks
// again is told that it is done.
func TestALostAnswerToAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		first, _, _, _ := carla(t, a)
		north := a.nodes["north-1"]
		decide := north.cfg.Propose
		north.cfg.Propose = func(ctx context.Context, kind catalog.Kind, body any, actor string) error {
			if err := decide(ctx, kind, body, actor); err != nil {
				return err
			}
			return errors.New("the leader is lost")
		}
		if err := north.EndAtService(t.Context(), says("c", "s1", 1)); !errors.Is(err, ErrPending) {
			t.Fatal(err)
		}
		if err := north.EndAtService(t.Context(), says("c", "s1", 1)); err != nil {
			t.Errorf("it is done, and she is told: %v", err)
		}
		if a.good(first.Text) != nowhere || len(north.pending.all()) != 0 {
			t.Errorf("%v, %d wait", a.good(first.Text), len(north.pending.all()))
		}
	})
}

// What waits is bounded: then it is said.
func TestTooManyMessagesWithoutAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.down = true
		north := a.nodes["north-1"]
		for i := range maxPending {
			if err := north.EndAtService(t.Context(), says("", "s", i)); !errors.Is(err, ErrPending) {
				t.Fatal(err)
			}
		}
		if err := north.EndAtService(t.Context(), says("", "s", maxPending)); err == nil || errors.Is(err, ErrPending) {
			t.Errorf("one more is kept: %v", err)
		}
		if n := len(north.pending.all()); n != maxPending {
			t.Errorf("%d wait", n)
		}
	})
}

// A message that nobody remembers any more, as it has lapsed, is not taken by a node whose own clock is behind.
func TestALapsedMessageAtANodeThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		_, _, _, password := carla(t, a)
		message := says("c", "", 1)
		if err := a.nodes["north-1"].EndAtService(t.Context(), message); err != nil || a.good(password.Text) != nowhere {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		for i := range 3 { // others come, and what has lapsed is forgotten
			other := says("c", "", 10+i)
			if err := a.nodes["north-1"].EndAtService(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		again, err := a.identified(proof("c", curates), "")
		if err != nil {
			t.Fatal(err)
		}
		south := a.nodes["south-1"]
		south.cfg.Now = func() time.Time { return time.Now().Add(-3 * time.Hour) }
		if err := south.EndAtService(t.Context(), message); !errors.Is(err, ErrLapsed) && !errors.Is(err, ErrRepeated) {
			t.Errorf("%v", err)
		}
		fresh := says("nobody", "", 99) // that its clock takes, and the agreed one does not
		fresh.Until = time.Now().Add(-time.Minute)
		if err := south.EndAtService(t.Context(), fresh); !errors.Is(err, ErrLapsed) {
			t.Errorf("%v", err)
		}
		south.cfg.Now = time.Now
		if a.good(again.Text) != everywhere {
			t.Error("an old message ends a session")
		}
	})
}

// A sign-in that was under way when the service ended all of her sessions is over, on every node; a later one is not.
func TestASignInThatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		carla(t, a)
		before := time.Now()
		time.Sleep(2 * time.Second)
		message := says("c", "", 1)
		message.Made = time.Now().Add(-time.Second)
		if err := a.nodes["north-1"].EndAtService(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		p := proof("c", curates)
		p.Made = before
		if s, err := a.identified(p, ""); !errors.Is(err, ErrOver) || s.Text != "" {
			t.Errorf("it begins a session: %v", err)
		}
		p.Made = time.Now()
		if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
			t.Errorf("a later one: %v", err)
		}
		one := says("c", "s1", 2)
		one.Made = time.Now().Add(time.Hour)
		if err := a.nodes["north-1"].EndAtService(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		p.Session = "s7"
		if _, err := a.identified(p, ""); err != nil {
			t.Errorf("the end of one session keeps her out: %v", err)
		}
	})
}

// A message and an answer of the service have whole seconds: of two in the same one, nobody knows which came first, and the
// answer begins no session.
func TestASignInInTheSecondOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		carla(t, a)
		second := time.Now().Truncate(time.Second)
		message := says("c", "", 1)
		message.Made = second
		if err := a.nodes["north-1"].EndAtService(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		p := proof("c", curates)
		p.Made = second
		if s, err := a.identified(p, ""); !errors.Is(err, ErrOver) || s.Text != "" {
			t.Errorf("it begins a session: %v", err)
		}
		p.Made = second.Add(time.Second)
		if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
			t.Errorf("a later one: %v", err)
		}
	})
}

// A sign-in that was under way when the service ended one of her sessions may be just that one, if the service did not say
// with which it began; one of which it said that it is another goes on.
func TestANamelessSignInThatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		carla(t, a)
		before := time.Now()
		time.Sleep(2 * time.Second)
		message := says("c", "s1", 1)
		message.Made = time.Now().Add(-time.Second)
		if err := a.nodes["north-1"].EndAtService(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		p := proof("c", curates)
		p.Made = before
		if s, err := a.identified(p, ""); !errors.Is(err, ErrOver) || s.Text != "" {
			t.Errorf("it begins a session: %v", err)
		}
		for _, session := range []string{"s2", "s3"} {
			p.Session = session
			if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
				t.Errorf("%s: %v", session, err)
			}
		}
		p.Session, p.Made = "", time.Now()
		if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
			t.Errorf("a later one: %v", err)
		}
	})
}

// Without a quorum a sign-in that was under way is over on the node that knows of the end; a later one is not.
func TestASignInThatWasUnderWayWithoutAQuorum(t *testing.T) {
	for name, message := range map[string]Logout{"one": says("c", "s1", 1), "all": says("c", "", 1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				a.vouch = true
				carla(t, a)
				before := time.Now()
				time.Sleep(2 * time.Second)
				message.Made, message.Until = time.Now(), time.Now().Add(2*time.Minute)
				a.down = true
				if err := a.nodes["north-1"].EndAtService(t.Context(), message); !errors.Is(err, ErrPending) {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				p := proof("c", curates)
				p.Made = before
				if s, err := a.identified(p, ""); !errors.Is(err, ErrOver) || s.Text != "" {
					t.Errorf("it begins a session: %v", err)
				}
				p.Session = "s4"
				if _, err := a.identified(p, ""); errors.Is(err, ErrOver) != (name == "all") {
					t.Errorf("one with another session at the service: %v", err)
				}
				p.Made = time.Now()
				if s, err := a.identified(p, ""); err != nil || a.good(s.Text) != everywhere {
					t.Errorf("a later one: %v", err)
				}
				other := proof("another", curates)
				other.Made = before
				if _, err := a.identified(other, ""); errors.Is(err, ErrOver) {
					t.Error("another person's sign-in is over")
				}
			})
		})
	}
}

// The end may come while a sign-in is at its last steps here, as when her groups are agreed: it begins no session, either.
func TestTheEndComesWhileASessionBegins(t *testing.T) {
	for name, message := range map[string]Logout{"one": says("c", "s1", 1), "all": says("c", "", 1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				a.vouch = true
				carla(t, a)
				p := proof("c", curates, operates) // which is to be agreed
				p.Made = time.Now()
				time.Sleep(2 * time.Second)
				message.Made, message.Until = time.Now(), time.Now().Add(2*time.Minute)
				north, asked := a.nodes["north-1"], 0
				decide := north.cfg.Propose
				north.cfg.Propose = func(ctx context.Context, kind catalog.Kind, body any, actor string) error {
					err := decide(ctx, kind, body, actor)
					if asked++; asked == 1 {
						if ended := north.EndAtService(ctx, message); ended != nil {
							t.Error(ended)
						}
					}
					return err
				}
				if s, err := a.identified(p, ""); !errors.Is(err, ErrOver) || s.Text != "" || asked == 0 {
					t.Errorf("it begins a session that is good on %v: %v, asked %d times", a.good(s.Text), err, asked)
				}
			})
		})
	}
}
