package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog"
)

// request sends a command as the north-1's request.
func request(t *testing.T, c *cluster, boot, seq uint64, kind catalog.Kind, body any) catalog.Result {
	t.Helper()
	return c.send(t, catalog.Command{Kind: kind, Node: id("north-1"), Boot: boot, Seq: seq}, body)
}

func TestWindow(t *testing.T) {
	c := emptyCluster(t)
	job := catalog.JobCreation{Harvest: "h", Collection: "web", Spec: json.RawMessage(`{"name":"j","seeds":["http://localhost/"]}`)}
	code := func(r catalog.Result) catalog.Code {
		if r.Refusal == nil {
			return ""
		}
		return r.Refusal.Code
	}
	var j catalog.Job
	first := request(t, c, 5, 1, catalog.CreateJob, job)
	again := request(t, c, 5, 1, catalog.CreateJob, job)
	if string(first.Value) != string(again.Value) || json.Unmarshal(again.Value, &j) != nil || j.ID != 1 {
		t.Errorf("a retry answers %s, the request %s", again.Value, first.Value)
	}
	if _, err := c.view().Job(2); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("the retry was applied: %v", err)
	}
	unknown := catalog.JobRef{ID: 9}
	if r := request(t, c, 5, 3, catalog.SubmitJob, unknown); code(r) != catalog.NotFound {
		t.Errorf("refused request answers %v", r.Refusal)
	}
	request(t, c, 5, 2, catalog.CreateJob, job) // late, but within the window
	for seq := range uint64(10) {
		request(t, c, 5, 9+seq, catalog.CreateJob, job)
	}
	if r := request(t, c, 5, 3, catalog.SubmitJob, unknown); code(r) != catalog.NotFound {
		t.Errorf("retry of a refused request answers %v", r.Refusal)
	}
	request(t, c, 5, 514, catalog.CreateJob, job) // takes the slot of 2
	for _, seq := range []uint64{0, 1, 2} {
		if r := request(t, c, 5, seq, catalog.CreateJob, job); code(r) != catalog.OutcomeUnknown {
			t.Errorf("request %d below the window answers %v", seq, r.Refusal)
		}
	}
	if r := request(t, c, 5, 4, catalog.CreateJob, job); code(r) != "" {
		t.Errorf("request 4 in the window answers %v", r.Refusal)
	}
	if r := request(t, c, 6, 1, catalog.CreateJob, job); code(r) != "" {
		t.Errorf("first request of a new boot answers %v", r.Refusal)
	}
	if r := request(t, c, 5, 515, catalog.CreateJob, job); code(r) != catalog.OutcomeUnknown {
		t.Errorf("request of an older boot answers %v", r.Refusal)
	}
	request(t, c, 6, ^uint64(0), catalog.CreateJob, job)
	if r := request(t, c, 6, 2, catalog.CreateJob, job); code(r) != catalog.OutcomeUnknown {
		t.Errorf("request far below the window answers %v", r.Refusal)
	}
	r := c.send(t, catalog.Command{Kind: catalog.CreateJob, Node: id("stranger")}, job)
	if code(r) != catalog.Denied {
		t.Errorf("a stranger's request answers %v", r.Refusal)
	}
}

