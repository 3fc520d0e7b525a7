package session

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
	"holdfast/internal/kv/memory"
)

// archive is a cluster of two nodes, in memory.
type archive struct {
	t     *testing.T
	mu    sync.Mutex
	state memory.Tx
	index uint64
	down  bool // nobody decides
	vouch bool // what is proposed is forwarded by north-1 to a leader that vouches
	keys  map[string]ed25519.PrivateKey
	ids   map[string]catalog.NodeID
	nodes map[string]*Sessions
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	a := &archive{t: t, keys: map[string]ed25519.PrivateKey{}, ids: map[string]catalog.NodeID{}, nodes: map[string]*Sessions{}}
	var members []catalog.Member
	for i, name := range []string{"north-1", "south-1"} {
		key := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+i)), 32)))
		public := key.Public().(ed25519.PublicKey)
		a.keys[name], a.ids[name] = key, catalog.Fingerprint(public)
		members = append(members, catalog.Member{ID: a.ids[name], Name: name, Key: public, Replica: "north", Level: catalog.Level,
			Local: api.Token{Secret: "local of " + name}.Hash()})
		a.nodes[name] = New(Config{Self: a.ids[name], Key: key, View: a.View, Local: a.local, Propose: a.propose, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)})
	}
	a.must("", catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "test", Epoch: 1, Level: catalog.Level},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}}, Member: members[0]})
	join := catalog.JoinToken{ID: "j", SecretHash: api.Token{Secret: "s"}.Hash(), Replica: "north", Expires: catalog.At(time.Now().Add(time.Hour))}
	a.must("", catalog.CreateToken, join)
	a.must("", catalog.JoinMember, catalog.Joining{Token: "j", Secret: []byte("s"), Member: members[1]})
	a.person("anna", catalog.RoleCurator)
	return a
}

func (a *archive) View(see func(catalog.View) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return see(catalog.NewView(&a.state))
}

func (a *archive) local(v catalog.View, id catalog.NodeID) (catalog.AccessToken, error) {
	m, err := v.Member(id)
	return catalog.AccessToken{ID: api.LocalID, Name: "local:" + m.Name, Role: catalog.RoleAdmin, SecretHash: m.Local}, err
}

func (a *archive) propose(_ context.Context, kind catalog.Kind, body any, actor string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return errors.New("nobody decides")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a.index++
	c := catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: actor, Body: text}
	if actor == string(a.ids["north-1"]) {
		c.Node, c.Boot, c.Seq = a.ids["north-1"], 1, a.index
	}
	if a.vouch {
		if err := catalog.PeopleIn(catalog.NewView(&a.state)).Vouch(a.ids["north-1"], &c, catalog.RoleAdmin, c.At); err != nil {
			return err
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	r, err := catalog.Apply(&a.state, a.index, data)
	if err == nil && r.Refusal != nil {
		err = r.Refusal
	}
	return err
}

func (a *archive) must(actor string, kind catalog.Kind, body any) {
	a.t.Helper()
	if err := a.propose(a.t.Context(), kind, body, actor); err != nil {
		a.t.Fatalf("%s: %v", kind, err)
	}
}

// person makes an active person, whose access token has her name.
func (a *archive) person(name string, role catalog.Role) {
	a.t.Helper()
	id, local := catalog.PersonID(name), catalog.Local(a.ids["north-1"])
	token := catalog.AccessToken{ID: name + "-inv", Name: "invitation", SecretHash: api.Token{Secret: "i"}.Hash(), Role: catalog.RoleReader,
		Expires: catalog.At(time.Now().Add(time.Hour))}
	a.must(local, catalog.InvitePerson, catalog.Invitation{Person: catalog.Person{ID: id, Name: name, Mail: name + "@example.org",
		Zone: "Europe/Rome"}, Token: token})
	own := catalog.AccessToken{ID: name, Name: "first", SecretHash: api.Token{Secret: name}.Hash(), Role: catalog.RoleAdmin}
	a.must(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: token.ID, Token: own})
	a.must(local, catalog.GiveGrant, catalog.Giving{Person: id, Role: role})
}

