package api

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	agreed "holdfast/catalog/jobs"
)

// crawling joins a node that crawls and has a key for secrets. It returns a box for the node.
func (b *backend) crawling(name string, seed byte) catalog.Box {
	b.t.Helper()
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
	key := private.Public().(ed25519.PublicKey)
	m := catalog.Member{ID: catalog.Fingerprint(key), Name: name, Key: key, Replica: "north", Level: catalog.Level}
	b.must(catalog.CreateToken, catalog.JoinToken{ID: name, SecretHash: sha256.Sum256([]byte("x")), Replica: "north",
		Expires: 1 << 60})
	b.must(catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("x"), Member: m})
	seal := &catalog.SealKey{Key: []byte(strings.Repeat(string(rune(seed)), 32))}
	seal.Proof = ed25519.Sign(private, catalog.SealStatement(seal.Key))
	b.says(m.ID, catalog.MemberChange{ID: m.ID, Crawls: new(true), Seal: seal})
	return catalog.Box{Node: m.ID, Key: seal.Key, Box: []byte("box")}
}

// says proposes what a node says of itself.
func (b *backend) says(node catalog.NodeID, change catalog.MemberChange) {
	b.t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index++
	cmd, err := json.Marshal(catalog.Command{Version: 1, Kind: catalog.UpdateMember, At: catalog.At(time.Now()),
		Actor: string(node), Node: node, Boot: 1, Seq: b.index, Body: body})
	if err != nil {
		b.t.Fatal(err)
	}
	if result, err := catalog.Apply(&b.state, b.index, cmd); err != nil || result.Refusal != nil {
		b.t.Fatal(result.Refusal, err)
	}
}

// TestARemovalNamesTheLoginsThatTheNodeKnows, of jobs, templates and configurations, and which of them would be lost.
func TestARemovalNamesTheLoginsThatTheNodeKnows(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	gone, stays := b.crawling("north-2", 'g'), b.crawling("north-3", 's')
	boxes := map[string][]catalog.Box{"alone": {gone}, "shared": {gone, stays}, "other": {stays}}
	if gone.Node > stays.Node {
		boxes["shared"] = []catalog.Box{stays, gone}
	}
	b.must(kept.Create, kept.Creation{Name: "a.org", Collection: "web"})
	settings, spec := `{"first_cookies":"[sealed first_cookies]"}`,
		json.RawMessage(`{"name":"j","seeds":["http://a.org/"],"settings":{"first_cookies":"[sealed first_cookies]"}}`)
	for _, who := range []string{"alone", "shared", "other"} {
		secret := func(of string) *catalog.Secret {
			return &catalog.Secret{ID: of + "-" + who, Text: []byte("x"), Boxes: boxes[who]}
		}
		b.must(defined.CreateTemplate, defined.Creation{Name: "t-" + who, Text: settings, Secret: secret("t")})
		b.must(kept.SetConfiguration, kept.Configuring{Domain: "a.org", Name: "c-" + who, Template: "t-" + who,
			Settings: &settings, Secret: secret("c")})
		b.must(catalog.CreateJob, catalog.JobCreation{Harvest: who, Collection: "web", Channel: agreed.Focused,
			Spec: spec, Secret: secret("j"), Submit: true, Seeds: 1})
	}
	err := c.Nodes().Remove(t.Context(), "north-2", wire.Removal{Lost: true, Reason: "x"})
	var asked *wire.Error
	if !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed {
		t.Fatal(err)
	}
	said := strings.Join(asked.Fields, "\n")
	for _, want := range []string{
		"template t-alone; change them at the sites; no other node can open them: give them again",
		"configuration a.org/c-alone; change them at the site; no other node can open them: give them again",
		"job 1, j; change them at the sites: first_cookies; no other node can open them: without this one",
		"template t-shared; change them at the sites\n", "configuration a.org/c-shared; change them at the site\n",
		"job 2, j; change them at the sites: first_cookies",
	} {
		if !strings.Contains(said+"\n", want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	if strings.Contains(said, "other:") || strings.Contains(said, "-other") || strings.Contains(said, "job 3") ||
		strings.Count(said, "no other node can open") != 3 {
		t.Errorf("it is said to know more than it does:\n%s", said)
	}
	if err := removeNode(t, c, "north-2", wire.Removal{Lost: true, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	for id, boxes := range map[string][]catalog.Box{"new": {gone}, "both": boxes["shared"]} {
		secret := &catalog.Secret{ID: id, Text: []byte("x"), Boxes: boxes}
		for what, kind := range map[catalog.Kind]any{
			catalog.CreateJob: catalog.JobCreation{Harvest: "h", Collection: "web", Channel: agreed.Focused, Spec: spec,
				Secret: secret, Seeds: 1},
			defined.CreateTemplate: defined.Creation{Name: id, Text: settings, Secret: secret},
			kept.SetConfiguration: kept.Configuring{Domain: "a.org", Name: id, Template: "t-other",
				Settings: &settings, Secret: secret},
			catalog.SealToNodes: catalog.SealAgain{ID: "t-other", Boxes: boxes},
		} {
			result, err := b.Propose(t.Context(), what, kind, "test")
			if err != nil || result.Refusal == nil || !strings.Contains(result.Refusal.Message, "no member") {
				t.Errorf("%s, sealed to a node that was removed: %v %v", what, result.Refusal, err)
			}
		}
	}
	b.must(catalog.SealToNodes, catalog.SealAgain{ID: "j-shared"})
	result, err := b.Propose(t.Context(), catalog.SealToNodes, catalog.SealAgain{ID: "j-alone"}, "test")
	if err != nil || result.Refusal == nil || result.Refusal.Code != catalog.Unsafe {
		t.Errorf("what nobody can open any more: %v %v", result.Refusal, err)
	}
	for job, can := range map[uint64]bool{1: false, 2: true, 3: true} {
		for node, may := range map[catalog.NodeID]bool{gone.Node: false, stays.Node: can} {
			result, err := b.Propose(t.Context(), catalog.ClaimJob, catalog.JobRef{ID: job, Node: node}, "test")
			if err != nil || (result.Refusal == nil) != may {
				t.Errorf("job %d claimed by %s: %v %v, want it done: %t", job, node, result.Refusal, err, may)
			}
		}
	}
	if x := secretOf(t, b, "j-shared"); len(x.Boxes) != 1 || x.Boxes[0].Node != stays.Node {
		t.Errorf("the box of a node that was removed stays: %+v", x.Boxes)
	}
}

func secretOf(t *testing.T, b *backend, id string) (x catalog.Secret) {
	t.Helper()
	if err := b.View(func(v catalog.View) (err error) { x, err = v.Secret(id); return err }); err != nil {
		t.Fatal(err)
	}
	return x
}
