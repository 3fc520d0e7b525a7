package catalog_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"holdfast/catalog"
)

// sealer is a member with a key of its own and a key for secrets.
type sealer struct {
	catalog.Member
	key ed25519.PrivateKey
}

func newSealer(name string) sealer {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	m := member(name)
	m.Key = key.Public().(ed25519.PublicKey)
	m.ID, m.Level = catalog.Fingerprint(m.Key), catalog.Level
	return sealer{m, key}
}

func (m sealer) seal(name string) *catalog.SealKey {
	key := sha256.Sum256([]byte(name))
	return &catalog.SealKey{Key: key[:], Proof: ed25519.Sign(m.key, catalog.SealStatement(key[:]))}
}

// sealing is a cluster of level 1 with two members.
func sealing(t *testing.T) (c *cluster, a, b sealer) {
	t.Helper()
	c, a, b = &cluster{mem: new(mem)}, newSealer("north-1"), newSealer("north-2")
	c.must(t, catalog.Found, catalog.Founding{
		Cluster: catalog.Cluster{ID: "test", Epoch: 1, Level: 1}, Collections: []catalog.Collection{{Name: "web"}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"}}, Member: a.Member,
	})
	c.must(t, catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: digest("secret"), Replica: "north", Expires: c.now + 1e6})
	c.must(t, catalog.JoinMember, catalog.Joining{Token: "t", Secret: []byte("secret"), Member: b.Member})
	return c, a, b
}

func (c *cluster) publish(t *testing.T, m sealer, key string) {
	t.Helper()
	crawls := true
	res := c.send(t, catalog.Command{Kind: catalog.UpdateMember, Node: m.ID, Boot: 1, Seq: uint64(c.index)}, catalog.MemberChange{ID: m.ID, Crawls: &crawls, Seal: m.seal(key)})
	if res.Refusal != nil {
		t.Fatal(res.Refusal)
	}
}

func box(m sealer, key string) catalog.Box {
	return catalog.Box{Node: m.ID, Key: m.seal(key).Key, Box: []byte("box")}
}

func creation(secret *catalog.Secret) catalog.JobCreation {
	return catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true, Secret: secret, Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)}
}

// Before level 2 the fields and commands for secrets are unknown, in the words of a program that does not have them.
func TestSecretsNeedLevel2(t *testing.T) {
	c, a, _ := sealing(t)
	crawls := true
	hash := digest("token")
	for want, res := range map[string]catalog.Result{
		`body: json: unknown field "local"`:              c.apply(t, catalog.UpdateMember, catalog.MemberChange{ID: a.ID, Local: &hash}),
		`body: json: unknown field "crawls"`:             c.apply(t, catalog.UpdateMember, catalog.MemberChange{ID: a.ID, Crawls: &crawls}),
		`body: json: unknown field "seal"`:               c.apply(t, catalog.UpdateMember, catalog.MemberChange{ID: a.ID, Seal: a.seal("k")}),
		`body: json: unknown field "secret"`:             c.apply(t, catalog.CreateJob, creation(&catalog.Secret{ID: "s"})),
		`command "secret.walk" is not known at level 1`:  c.apply(t, catalog.SealOldJobs, catalog.SealStep{To: 1}),
		`command "secret.again" is not known at level 1`: c.apply(t, catalog.SealToNodes, catalog.SealAgain{ID: "s"}),
	} {
		if res.Refusal == nil || res.Refusal.Message != want {
			t.Errorf("%v, want %s", res.Refusal, want)
		}
	}
}

// A member's key for secrets is its own word, signed; nobody speaks for it.
func TestOnlyAMemberItselfChangesItsKeyForSecrets(t *testing.T) {
	c, a, b := sealing(t)
	c.must(t, catalog.RaiseLevel, catalog.LevelChange{Level: 2})
	change := catalog.MemberChange{ID: a.ID, Seal: b.seal("k")}
	for name, cmd := range map[string]catalog.Command{"nobody": {}, "another": {Node: b.ID, Boot: 1, Seq: 1}, "unsigned": {Node: a.ID, Boot: 1, Seq: 1}} {
		cmd.Kind = catalog.UpdateMember
		if res := c.send(t, cmd, change); res.Refusal == nil {
			t.Errorf("%s changed the key", name)
		}
	}
	c.publish(t, a, "k")
	if m, err := c.view().Member(a.ID); err != nil || !m.Crawls || !m.Seal.Proved(m.Key) || m.Seal.Proved(b.Key) {
		t.Errorf("%+v, %v", m, err)
	}
}