// caller is who holds the access token.
func (a *archive) caller(token string) (who catalog.Caller) {
	a.t.Helper()
	err := a.View(func(v catalog.View) error {
		kept, err := v.AccessToken(token)
		if err == nil {
			who, err = catalog.PeopleIn(v).Caller(kept, catalog.At(time.Now()))
		}
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return who
}

// signIn begins a session at north-1 with the access token.
func (a *archive) signIn(token string) Session {
	a.t.Helper()
	who := catalog.Caller{Actor: catalog.Local(a.ids["north-1"]), Program: true}
	if token != api.LocalID {
		who = a.caller(token)
	}
	secret, _, err := a.nodes["north-1"].Link(who, token)
	if err != nil {
		a.t.Fatal(err)
	}
	s, err := a.nodes["north-1"].Open(secret)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// good reports whether each node takes the session, from its own pages.
func (a *archive) good(text string) (out [2]bool) {
	a.t.Helper()
	for i, name := range []string{"north-1", "south-1"} {
		_, err := a.nodes[name].Caller(text)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			a.t.Fatal(err)
		}
		out[i] = err == nil
	}
	return out
}

// founded is the cluster, as far as sessions depend on it.
var founded = catalog.Cluster{ID: "c", Epoch: 1}

var (
	everywhere = [2]bool{true, true}
	nowhere    = [2]bool{}
)

func TestASessionHoldsOnEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s := a.signIn("anna")
		if s.Caller.Name != "anna" || s.Caller.Person != "anna" || s.Zone != "Europe/Rome" ||
			catalog.May(s.Caller.Rights, catalog.RunJob, catalog.Where{Collections: []catalog.CollectionName{"x"}}) != nil {
			t.Errorf("%+v", s)
		}
		if until := time.Until(s.Expires); until != 12*time.Hour {
			t.Errorf("it lasts %v", until)
		}
		if a.good(s.Text) != everywhere {
			t.Error("another node does not take it")
		}
		a.down = true // no quorum
		again := a.signIn("anna")
		if a.good(again.Text) != everywhere || again.Text == s.Text {
			t.Error("without a quorum nobody signs in")
		}
		time.Sleep(12*time.Hour - time.Second)
		if a.good(s.Text) != everywhere {
			t.Error("it ends early")
		}
		time.Sleep(time.Second)
		if a.good(s.Text) != nowhere {
			t.Error("it does not end")
		}
	})
}

// Whatever takes a person's right away ends her sessions, on every node.
func TestWhatEndsASession(t *testing.T) {
	for name, do := range map[string]func(a *archive, s Session){
		"nothing":         func(*archive, Session) {},
		"she is disabled": func(a *archive, _ Session) { a.must("", catalog.DisablePerson, catalog.PersonRef{ID: "anna"}) },
		"another grant": func(a *archive, _ Session) {
			a.must("", catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleAdmin})
		},
		"a grant ends":   func(a *archive, _ Session) { a.must("", catalog.EndGrant, catalog.Ending{Person: "anna", ID: 1}) },
		"the token goes": func(a *archive, _ Session) { a.must("", catalog.RevokeAccess, catalog.Named{ID: "anna"}) },
		"the node goes": func(a *archive, _ Session) {
			a.must("", catalog.RemoveMember, catalog.MemberRemoval{ID: a.ids["north-1"], Lost: true})
		},
		"she signs out":    func(a *archive, s Session) { a.end("north-1", s) },
		"out elsewhere":    func(a *archive, s Session) { a.end("south-1", s) },
		"out of a renewed": func(a *archive, s Session) { time.Sleep(time.Hour); a.end("south-1", a.renew("south-1", s)) },
		"the cluster is recovered": func(a *archive, _ Session) {
			a.must("", catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "a lost majority"})
		},
		"all end": func(a *archive, s Session) {
			a.must(s.Caller.Actor, people.EndSession, people.SessionEnd{Owner: s.Caller.Actor})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newArchive(t)
				a.person("berta", catalog.RoleAdmin)
				s, other := a.signIn("anna"), a.signIn("berta")
				do(a, s)
				want := nowhere
				if name == "nothing" {
					want = everywhere
				}
				if got := a.good(s.Text); got != want {
					t.Errorf("the session is good: %v, want %v", got, want)
				}
				if got := a.good(other.Text); (got == everywhere) != (name != "the node goes" && name != "the cluster is recovered") {
					t.Errorf("another's session is good: %v", got)
				}
				if name == "the token goes" || name == "she is disabled" || name == "the node goes" {
					return
				}
				if a.good(a.signIn("anna").Text) != everywhere {
					t.Error("she cannot sign in again")
				}
			})
		})
	}
}

