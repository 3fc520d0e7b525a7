package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
)

const (
	good  = "correct horse battery"
	other = "staple and a half"
)

// enter lets a person in who is invited; her password is good.
func (a *archive) enter(name string) Session {
	a.t.Helper()
	id, token := catalog.PersonID(name), api.Token{ID: name + "inv", Secret: "i"}
	kept := catalog.AccessToken{ID: token.ID, Name: "invitation", SecretHash: token.Hash(), Expires: catalog.At(time.Now().Add(time.Hour))}
	a.must(catalog.Local(a.ids["north-1"]), catalog.InvitePerson, catalog.Invitation{Token: kept,
		Person: catalog.Person{ID: id, Name: name, Mail: name + "@example.org"}})
	p, err := a.nodes["north-1"].Invited(token.String())
	if err != nil || p.Name != name {
		a.t.Fatal(p, err)
	}
	s, err := a.nodes["north-1"].Enter(a.t.Context(), token.String(), good)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.nodes["north-1"].Enter(a.t.Context(), token.String(), good); !errors.Is(err, ErrLink) {
		a.t.Errorf("an invitation twice: %v", err)
	}
	return s
}

func TestSigningInWithAPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		first := a.enter("carla")
		if a.good(first.Text) != everywhere || first.Caller.Person != "carla" || len(first.Caller.Rights) != 0 {
			t.Errorf("%+v", first)
		}
		a.must("", catalog.GiveGrant, catalog.Giving{Person: "carla", Role: catalog.RoleCurator})
		a.down = true
		for _, who := range []string{"carla", "carla@example.org", "CARLA@example.org", " carla@example.org "} {
			s, err := a.nodes["south-1"].Password(t.Context(), who, good, "192.0.2.1")
			if err != nil || a.good(s.Text) != everywhere || s.Caller.Actor != "person:carla" || len(s.Caller.Rights) != 1 {
				t.Errorf("%s: %+v %v", who, s, err)
			}
		}
		for name, try := range map[string][2]string{"wrong": {"carla", other}, "empty": {"carla", ""}, "nobody": {"nobody", good}, "no name": {"", good},
			"without a password": {"anna", good}, "and she has none": {"anna", ""}, "long": {"carla", strings.Repeat("x", maxPassword+1)}, "cut": {"carla", good[:len(good)-1]}} {
			if s, err := a.nodes["north-1"].Password(t.Context(), try[0], try[1], "192.0.2."+name); !errors.Is(err, ErrPassword) {
				t.Errorf("%s: %+v %v", name, s, err)
			}
		}
		a.down = false
		a.must("", catalog.DisablePerson, catalog.PersonRef{ID: "carla"})
		if _, err := a.nodes["north-1"].Password(t.Context(), "carla", good, "192.0.2.9"); !errors.Is(err, ErrPassword) {
			t.Errorf("a disabled person signs in: %v", err)
		}
	})
}

// Another password ends the sessions that are there, and takes the one of now.
func TestChoosingAPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		n := a.nodes["north-1"]
		first := a.enter("carla")
		choose := func(s Session, old, chosen string) (Session, error) {
			return n.Choose(t.Context(), s.Text, old, chosen, "192.0.2.1")
		}
		for name, tt := range map[string]struct {
			old, chosen string
			want        error
		}{
			"a wrong old one": {other, other, ErrPassword}, "no old one": {"", other, ErrPassword}, "short": {good, "short", ErrWeak},
			"her name": {good, "carla", ErrWeak}, "her address": {good, "Carla@Example.org", ErrWeak}, "six letters": {good, strings.Repeat("o\u0308", 6), ErrWeak}, "not text": {good, strings.Repeat("\xff", 20), ErrWeak},
			"without end": {good, strings.Repeat("x", maxPassword+1), ErrWeak},
		} {
			if _, err := choose(first, tt.old, tt.chosen); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		second, err := choose(first, good, other)
		if err != nil || a.good(first.Text) != nowhere || a.good(second.Text) != everywhere {
			t.Errorf("the old session is good: %v, the new one: %v; %v", a.good(first.Text), a.good(second.Text), err)
		}
		if _, err := n.Password(t.Context(), "carla", good, "192.0.2.2"); !errors.Is(err, ErrPassword) {
			t.Errorf("the old password: %v", err)
		}
		if _, err := n.Password(t.Context(), "carla", other, "192.0.2.3"); err != nil {
			t.Errorf("the new password: %v", err)
		}
		byToken := a.signIn("anna") // who has none yet
		if _, err := choose(byToken, "", good); err != nil {
			t.Error(err)
		}
		if _, err := choose(a.signIn(api.LocalID), "", good); err == nil {
			t.Error("a node's own token has a password")
		}
	})
}