// TestRefusal checks that what is refused changes no key.
func TestRefusal(t *testing.T) {
	c := foundCluster(t)
	before := c.sum()
	north := id("north-1")
	for _, tt := range []struct {
		name string
		kind catalog.Kind
		body any
		want catalog.Code
	}{
		{"found again", catalog.Found, catalog.Founding{}, catalog.Conflict},
		{"unknown kind", "cluster.burn", struct{}{}, catalog.Unsupported},
		{"unknown field", catalog.RaiseLevel, map[string]int{"level": 2, "flat": 1}, catalog.Invalid},
		{"level not supported", catalog.RaiseLevel, catalog.LevelChange{Level: 2}, catalog.Conflict},
		{"epoch back", catalog.RaiseEpoch, catalog.EpochChange{Epoch: 1}, catalog.Conflict},
		{"kind of replica", catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Checksum}, catalog.Conflict},
		{"replica's name", catalog.SetReplica, catalog.Replica{Name: "a/b", Kind: catalog.Checksum}, catalog.Invalid},
		{"replica's collections", catalog.SetReplica, catalog.Replica{Name: "x", Kind: catalog.Checksum, Collections: []catalog.CollectionName{"tv"}}, catalog.NotFound},
		{"collection's name", catalog.SetCollection, catalog.Collection{Name: ".."}, catalog.Invalid},
		{"token of the past", catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: digest("s"), Replica: "north", Expires: 1}, catalog.Invalid},
		{"token without replica", catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: digest("s"), Replica: "x", Expires: 1e12}, catalog.NotFound},
		{"wrong token", catalog.JoinMember, catalog.Joining{Token: "t", Member: member("north-2")}, catalog.Denied},
		{"wrong secret", catalog.JoinMember, catalog.Joining{Token: "token-south-1-1", Member: member("north-2")}, catalog.Denied},
		{"used token", catalog.JoinMember, catalog.Joining{Token: "token-south-1-1", Secret: []byte("secret"), Member: member("south-2")}, catalog.Denied},
		{"member's name", catalog.UpdateMember, map[string]any{"id": north, "name": "south-1"}, catalog.Conflict},
		{"holder removed", catalog.RemoveMember, catalog.MemberRemoval{ID: north}, catalog.Unsafe},
		{"half an assignment", catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{1, 5000}, Node: north}, catalog.Invalid},
		{"nothing to fill", catalog.FillReplica, catalog.FillStep{Replica: "north"}, catalog.NotFound},
		{"file's name", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "../x"}}}, catalog.Invalid},
		{"file's size", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "x", Size: -1, SHA256: digest("x")}}}, catalog.Invalid},
		{"file's source", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "x", SHA256: digest("x"), Collection: "web"}}}, catalog.NotFound},
		{"too many", catalog.ReleaseFiles, catalog.Releases{Node: north, Files: make([]catalog.FileName, 101)}, catalog.Invalid},
		{"pass of another", catalog.PassShard, catalog.ShardPass{Replica: "south", Node: north}, catalog.Conflict},
		{"access role", catalog.CreateAccess, catalog.AccessToken{ID: "a", SecretHash: digest("s"), Role: "king"}, catalog.Invalid},
		{"no access token", catalog.RevokeAccess, catalog.Named{ID: "a"}, catalog.NotFound},
		{"job too large", catalog.CreateJob, catalog.JobCreation{Harvest: strings.Repeat("x", 1<<20)}, catalog.Invalid},
	} {
		r := refusal(c.apply(t, tt.kind, tt.body))
		if r == nil || r.Code != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, r, tt.want)
		}
	}
	// Commands of many items are carried out with a refusal for each item: the clock moves on.
	c.put("clock", "\x01") // left out of the comparison
	after := c.sum()
	d := foundCluster(t)
	d.put("clock", "\x01")
	if before.IsZero() || after != d.sum() {
		t.Error("refused commands changed the state")
	}
}

func TestJoinBindsTheKey(t *testing.T) {
	c := emptyCluster(t)
	c.must(t, catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: digest("secret"), Replica: "south", Expires: c.now + 5000})
	join := catalog.Joining{Token: "t", Secret: []byte("secret"), Member: member("south-1")}
	join.Member.Replica = ""
	first := c.must(t, catalog.JoinMember, join)
	c.now += 1e6 // the token is expired by now
	if again := c.must(t, catalog.JoinMember, join); string(again.Value) != string(first.Value) {
		t.Errorf("a retry by the same key answers %s, not %s", again.Value, first.Value)
	}
	forged := join
	forged.Member.Key = key("other")
	if r := c.apply(t, catalog.JoinMember, forged); r.Refusal == nil || r.Refusal.Code != catalog.Denied {
		t.Errorf("another key under the same id answers %v", r.Refusal)
	}
	m, err := c.view().MemberByName("south-1")
	if err != nil || string(m.Key) != string(key("south-1")) || m.Replica != "south" {
		t.Errorf("member is %+v, %v", m, err)
	}
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: m.ID})
	if r := c.apply(t, catalog.JoinMember, join); r.Refusal == nil || r.Refusal.Code != catalog.Denied {
		t.Errorf("a removed member comes back with its token: %v", r.Refusal)
	}
}

