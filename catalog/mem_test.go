package catalog_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/kv/memory"
)

// mem is a transaction that counts what the last command wrote.
type mem struct {
	memory.Tx
	written int
	bytes   int
}

func (m *mem) Set(key, value []byte) error {
	m.written++
	m.bytes += len(key) + len(value)
	return m.Tx.Set(key, value)
}

func (m *mem) Delete(key []byte) error {
	m.written++
	m.bytes += len(key)
	return m.Tx.Delete(key)
}

// put changes a key behind the catalog's back.
func (m *mem) put(key, value string) {
	if err := m.Tx.Set([]byte(key), []byte(value)); err != nil {
		panic(err)
	}
}

// sum returns a digest of every key and value.
func (m *mem) sum() catalog.Digest {
	h := sha256.New()
	for key, value := range m.All() {
		fmt.Fprintf(h, "%d %s %d %s", len(key), key, len(value), value)
	}
	return catalog.Digest(h.Sum(nil))
}

// cluster is a state, and a way to send it commands.
type cluster struct {
	*mem
	index uint64
	now   catalog.Time
	log   [][]byte // the commands sent
}

func key(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func id(name string) catalog.NodeID { return catalog.Fingerprint(key(name)) }

func digest(text string) catalog.Digest { return sha256.Sum256([]byte(text)) }

// apply applies the command as the leader would send it and fails the test on a damaged state.
func (c *cluster) apply(t interface{ Fatalf(string, ...any) }, kind catalog.Kind, body any) catalog.Result {
	return c.send(t, catalog.Command{Kind: kind, Actor: "test"}, body)
}

func (c *cluster) send(t interface{ Fatalf(string, ...any) }, cmd catalog.Command, body any) catalog.Result {
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("encode body: %v", err)
	}
	c.index++
	c.now += 1000
	cmd.Version, cmd.Body = 1, raw
	if cmd.At == 0 {
		cmd.At = c.now
	}
	data, err := json.Marshal(cmd)
	if err != nil {
		t.Fatalf("encode command: %v", err)
	}
	c.log = append(c.log, data)
	c.written, c.bytes = 0, 0
	res, err := catalog.Apply(c, c.index, data)
	if err != nil {
		t.Fatalf("apply %s: %v", cmd.Kind, err)
	}
	if c.written > 1000 || c.bytes > catalog.MaxBytes {
		t.Fatalf("%s wrote %d keys and %d bytes", cmd.Kind, c.written, c.bytes)
	}
	return res
}

// must applies a command that is not to be refused.
func (c *cluster) must(t interface{ Fatalf(string, ...any) }, kind catalog.Kind, body any) catalog.Result {
	res := c.apply(t, kind, body)
	if res.Refusal != nil {
		t.Fatalf("%s refused: %v", kind, res.Refusal)
	}
	for _, r := range items(res) {
		if r.Refusal != nil {
			t.Fatalf("%s refused %s: %v", kind, r.Name, r.Refusal)
		}
	}
	return res
}

func items(res catalog.Result) []catalog.ItemResult {
	var out []catalog.ItemResult
	if len(res.Value) > 0 && res.Value[0] == '[' {
		if err := json.Unmarshal(res.Value, &out); err != nil {
			panic(err)
		}
	}
	return out
}

// refusal returns the command's refusal or that of its first refused item.
func refusal(res catalog.Result) *catalog.Refusal {
	if res.Refusal != nil {
		return res.Refusal
	}
	for _, r := range items(res) {
		if r.Refusal != nil {
			return r.Refusal
		}
	}
	return nil
}

// member returns a member as it would join; its replica is its name up to the last dash.
func member(name string) catalog.Member {
	replica, _, _ := strings.Cut(name, "-")
	return catalog.Member{ID: id(name), Name: name, Key: key(name), Replica: catalog.ReplicaName(replica), Level: 1}
}

// foundCluster makes a cluster of the bitarchive replicas north and south and the checksum replica sums,
// each with one node -1 that holds every shard.
func foundCluster(t *testing.T) *cluster {
	t.Helper()
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	return c
}

func emptyCluster(t interface{ Fatalf(string, ...any) }) *cluster {
	c := &cluster{mem: new(mem)}
	c.must(t, catalog.Found, catalog.Founding{
		Cluster:     catalog.Cluster{ID: "test", Name: "Test", Epoch: 1, Level: 1},
		Collections: []catalog.Collection{{Name: "web"}, {Name: "radio"}},
		Replicas: []catalog.Replica{
			{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"},
			{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown"},
			{Name: "sums", Kind: catalog.Checksum, Place: "Elsewhere"},
		},
		Member: member("north-1"),
	})
	return c
}

func (c *cluster) join(t interface{ Fatalf(string, ...any) }, name string) {
	m := member(name)
	token := fmt.Sprintf("token-%s-%d", name, c.index)
	c.must(t, catalog.CreateToken, catalog.JoinToken{ID: token, SecretHash: digest("secret"), Replica: m.Replica, Expires: c.now + 1e6})
	c.must(t, catalog.JoinMember, catalog.Joining{Token: token, Secret: []byte("secret"), Member: m})
}

// assignAll gives every shard of its replica to the node.
func (c *cluster) assignAll(t interface{ Fatalf(string, ...any) }, name string) {
	for first := 0; first < catalog.Shards; first += 512 {
		shards := make([]catalog.Shard, 512)
		for i := range shards {
			shards[i] = catalog.Shard(first + i)
		}
		c.must(t, catalog.AssignShards, catalog.Assignment{Replica: member(name).Replica, Shards: shards, Node: id(name)})
	}
}

// raise makes it a cluster of level 2.
func (c *cluster) raise(t interface{ Fatalf(string, ...any) }) { c.raiseTo(t, 2) }

func (c *cluster) raiseTo(t interface{ Fatalf(string, ...any) }, level int) {
	members, err := c.view().Members()
	if err != nil {
		t.Fatalf("read the members: %v", err)
	}
	for _, m := range members {
		c.must(t, catalog.UpdateMember, map[string]any{"id": m.ID, "level": level})
	}
	c.must(t, catalog.RaiseLevel, catalog.LevelChange{Level: level})
}

func (c *cluster) view() catalog.View { return catalog.NewView(c) }