// A job with a secret is claimed by those that can open it, and the secret goes when the job cannot run any more.
func TestASecretGoesWithItsJob(t *testing.T) {
	c, a, b := sealing(t)
	c.must(t, catalog.RaiseLevel, catalog.LevelChange{Level: 2})
	refused := func(why string, x catalog.Secret) {
		t.Helper()
		if res := c.apply(t, catalog.CreateJob, creation(&x)); res.Refusal == nil || !strings.Contains(res.Refusal.Message, why) {
			t.Errorf("%v, want %s", res.Refusal, why)
		}
	}
	refused("does not crawl", catalog.Secret{ID: "s", Text: []byte("x"), Boxes: []catalog.Box{box(a, "ka")}})
	c.publish(t, a, "ka")
	c.publish(t, b, "kb")
	refused("needs", catalog.Secret{ID: "s", Text: []byte("x")})
	refused("has another key", catalog.Secret{ID: "s", Text: []byte("x"), Boxes: []catalog.Box{box(a, "old")}})
	c.must(t, catalog.CreateJob, creation(&catalog.Secret{ID: "s", Text: []byte("x"), Boxes: []catalog.Box{box(a, "ka")}}))
	refused("already", catalog.Secret{ID: "s", Text: []byte("x"), Boxes: []catalog.Box{box(a, "ka")}})
	claim := func(m sealer) *catalog.Refusal {
		return c.apply(t, catalog.ClaimJob, catalog.JobRef{ID: 1, Node: m.ID}).Refusal
	}
	if r := claim(b); r == nil || !strings.Contains(r.Message, "cannot open") {
		t.Errorf("claimed by a node that cannot open the secret: %v", r)
	}
	c.must(t, catalog.SealToNodes, catalog.SealAgain{ID: "s", Boxes: []catalog.Box{box(b, "kb")}})
	c.publish(t, a, "new") // a's box is for a key that it no longer has
	if r := claim(a); r == nil {
		t.Error("claimed with a box for an old key")
	}
	c.must(t, catalog.SealToNodes, catalog.SealAgain{ID: "s"})
	if x, err := c.view().Secret("s"); err != nil || len(x.Boxes) != 1 || x.Boxes[0].Node != b.ID {
		t.Errorf("a box that opens nothing is kept: %+v, %v", x, err)
	}
	if r := claim(b); r != nil {
		t.Fatal(r)
	}
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: 1, Node: b.ID, Attempt: 1, Failed: true})
	c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: 1})
	if old, err := c.view().Job(1); err != nil || old.Secret != "" {
		t.Errorf("the job that was given up keeps its secret: %+v, %v", old, err)
	}
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: 2, Node: b.ID})
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: 2, Node: b.ID, Attempt: 1})
	if all, err := c.view().Secrets("", 0); err != nil || len(all) != 0 {
		t.Errorf("after the job: %v, %v", all, err)
	}
	if j, err := c.view().Job(2); err != nil || j.Secret != "" {
		t.Errorf("%+v, %v", j, err)
	}
}

// When level 2 comes, the secrets of the jobs that there are can be sealed, step by step, and none is left out.
func TestOldJobsAreSealed(t *testing.T) {
	c, a, _ := sealing(t)
	old := creation(nil)
	old.Spec = json.RawMessage(`{"name":"j","seeds":["http://example.org/"],"settings":{"headers":["Cookie: hunter2"]}}`)
	for range 3 {
		c.must(t, catalog.CreateJob, old)
	}
	if _, err := c.view().Sealing(); err == nil {
		t.Fatal("the walk began before level 2")
	}
	for id := uint64(1); id <= 2; id++ {
		c.must(t, catalog.ClaimJob, catalog.JobRef{ID: id, Node: a.ID})
		c.must(t, catalog.FinishJob, catalog.JobEnd{ID: id, Node: a.ID, Attempt: 1, Failed: id == 2})
	}
	c.must(t, catalog.RaiseLevel, catalog.LevelChange{Level: 2})
	c.publish(t, a, "ka")
	c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: 2}) // job 4 has the clear text of job 2
	spec := json.RawMessage(`{"name":"j","seeds":["http://example.org/"],"settings":{"headers":["Cookie: [sealed headers.0]"]}}`)
	secret := func(id string) *catalog.Secret {
		return &catalog.Secret{ID: id, Text: []byte("x"), Boxes: []catalog.Box{box(a, "ka")}}
	}
	c.must(t, catalog.SealOldJobs, catalog.SealStep{To: 1, Job: &catalog.SealedJob{Spec: spec}}) // ended for good
	for name, step := range map[string]catalog.SealStep{
		"from elsewhere":     {After: 0, To: 3, Job: &catalog.SealedJob{Spec: spec, Secret: secret("s")}},
		"backwards":          {After: 1, To: 1},
		"needed, but thrown": {After: 1, To: 3, Job: &catalog.SealedJob{Spec: spec}},
	} {
		if res := c.apply(t, catalog.SealOldJobs, step); res.Refusal == nil {
			t.Errorf("%s: carried out", name)
		}
	}
	c.must(t, catalog.SealOldJobs, catalog.SealStep{After: 1, To: 2, Job: &catalog.SealedJob{Spec: spec}})
	c.must(t, catalog.SealOldJobs, catalog.SealStep{After: 2, To: 3, Job: &catalog.SealedJob{Spec: spec, Secret: secret("s3")}})
	if w, err := c.view().Sealing(); err != nil || w.Done != 0 || w.Jobs != 4 {
		t.Errorf("done before the job that was made of an old one: %+v, %v", w, err)
	}
	c.must(t, catalog.SealOldJobs, catalog.SealStep{After: 3, To: 4, Job: &catalog.SealedJob{Spec: spec, Secret: secret("s4")}})
	if w, err := c.view().Sealing(); err != nil || w.Done != c.index {
		t.Errorf("%+v, %v", w, err)
	}
	for key, value := range c.All() {
		if strings.Contains(string(value), "hunter2") {
			t.Errorf("%s: %s", key, value)
		}
	}
	if j, err := c.view().Job(4); err != nil || j.Secret != "s4" {
		t.Errorf("%+v, %v", j, err)
	}
}