func TestAMemberJoinsAgainWithItsKey(t *testing.T) {
	c := emptyCluster(t)
	c.join(t, "south-1")
	before, err := c.view().MemberByName("south-1")
	if err != nil {
		t.Fatal(err)
	}
	draining := true
	c.must(t, catalog.UpdateMember, catalog.MemberChange{ID: before.ID, Draining: &draining})
	for i, tt := range []struct {
		replica catalog.ReplicaName
		name    string
		want    catalog.Code
	}{{"south", "south-1", ""}, {"south", "south-9", ""}, {"north", "south-9", catalog.Conflict}, {"south", "north-1", catalog.Conflict}} {
		id := fmt.Sprintf("again-%d", i)
		c.must(t, catalog.CreateToken, catalog.JoinToken{ID: id, SecretHash: digest("secret"), Replica: tt.replica, Expires: c.now + 1e6})
		m := member("south-1")
		m.Replica, m.Name = "", tt.name
		r := c.apply(t, catalog.JoinMember, catalog.Joining{Token: id, Secret: []byte("secret"), Member: m})
		if code := refusalOf(r); code != tt.want {
			t.Errorf("join %s as %s: %q, want %q", tt.replica, tt.name, code, tt.want)
		}
	}
	after, err := c.view().MemberByName("south-9")
	if err != nil || after.ID != before.ID || after.Joined != before.Joined || !after.Draining {
		t.Errorf("member is %+v, %v; was %+v", after, err, before)
	}
	if _, err := c.view().MemberByName("south-1"); err == nil {
		t.Error("the old name is taken still")
	}
}

// TestRecoveryLeavesJobNumbersOut raises the epoch: no later job gets a number that those outside may have given.
func TestRecoveryLeavesJobNumbersOut(t *testing.T) {
	c := emptyCluster(t)
	create := func() uint64 {
		var j catalog.Job
		res := c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)})
		if err := json.Unmarshal(res.Value, &j); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	last := create()
	for epoch := range uint64(2) {
		c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: epoch + 2, Reason: "fire"})
		next := create()
		if next < last+100_000 {
			t.Errorf("job %d follows job %d", next, last)
		}
		if again := create(); again != next+1 {
			t.Errorf("job %d follows job %d", again, next)
		}
		last = next + 1
	}
}

func refusalOf(r catalog.Result) catalog.Code {
	if r.Refusal == nil {
		return ""
	}
	return r.Refusal.Code
}

func TestTimeNeverRunsBack(t *testing.T) {
	c := emptyCluster(t)
	before, _ := c.view().Clock()
	c.send(t, catalog.Command{Kind: catalog.SetCollection, At: 5}, catalog.Collection{Name: "old"})
	after, _ := c.view().Clock()
	collections, _ := c.view().Collections()
	if after != before || collections[0].Created != before {
		t.Errorf("clock went from %d to %d, collection of %d", before, after, collections[0].Created)
	}
	for _, at := range []catalog.Time{-1, 1 << 60} {
		if r := c.send(t, catalog.Command{Kind: catalog.SetCollection, At: at}, catalog.Collection{Name: "never"}); r.Refusal == nil {
			t.Errorf("time %d was accepted", at)
		}
	}
}

func TestTrailShowsTampering(t *testing.T) {
	c := foundCluster(t)
	n, err := catalog.VerifyTrail(c)
	if err != nil || n < 5 {
		t.Fatalf("%d events, %v", n, err)
	}
	events, err := c.view().Trail(2, 3)
	if err != nil || len(events) != 3 || events[0].Seq != 3 {
		t.Fatalf("page of the trail: %+v, %v", events, err)
	}
	if err := catalog.VerifyEvents(events, events[0].Previous); err != nil {
		t.Error(err)
	}
	for name, harm := range map[string]func(m *mem, key string){
		"changed": func(m *mem, key string) {
			value, _ := m.Get([]byte(key)) // never fails
			m.put(key, strings.Replace(string(value), "test", "evil", 1))
		},
		"removed": func(m *mem, key string) { _ = m.Delete([]byte(key)) },
	} {
		for seq := 2; seq <= n; seq++ {
			c := foundCluster(t)
			harm(c.mem, fmt.Sprintf("trail/%016x", seq))
			if _, err := catalog.VerifyTrail(c); !errors.Is(err, catalog.ErrTrail) {
				t.Errorf("event %d %s: %v", seq, name, err)
			}
		}
	}
}
