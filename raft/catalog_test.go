package raft

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// key is a node's public key in tests, benchID its id.
func key(name byte) []byte { return bytes.Repeat([]byte{name}, 32) }

func benchID(name byte) catalog.NodeID { return catalog.Fingerprint(key(name)) }

func memberOf(name byte) catalog.Member {
	replicas := map[byte]catalog.ReplicaName{'a': "north", 'b': "south", 'c': "third"}
	return catalog.Member{ID: benchID(name), Name: string(name), Key: key(name), Replica: replicas[name], Level: catalog.Level}
}

// founding is a command that founds a cluster of three replicas in three places.
func founding(first byte) catalog.Command {
	body, err := json.Marshal(catalog.Founding{
		Cluster: catalog.Cluster{ID: "test", Name: "Test", Epoch: 1, Level: catalog.Level},
		Replicas: []catalog.Replica{
			{Name: "north", Kind: catalog.Bitarchive, Place: "north"},
			{Name: "south", Kind: catalog.Bitarchive, Place: "south"},
			{Name: "third", Kind: catalog.Checksum, Place: "third"},
		},
		Collections: []catalog.Collection{{Name: "web"}},
		Member:      memberOf(first),
	})
	if err != nil {
		panic(err)
	}
	return catalog.Command{Kind: catalog.Found, Body: body}
}

// admit makes a node a member through a join token.
func admit(t testing.TB, via *Node, name byte) {
	t.Helper()
	secret := []byte("secret " + string(name))
	token := catalog.JoinToken{
		ID: "token-" + string(name), SecretHash: sha256.Sum256(secret),
		Replica: memberOf(name).Replica, Expires: catalog.At(time.Now().Add(time.Hour)),
	}
	for _, step := range []struct {
		kind catalog.Kind
		body any
	}{
		{catalog.CreateToken, token},
		{catalog.JoinMember, catalog.Joining{Token: token.ID, Secret: secret, Member: memberOf(name)}},
	} {
		result, err := via.Propose(context.Background(), step.kind, step.body, "test")
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		if err != nil {
			t.Fatalf("%s for %c: %v", step.kind, name, err)
		}
	}
}

func TestTheCatalogOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.machine = theCatalog{}
	first := c.open(benchID('a'))
	if err := first.Bootstrap(context.Background(), founding('a')); err != nil {
		t.Fatal(err)
	}
	a := c.run(first)
	c.urge(first.cfg.Self)
	var others []*running
	for _, name := range []byte("bc") {
		others = append(others, c.start(benchID(name)))
		admit(t, a.Node, name)
	}
	c.eventually("three voters", func() bool { return len(a.Status().Voters) == 3 })
	for i, n := range others {
		if err := addFile(n.Node, int64(i)); err != nil {
			t.Errorf("a file added on %s: %v", n.cfg.Self, err)
		}
		if err := a.Linear(context.Background()); err != nil {
			t.Fatal(err)
		}
		err := a.View(func(v catalog.View) error {
			files, err := v.Files("", "", 10)
			if err == nil && len(files) != i+1 {
				err = errors.New("a file is missing")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	result, err := others[0].Propose(context.Background(), catalog.AddFiles, catalog.Additions{}, "")
	if err != nil || result.Refusal == nil {
		t.Errorf("an empty addition was answered with %+v, %v", result, err)
	}
}

func TestRecoverTheCatalog(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.machine = theCatalog{}
	first := c.open(benchID('a'))
	if err := first.Bootstrap(context.Background(), founding('a')); err != nil {
		t.Fatal(err)
	}
	a := c.run(first)
	c.urge(first.cfg.Self)
	c.start(benchID('b'))
	c.start(benchID('c'))
	admit(t, a.Node, 'b')
	admit(t, a.Node, 'c')
	c.eventually("three voters", func() bool { return len(a.Status().Voters) == 3 })
	if err := addFile(a.Node, 1); err != nil {
		t.Fatal(err)
	}
	c.kill(benchID('b'))
	c.kill(benchID('c'))
	c.stop(benchID('a'))
	epoch, err := recoverNode(c.configOf(benchID('a')), disk.New(), "the others burnt down \"all\"", quiet(), parts{timing: &c.timing})
	if err != nil || epoch != 2 {
		t.Fatalf("recover: epoch %d, %v", epoch, err)
	}
	a = c.start(benchID('a'))
	c.urge(benchID('a'))
	if err := addFile(a.Node, 2); err != nil {
		t.Fatal(err)
	}
	err = a.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err != nil {
			return err
		}
		files, err := v.Files("", "", 10)
		if err == nil && (cluster.Epoch != 2 || len(files) != 2) {
			t.Errorf("after recovery: epoch %d, %d files", cluster.Epoch, len(files))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if s := a.Status(); s.Role != Leader || len(s.Voters) != 1 {
		t.Errorf("after recovery: %+v", s)
	}
}