func (a *archive) end(node string, s Session) {
	a.t.Helper()
	if err := a.nodes[node].End(a.t.Context(), s.Text); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) renew(node string, s Session) Session {
	a.t.Helper()
	s, err := a.nodes[node].Renew(s.Text)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// Nobody makes a session of what is not one, and no session is worth more than what it began with.
func TestForgedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.person("berta", catalog.RoleAdmin)
		s := a.signIn("anna")
		c, _, _, err := parse(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		stranger := New(Config{Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("z", 32)))})
		forged := func(as *Sessions, cluster catalog.Cluster, change func(c *content)) string {
			d := c
			change(&d)
			text, err := as.seal(cluster, d)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		own := a.nodes["north-1"]
		if a.good(forged(own, founded, func(*content) {})) != everywhere {
			t.Fatal("what this test forges is not taken for other reasons")
		}
		for name, text := range map[string]string{
			"empty":            "",
			"no content":       api.SessionPrefix,
			"no signature":     strings.SplitAfter(s.Text, ".")[0],
			"cut":              s.Text[:len(s.Text)-1],
			"more":             s.Text + "A",
			"two":              s.Text + "." + s.Text,
			"long":             s.Text + strings.Repeat("A", 1<<20),
			"padded":           s.Text + "=",
			"an access token":  "holdfast-anna-anna",
			"by a stranger":    forged(stranger, founded, func(*content) {}),
			"another cluster":  forged(own, catalog.Cluster{ID: "d", Epoch: 1}, func(*content) {}),
			"of an epoch ago":  forged(own, catalog.Cluster{ID: "c"}, func(*content) {}),
			"of another node":  forged(own, founded, func(c *content) { c.Node = a.ids["south-1"] }),
			"of no node":       forged(own, founded, func(c *content) { c.Node = "" }),
			"another owner":    forged(own, founded, func(c *content) { c.Owner = catalog.PersonID("berta").Actor() }),
			"another token":    forged(own, founded, func(c *content) { c.Token = "berta" }),
			"an invitation":    forged(own, founded, func(c *content) { c.Token = "anna-inv" }),
			"unknown token":    forged(own, founded, func(c *content) { c.Token = "nobody" }),
			"of no standing":   forged(own, founded, func(c *content) { c.Standing = "" }),
			"longer than any":  forged(own, founded, func(c *content) { c.Expires += 2 * catalog.Day }),
			"an earlier one":   forged(own, founded, func(c *content) { c.Began -= people.SessionMost }),
			"expired":          forged(own, founded, func(c *content) { c.Expires = catalog.At(time.Now()) }),
			"of the own token": forged(own, founded, func(c *content) { c.Token = api.LocalID }),
			"without an id":    forged(own, founded, func(c *content) { c.ID = "" }),
		} {
			if a.good(text) != nowhere {
				t.Errorf("%s: it is taken", name)
			}
		}
	})
}