// Whoever guesses has few tries, whatever the account; who knows the password gets in from elsewhere.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all tries
		now := time.Now()
		guess := func(n int, account string, from func(i int) string, pause time.Duration) (allowed int) {
			for i := range n {
				if all.allow(now, account, from(i)) {
					allowed++
				}
				now = now.Add(pause)
			}
			return allowed
		}
		one := func(int) string { return "192.0.2.1" }
		if n := guess(10_000, "anna", one, 0); n != triesOfPair {
			t.Errorf("%d guesses from one address", n)
		}
		if !all.allow(now, "anna", "192.0.2.2") {
			t.Error("a guesser keeps a person out of her account from everywhere")
		}
		many := func(i int) string { return fmt.Sprint("198.51.100.", i) }
		if n := guess(10_000, "berta", many, 0); n != triesOfAccount {
			t.Errorf("%d guesses from many addresses", n)
		}
		if n := guess(24*60*6, "berta", many, 10*time.Second); n > 24*60+triesOfAccount {
			t.Errorf("%d guesses in a day", n)
		}
		for all.allow(now, "berta", "192.0.2.99") || all.allow(now, "berta", "192.0.2.98") { // until none is left
		}
		spray := 0
		for i := range 10_000 {
			if all.allow(now, fmt.Sprint("p", i), "203.0.113.1") {
				spray++
			}
		}
		if spray != triesOfAddress {
			t.Errorf("%d guesses at many accounts from one address", spray)
		}
		for i := range 3 * maxTries {
			all.allow(now, "", fmt.Sprint("flood", i))
		}
		if len(all.addresses) > maxTries+2 {
			t.Errorf("%d addresses are remembered", len(all.addresses))
		}
		if all.allow(now, "berta", "192.0.2.77") {
			t.Error("a flood of addresses lets guesses at an account begin again")
		}
	})
}

func TestWrongPasswordsAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.enter("carla")
		n := a.nodes["north-1"]
		for i := range triesOfPair {
			if _, err := n.Password(t.Context(), "carla", other, "192.0.2.1"); !errors.Is(err, ErrPassword) {
				t.Errorf("try %d: %v", i, err)
			}
		}
		if _, err := n.Password(t.Context(), "carla", good, "192.0.2.1"); !errors.Is(err, ErrSlow) {
			t.Errorf("after the last try: %v", err)
		}
		time.Sleep(gapOfPair)
		for range 3 * triesOfPair { // right ones cost nothing
			if _, err := n.Password(t.Context(), "carla", good, "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestHashes(t *testing.T) {
	t.Parallel()
	h := newHashing()
	kept, err := h.hash(t.Context(), "Ångström-Messung") // as one keyboard writes it
	if err != nil || len(kept) > 200 || !strings.HasPrefix(kept, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Fatal(kept, err)
	}
	for text, want := range map[string]bool{"Ångström-Messung": true, "A\u030angstro\u0308m-Messung": true, "Angstrom-Messung": false, "": false} {
		if got, err := h.proves(t.Context(), text, kept); err != nil || got != want {
			t.Errorf("%q: %t %v", text, got, err)
		}
	}
	for _, wrong := range []string{"", head, head + "AAAA$AAAA", kept[:len(kept)-1], kept + "A", strings.Replace(kept, "t=3", "t=1", 1)} {
		if got, err := h.proves(t.Context(), "Ångström-Messung", wrong); err != nil || got {
			t.Errorf("%q proves it: %v", wrong, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range maxHashing {
		h.slots <- struct{}{}
	}
	for range maxHashing + maxWaiting {
		h.all <- struct{}{}
	}
	if _, err := h.proves(t.Context(), "x", kept); !errors.Is(err, ErrSlow) {
		t.Errorf("more wait than may: %v", err)
	}
	<-h.all
	cancel()
	if _, err := h.proves(ctx, "x", kept); !errors.Is(err, context.Canceled) {
		t.Errorf("it waits although nobody does: %v", err)
	}
}

// A try that was not looked at, since too many wait, is none.
func TestTooManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		n := a.nodes["north-1"]
		for range maxHashing + maxWaiting {
			n.hashing.all <- struct{}{}
		}
		for range 2 * triesOfPair {
			if _, err := n.Password(t.Context(), "anna", good, "192.0.2.1"); !errors.Is(err, ErrSlow) {
				t.Fatal(err)
			}
		}
		<-n.hashing.all
		if _, err := n.Password(t.Context(), "anna", good, "192.0.2.1"); !errors.Is(err, ErrPassword) {
			t.Errorf("when one can wait again: %v", err)
		}
	})
}

// BenchmarkPassword is the time of one look at a password, and what it takes of memory.
func BenchmarkPassword(b *testing.B) {
	h := newHashing()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.proves(b.Context(), good, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// Who guesses does not learn which names there are: those that nobody has are slowed down in the same way.
func TestSlowingDownTellsNoNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		n := a.nodes["north-1"]
		for name, from := range map[string]func(i int) string{
			"one address":    func(int) string { return "192.0.2.1" },
			"many addresses": func(i int) string { return fmt.Sprint("198.51.100.", i) },
		} {
			left := map[string]int{}
			for who, p := range map[string]catalog.Person{"anna": {ID: "anna"}, "nobody": {}} {
				time.Sleep(time.Hour)
				for left[who] < 1000 && n.tries.allow(time.Now(), accountOf(p, who), from(left[who])) {
					left[who]++
				}
				_, err := n.Password(t.Context(), strings.ToUpper(who), "", from(left[who]))
				if who == "nobody" && !errors.Is(err, ErrSlow) {
					t.Errorf("%s: in capitals it is another name: %v", name, err)
				}
			}
			if left["anna"] == 0 || left["anna"] != left["nobody"] {
				t.Errorf("%s: %v tries are left", name, left)
			}
		}
	})
}

// A session of an access token with limits does not become one without them by choosing the first password.
func TestALimitedTokenChoosesNoFirstPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		anna := catalog.PersonID("anna").Actor()
		making := func(id string, role catalog.Role, expires catalog.Time) {
			t.Helper()
			token := catalog.AccessToken{ID: id, Name: id, SecretHash: api.Token{Secret: id}.Hash(), Role: role, Expires: expires}
			a.must(anna, catalog.MakeToken, catalog.TokenMaking{Token: token, Owner: "anna"})
		}
		making("looks", catalog.RoleReader, 0)
		making("soon", catalog.RoleCurator, catalog.At(time.Now().Add(time.Hour)))
		n := a.nodes["north-1"]
		for _, token := range []string{"looks", "soon"} {
			if _, err := n.Choose(t.Context(), a.signIn(token).Text, "", good, "192.0.2.1"); !errors.Is(err, ErrLimited) {
				t.Errorf("%s: %v", token, err)
			}
		}
		if _, err := n.Password(t.Context(), "anna", good, "192.0.2.1"); !errors.Is(err, ErrPassword) {
			t.Errorf("she has a password: %v", err)
		}
		s, err := n.Choose(t.Context(), a.signIn("anna").Text, "", good, "192.0.2.1")
		if err != nil || a.good(s.Text) != everywhere {
			t.Error(err)
		}
		if _, err := n.Choose(t.Context(), a.signIn("looks").Text, good, other, "192.0.2.1"); err != nil {
			t.Errorf("she knows the one that she has: %v", err)
		}
	})
}
