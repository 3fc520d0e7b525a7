//go:build e2e

package systemtest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func loopback(int) string { return "127.0.0.1" }

// joinRefused tries to make a node a member and wants to be refused with the words.
func joinRefused(t *testing.T, c *Cluster, node, token string, code int, words ...string) {
	t.Helper()
	_, err := c.Do(t.Context(), node, "join", token)
	if err == nil {
		t.Errorf("%s joined with a token that is good for nothing, want %q", node, words)
		return
	}
	refuses(t, "join", ran{code: ExitCode(err), err: err.Error()}, code, words...)
}

// says checks that a node's log has a line with all the words.
func says(c *Cluster, node string, words ...string) error {
	text, err := os.ReadFile(filepath.Join(c.Dir, node+".log"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return nil
		}
	}
	return fmt.Errorf("%s logs nothing of %q", node, words)
}

// counts checks that a node has counted refusals of a kind.
func counts(ctx context.Context, c *Cluster, node, kind string) error {
	st, err := statusOf(ctx, c, node)
	if err == nil && st.Node.Refused[kind] == 0 {
		err = fmt.Errorf("%s counts no %s: %v", node, kind, st.Node.Refused)
	}
	return err
}

// newKey returns a node key as a node keeps it, and the node's id.
func newKey(t *testing.T) ([]byte, string) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	id := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), id
}