// What the node's own token is worth, it is worth on that node, and in what that node asks others.
func TestASessionOfTheNodesOwnToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s := a.signIn(api.LocalID)
		if a.good(s.Text) != [2]bool{true, false} {
			t.Errorf("%v", a.good(s.Text))
		}
		who, err := a.nodes["south-1"].Of(a.ids["north-1"], s.Text)
		if err != nil || who.Actor != catalog.Local(a.ids["north-1"]) || who.Role != catalog.RoleAdmin {
			t.Errorf("%+v %v", who, err)
		}
		again := api.Token{Secret: "a new one"}.Hash()
		a.must(string(a.ids["north-1"]), catalog.UpdateMember, catalog.MemberChange{ID: a.ids["north-1"], Local: &again})
		if a.good(s.Text) != nowhere {
			t.Error("it is good although the node has another token")
		}
	})
}

// A session that is renewed again and again ends after a week.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		began := time.Now()
		s := a.signIn("anna")
		for time.Since(began) < 7*24*time.Hour-6*time.Hour {
			time.Sleep(5 * time.Hour)
			s = a.renew([]string{"north-1", "south-1"}[int(time.Since(began).Hours())%2], s)
		}
		if end := began.Add(7 * 24 * time.Hour); !s.Expires.Equal(end) {
			t.Errorf("it ends %v, want %v", s.Expires, end)
		}
		time.Sleep(time.Until(s.Expires))
		if _, err := a.nodes["north-1"].Renew(s.Text); !errors.Is(err, ErrEnded) || a.good(s.Text) != nowhere {
			t.Errorf("it goes on: %v", err)
		}
	})
}

// Who signs out without a quorum is out here at once, and everywhere once there is one.
func TestSigningOutWithoutAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		s := a.signIn("anna")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.nodes["north-1"].Run(ctx) }()
		a.down = true
		if err := a.nodes["north-1"].End(t.Context(), s.Text); err == nil {
			t.Error("the end is agreed although nobody decides")
		}
		if got := a.good(s.Text); got != [2]bool{false, true} {
			t.Errorf("good on the two nodes: %v", got)
		}
		if _, err := a.nodes["north-1"].Renew(s.Text); !errors.Is(err, ErrEnded) {
			t.Errorf("it is renewed: %v", err)
		}
		time.Sleep(time.Minute)
		a.mu.Lock()
		a.down = false
		a.mu.Unlock()
		time.Sleep(endAgain + time.Second)
		if a.good(s.Text) != nowhere {
			t.Error("another node never learns of it")
		}
		if n := len(a.nodes["north-1"].pending.all()); n != 0 {
			t.Errorf("%d ends are kept that everybody knows", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		n := a.nodes["north-1"]
		link := func() string {
			t.Helper()
			secret, expires, err := n.Link(a.caller("anna"), "anna")
			if err != nil || time.Until(expires) != LinkLife {
				t.Fatal(expires, err)
			}
			return secret
		}
		once := link()
		if _, err := n.Open(once); err != nil {
			t.Error(err)
		}
		late, gone := link(), link()
		for name, secret := range map[string]string{"used": once, "empty": "", "made up": strings.Repeat("a", 32)} {
			if _, err := n.Open(secret); !errors.Is(err, ErrLink) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := a.nodes["south-1"].Open(gone); !errors.Is(err, ErrLink) {
			t.Errorf("at another node: %v", err)
		}
		time.Sleep(LinkLife)
		if _, err := n.Open(late); !errors.Is(err, ErrLink) {
			t.Errorf("too late: %v", err)
		}
		for range maxLinksOf {
			gone = link()
		}
		if _, _, err := n.Link(a.caller("anna"), "anna"); err == nil {
			t.Error("there is no end of links")
		}
		if _, _, err := n.Link(catalog.Caller{Actor: catalog.Local(n.cfg.Self), Program: true}, api.LocalID); err != nil {
			t.Errorf("one person's links keep others out: %v", err)
		}
		a.must("", catalog.RevokeAccess, catalog.Named{ID: "anna"})
		if _, err := n.Open(gone); !errors.Is(err, ErrLink) {
			t.Errorf("of a token that is revoked: %v", err)
		}
		program := catalog.Caller{Actor: catalog.Program("p"), Program: true}
		if _, _, err := n.Link(program, "p"); err == nil {
			t.Error("a program signs in")
		}
	})
}