// TestTrust lets in who has a good token, once, and nobody else.
func TestTrust(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := foundTrial(t, "", Three(loopback))
	for _, s := range []Spec{{Name: "third-2", Replica: "third"}, {Name: "third-3", Replica: "third"}, {Name: "stranger-1", Replica: "north"}} {
		s.IP = "127.0.0.1"
		if err := c.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	token := func(flags ...string) string {
		t.Helper()
		text, err := c.Token(ctx, "south-1", "third-2", flags...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	joinRefused(t, c, "third-2", "no-token-at-all", 1, "token")
	good := token()
	joinRefused(t, c, "third-2", good[:len(good)-6]+"aaaaaa", 1, "token")
	joinRefused(t, c, "stranger-1", good, 78, "third", "north")
	short := token("--expires", "10s")
	must(t, 40*time.Second, "a token expires", func() error {
		out, err := c.Do(ctx, "north-1", "node", "invites")
		if err == nil && !strings.Contains(string(out), "expired") {
			err = errors.New(string(out))
		}
		return err
	})
	joinRefused(t, c, "third-3", short, 1, "expired")
	if _, err := c.Do(ctx, "third-2", "join", good); err != nil {
		t.Fatal(err)
	}
	joinRefused(t, c, "third-3", good, 1, "used by another machine")
	must(t, 20*time.Second, "the used token is counted", func() error { return counted(ctx, c, "joins", "north-1", "south-1", "third-1") })
	if err := c.Start("third-2"); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the joined node takes part", func() error { _, err := oneLeader(ctx, c, "north-1", "third-2"); return err })

	// A stranger knows all that a member knows but has a key of its own.
	key, id := newKey(t)
	known, err := os.ReadFile(filepath.Join(c.Dir, "north-1", "identity", "members.json"))
	if err == nil {
		own := filepath.Join(c.Dir, "stranger-1", "identity")
		err = errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(filepath.Join(own, "node.key"), key, 0o600),
			os.WriteFile(filepath.Join(own, "members.json"), known, 0o644), c.Start("stranger-1"))
	}
	if err != nil {
		t.Fatal(err)
	}
	// It ends as soon as most members have turned it away; which of them it asks first is chance.
	members := []string{"north-1", "south-1", "third-1", "third-2"}
	must(t, 20*time.Second, "the stranger is turned away", func() (err error) {
		for _, n := range members {
			one := says(c, n, "turned a connection away", "stranger", id)
			if one == nil {
				return nil
			}
			err = errors.Join(err, one)
		}
		return err
	})
	must(t, 20*time.Second, "and counted", func() error { return counted(ctx, c, "strangers", members...) })
	must(t, 20*time.Second, "and told", func() error { return says(c, "stranger-1", "refused by a node", "stranger") })
	c.Kill("stranger-1")

	if _, err := c.Do(ctx, "north-1", "node", "remove", "third-2", "--lost", "--yes", "--reason", "sold"); err != nil {
		t.Fatal(err)
	}
	must(t, 10*time.Second, "the removed member's connection is closed", func() error { return says(c, "north-1", "closing connection of removed member") })
	must(t, 60*time.Second, "the removed member says so and ends", func() error {
		if _, err := statusOf(ctx, c, "third-2"); ExitCode(err) != 69 {
			return fmt.Errorf("it still answers: %v", err)
		}
		return says(c, "third-2", "was removed from the cluster")
	})
	must(t, 30*time.Second, "it is turned away when it dials", func() error { return counted(ctx, c, "removed", "north-1", "south-1", "third-1") })
	if _, err := c.Do(ctx, "north-1", "file", "put", "--copies", "0", write(t, "after.bin", 1000)); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the rest works on", func() error { return isComplete(ctx, c, "south-1", "after.bin") })
}

// counted checks that at least one of the nodes has counted refusals of a kind.
func counted(ctx context.Context, c *Cluster, kind string, nodes ...string) error {
	var none error
	for _, n := range nodes {
		err := counts(ctx, c, n, kind)
		if err == nil {
			return nil
		}
		none = errors.Join(none, err)
	}
	return none
}

// TestRecover loses two nodes of three for good and goes on with the third.
func TestRecover(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := foundTrial(t, "", Three(loopback))
	put := func(node, name string) {
		t.Helper()
		path := write(t, name, 100_000)
		must(t, 30*time.Second, name+" is put", func() error {
			_, err := c.Do(ctx, node, "file", "put", "--copies", "0", path)
			return err
		})
	}
	put("south-1", "before.bin")
	must(t, 60*time.Second, "a file is complete", func() error { return complete(ctx, c, "north-1") })
	for _, n := range []string{"north-1", "south-1", "third-1"} {
		c.Kill(n)
	}
	if _, err := c.Do(ctx, "north-1", "cluster", "recover", "--reason", "fire"); ExitCode(err) != 64 || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("recover without --yes: %v", err)
	}
	if _, err := c.Do(ctx, "north-1", "cluster", "recover", "--reason", "fire", "--yes"); err != nil {
		t.Fatal(err)
	}
	if err := c.Start("north-1"); err != nil {
		t.Fatal(err)
	}
	must(t, 30*time.Second, "the node works alone under a new epoch", func() error {
		st, err := statusOf(ctx, c, "north-1")
		if err != nil || !st.Cluster.Quorum || st.Cluster.Epoch != 2 {
			return fmt.Errorf("%+v %w", st.Cluster, err)
		}
		return nil
	})
	put("north-1", "alone.bin")
	must(t, 30*time.Second, "its own replica has the file", func() error { return good(ctx, c, "north-1", "alone.bin", "north") })

	// The lost come back after all, both: they are most of the old voters.
	for _, n := range []string{"south-1", "third-1"} {
		if err := c.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	must(t, 30*time.Second, "the old members are turned away and counted", func() error { return counts(ctx, c, "north-1", "epochs") })
	must(t, 30*time.Second, "the old members do not go on as a second cluster", func() error {
		for _, n := range []string{"south-1", "third-1"} {
			if st, err := statusOf(ctx, c, n); err == nil && st.Cluster.Quorum {
				return fmt.Errorf("%s has a quorum in epoch %d", n, st.Cluster.Epoch)
			}
			if _, err := c.Do(ctx, n, "node", "invite", "--replica", "south"); err == nil {
				return fmt.Errorf("%s makes a token", n)
			}
		}
		return nil
	})
	c.Kill("south-1")
	c.Kill("third-1")

	for _, s := range []Spec{{Name: "south-2", Replica: "south", IP: "127.0.0.1"}, {Name: "third-2", Replica: "third", IP: "127.0.0.1"}} {
		if err := errors.Join(c.Add(s), c.Join(ctx, "north-1", s.Name)); err != nil {
			t.Fatal(err)
		}
		old := s.Replica + "-1"
		if _, err := c.Do(ctx, "north-1", "node", "remove", old, "--lost", "--yes", "--reason", "fire"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"before.bin", "alone.bin"} {
		must(t, 120*time.Second, "the new nodes have "+name, func() error {
			out, err := c.Do(ctx, "north-1", "file", "verify", name)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
		must(t, 30*time.Second, "and know it", func() error { return isComplete(ctx, c, "third-2", name) })
	}
	must(t, 60*time.Second, "the new nodes vote", func() error {
		st, err := statusOf(ctx, c, "third-2")
		for _, n := range st.Nodes {
			if !n.Presence.Voter {
				err = errors.Join(err, fmt.Errorf("%s does not", n.Name))
			}
		}
		return err
	})
	if err := sound(ctx, c, "north-1", "south-2"); err != nil {
		t.Error(err)
	}
}

// TestOutOnly runs a replica on a node that nobody can dial.
func TestOutOnly(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := foundTrial(t, "", append(Three(loopback), Spec{Name: "west-1", Replica: "west", Kind: "bitarchive", IP: "127.0.0.1", Extra: "out-only = true"}))
	for _, node := range []string{"north-1", "west-1"} {
		name := "from-" + node + ".bin"
		if _, err := c.Do(ctx, node, "file", "put", "--copies", "0", write(t, name, 5*mib)); err != nil {
			t.Fatal(err)
		}
		must(t, 60*time.Second, name+" is everywhere", func() error { return isComplete(ctx, c, "south-1", name) })
	}
	west := func() (wire.Node, error) {
		st, err := statusOf(ctx, c, "south-1")
		for _, n := range st.Nodes {
			if n.Name == "west-1" {
				return n, err
			}
		}
		return wire.Node{}, errors.Join(err, errors.New("west-1 is no member"))
	}
	n, err := west()
	if err != nil || !n.OutOnly || len(n.Addresses) > 0 || n.Presence.Voter || n.Presence.State != "alive" {
		t.Errorf("%+v %v", n, err)
	}
	// One voter fewer makes nobody vote that cannot be dialled; the connections to a node that comes back are opened again.
	c.Kill("south-1")
	must(t, 30*time.Second, "the rest has a leader", func() error { _, err := oneLeader(ctx, c, "north-1", "west-1"); return err })
	if err := c.Start("south-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(ctx, "west-1", "file", "put", "--copies", "0", write(t, "again.bin", mib)); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "again.bin is everywhere", func() error { return isComplete(ctx, c, "south-1", "again.bin") })
	if n, err := west(); err != nil || n.Presence.Voter {
		t.Errorf("%+v %v", n, err)
	}
	if err := sound(ctx, c, "west-1"); err != nil {
		t.Error(err)
	}
}

// TestMovingShards gives a replica a second node, and then takes the first away.
func TestMovingShards(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := foundTrial(t, "", Three(loopback))
	names := []string{}
	paths := []string{"file", "put", "--copies", "0"}
	for i := range 60 {
		names = append(names, fmt.Sprintf("moving-%02d.bin", i))
		paths = append(paths, write(t, names[i], 50_000))
	}
	if _, err := c.Do(ctx, "south-1", paths...); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "all files are complete", func() error { return complete(ctx, c, "north-1") })
	if err := errors.Join(c.Add(Spec{Name: "north-2", Replica: "north", IP: "127.0.0.1"}), c.Join(ctx, "north-1", "north-2")); err != nil {
		t.Fatal(err)
	}
	must(t, 150*time.Second, "half of the shards have moved", func() error { return shares(ctx, c, 1700, 2400) })
	if err := complete(ctx, c, "south-1"); err != nil {
		t.Error(err)
	}
	must(t, 60*time.Second, "each file lies once in the replica", func() error { return liesOnce(c, names, "north-1", "north-2") })
	if err := sound(ctx, c, "north-1", "north-2"); err != nil {
		t.Error(err)
	}
	if _, err := c.Do(ctx, "south-1", "node", "remove", "north-1", "--yes", "--reason", "old"); ExitCode(err) != 1 || !strings.Contains(err.Error(), "drain it first") {
		t.Errorf("a node that holds shards is removed: %v", err)
	}
	if _, err := c.Do(ctx, "south-1", "node", "drain", "north-1"); err != nil {
		t.Fatal(err)
	}
	must(t, 150*time.Second, "the drained node is empty and removed", func() error {
		_, err := c.Do(ctx, "south-1", "node", "remove", "north-1", "--yes", "--reason", "old")
		return err
	})
	if err := liesOnce(c, names, "north-2"); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(c.Dir, "north-1", "files", "*", "moving-*")); err != nil || len(left) > 0 {
		t.Errorf("%d files are left on the drained node, %v", len(left), err)
	}
	c.Stop("north-1")
	must(t, 30*time.Second, "the others have a leader", func() error { _, err := oneLeader(ctx, c, "south-1", "north-2", "third-1"); return err })
	for _, name := range names[:5] {
		if _, err := c.Do(ctx, "third-1", "file", "verify", name); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Do(ctx, "third-1", "file", "put", "--copies", "0", write(t, "after.bin", 1000)); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "and work on", func() error { return isComplete(ctx, c, "third-1", "after.bin") })
}

// shares checks that nothing of replica north moves and that each of its nodes holds that many shards.
func shares(ctx context.Context, c *Cluster, least, most int) error {
	st, err := statusOf(ctx, c, "south-1")
	if err != nil {
		return err
	}
	for _, r := range st.Replicas {
		if r.Name == "north" && (r.Moving > 0 || r.Held != catalog.Shards) {
			return fmt.Errorf("%d shards move, %d are held", r.Moving, r.Held)
		}
	}
	for _, n := range st.Nodes {
		if n.Replica == "north" && (n.Shards < least || n.Shards > most) {
			return fmt.Errorf("%s holds %d shards", n.Name, n.Shards)
		}
	}
	return nil
}

// liesOnce checks that each file lies on exactly one of the nodes.
func liesOnce(c *Cluster, names []string, nodes ...string) error {
	for _, name := range names {
		found := 0
		for _, node := range nodes {
			if _, err := os.Stat(filepath.Join(c.Dir, node, "files", catalog.FileName(name).Shard().String(), name)); err == nil {
				found++
			}
		}
		if found != 1 {
			return fmt.Errorf("%s lies on %d nodes", name, found)
		}
	}
	return nil
}
