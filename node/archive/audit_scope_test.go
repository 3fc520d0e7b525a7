package archive

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/kv/memory"
	"holdfast/replica"
)

// agreedIn is an agreed state in memory, with the real commands.
type agreedIn struct {
	t     *testing.T
	state memory.Tx
	index uint64
}

func (a *agreedIn) View(see func(catalog.View) error) error { return see(catalog.NewView(&a.state)) }

func (a *agreedIn) CatchUp(context.Context) {}

func (a *agreedIn) Propose(_ context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	a.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.Time(a.index), Actor: actor, Body: raw})
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Apply(&a.state, a.index, data)
}

func (a *agreedIn) must(kind catalog.Kind, body any) {
	a.t.Helper()
	res, err := a.Propose(context.Background(), kind, body, "test")
	if err != nil || res.Refusal != nil {
		a.t.Fatalf("%s: %v, %v", kind, res.Refusal, err)
	}
}

func keyOf(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }

func idOf(name string) catalog.NodeID { return catalog.Fingerprint(keyOf(name)) }

// Files of two replicas: north holds the shards of all, south that of the first. The last was removed.
const one, two, gone = catalog.FileName("a-1.warc"), catalog.FileName("a-2.warc"), catalog.FileName("gone.warc")

func scoped(t *testing.T) (*agreedIn, Audits) {
	a := &agreedIn{t: t}
	member := func(name, replica string) catalog.Member {
		return catalog.Member{ID: idOf(name), Name: name, Key: keyOf(name), Replica: catalog.ReplicaName(replica), Level: catalog.Level}
	}
	a.must(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "test", Name: "Test", Epoch: 1, Level: catalog.Level},
		Collections: []catalog.Collection{{Name: "web"}, {Name: "none"}}, Member: member("north-1", "north"),
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}, {Name: "south", Kind: catalog.Bitarchive, Place: "south"},
			{Name: "sums", Kind: catalog.Checksum, Place: "south", Collections: []catalog.CollectionName{"none"}}}})
	a.must(catalog.CreateToken, catalog.JoinToken{ID: "t", SecretHash: sha256.Sum256([]byte("s")), Replica: "south", Expires: 1 << 40})
	a.must(catalog.JoinMember, catalog.Joining{Token: "t", Secret: []byte("s"), Member: member("south-1", "south")})
	for replica, shards := range map[string][]catalog.Shard{"north": {one.Shard(), two.Shard(), gone.Shard()}, "south": {one.Shard()}} {
		a.must(catalog.AssignShards, catalog.Assignment{Replica: catalog.ReplicaName(replica), Node: idOf(replica + "-1"), Shards: shards})
	}
	for _, name := range []catalog.FileName{one, two, gone} {
		a.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Collection: "web", Source: idOf("north-1"), Size: 7, SHA256: sha256.Sum256([]byte(name))}}})
	}
	a.must(files.SetRemovals, files.RemovalSetting{Days: 0, Reason: "test"})
	a.must(catalog.RemoveFile, catalog.FileRemoval{Name: gone, SHA256: sha256.Sum256([]byte(gone)), Reason: "test", Version: version(a, gone)})
	return a, Audits{Cluster: Cluster{Self: idOf("north-1"), Catalog: a, Log: slog.New(slog.DiscardHandler)}, Name: "north-1"}
}

// TestWhatAnAuditIsAskedFor narrows requests: to the nodes that have the copies, with how many there are. What would
// read nothing, or not all that was named, is refused.
func TestWhatAnAuditIsAskedFor(t *testing.T) {
	_, audits := scoped(t)
	shard := one.Shard()
	for _, tt := range []struct {
		what    string
		replica catalog.ReplicaName
		scope   replica.AuditScope
		nodes   string // by name
		copies  int64
		unheld  int64
		refused error
	}{
		{what: "a file", scope: replica.AuditScope{Files: []catalog.FileName{one}}, nodes: "north-1 south-1", copies: 2},
		{what: "a file that is named twice", scope: replica.AuditScope{Files: []catalog.FileName{one, one}}, nodes: "north-1 south-1", copies: 2},
		{what: "a file of which nobody holds a shard", scope: replica.AuditScope{Files: []catalog.FileName{two}}, nodes: "north-1", copies: 2, unheld: 1},
		{what: "a prefix in a replica", replica: "north", scope: replica.AuditScope{Prefix: "a-"}, nodes: "north-1", copies: 2},
		{what: "a shard", scope: replica.AuditScope{Shard: &shard}, nodes: "north-1 south-1", copies: 2},
		{what: "a file that is not there", scope: replica.AuditScope{Files: []catalog.FileName{one, "no.warc"}}, refused: api.ErrNotFound},
		{what: "a file that was removed", scope: replica.AuditScope{Files: []catalog.FileName{one, gone}}, refused: api.ErrInvalid},
		{what: "a file outside the prefix", scope: replica.AuditScope{Files: []catalog.FileName{one, two}, Prefix: "a-1"}, refused: api.ErrInvalid},
		{what: "a prefix of nothing", scope: replica.AuditScope{Prefix: "z"}, refused: api.ErrNotFound},
		{what: "a prefix of what was removed", scope: replica.AuditScope{Prefix: "gone"}, refused: api.ErrNotFound},
		{what: "copies without a holder alone", replica: "south", scope: replica.AuditScope{Files: []catalog.FileName{two}}, refused: api.ErrUnavailable},
		{what: "too many files", scope: replica.AuditScope{Files: make([]catalog.FileName, 1001)}, refused: api.ErrInvalid},
		{what: "no shard", scope: replica.AuditScope{Shard: new(catalog.Shard(4096))}, refused: api.ErrInvalid},
	} {
		start := replica.AuditRequest{Scope: tt.scope}
		members, err := audits.members(tt.replica)
		if err != nil {
			t.Fatal(err)
		}
		members, err = audits.narrow(&start, tt.replica, members)
		var names []string
		for _, m := range members {
			names = append(names, m.Name)
		}
		slices.Sort(names)
		if !errors.Is(err, tt.refused) || (err == nil) != (tt.refused == nil) || strings.Join(names, " ") != tt.nodes ||
			err == nil && (start.Scope.Copies != tt.copies || start.Unheld.Files != tt.unheld) {
			t.Errorf("%s: %v, %d copies, %d unheld, %v", tt.what, names, start.Scope.Copies, start.Unheld.Files, err)
		}
	}
}

func version(a *agreedIn, name catalog.FileName) (version uint64) {
	_ = a.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err == nil {
			version, err = catalog.EntryMark(v, f)
		}
		return err
	})
	return version
}

// TestKindsNeedTheirLevel asks a cluster whose programs may not know kinds of audits.
func TestKindsNeedTheirLevel(t *testing.T) {
	for level, old := range map[int]bool{replica.LevelOfScopes - 1: true, replica.LevelOfScopes: false} {
		a := &agreedIn{t: t}
		a.must(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "test", Name: "Test", Epoch: 1, Level: level},
			Collections: []catalog.Collection{{Name: "web"}},
			Member:      catalog.Member{ID: idOf("north-1"), Name: "north-1", Key: keyOf("north-1"), Replica: "north", Level: catalog.Level},
			Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}}})
		audits := Audits{Cluster: Cluster{Catalog: a}}
		for what, tt := range map[string]struct {
			start replica.AuditRequest
			known bool // at every level
		}{
			"all":      {replica.AuditRequest{}, true},
			"all read": {replica.AuditRequest{Kind: replica.AuditChecksum}, true},
			"presence": {replica.AuditRequest{Kind: replica.AuditPresence}, false},
			"a prefix": {replica.AuditRequest{Scope: replica.AuditScope{Prefix: "a"}}, false},
		} {
			var refusal *catalog.Refusal
			err := audits.knownKinds(tt.start)
			if refused := errors.As(err, &refusal) && refusal.Code == catalog.Unsupported; refused != (old && !tt.known) {
				t.Errorf("%s at level %d: %v", what, level, err)
			}
		}
	}
}

// TestWhoIsToChallenge narrows requests for challenges to the examiners. Copies that nobody can ask for, or ask about, are
// counted, and what would challenge nothing is refused.
func TestWhoIsToChallenge(t *testing.T) {
	a, audits := scoped(t)
	if _, err := audits.narrowToExaminers(&replica.AuditRequest{Kind: replica.AuditChallenge}, ""); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("before the first draw: %v", err)
	}
	a.must(files.DrawLots, files.Drawing{Node: idOf("north-1"), Number: 1})
	shard, other := one.Shard(), two.Shard()
	for _, tt := range []struct {
		what    string
		replica catalog.ReplicaName
		scope   replica.AuditScope
		nodes   string
		copies  int64
		unheld  int64
		refused error
	}{
		{what: "all", nodes: "north-1 south-1", copies: 4, unheld: 2}, // the second file: south has none to ask about, and none to ask with
		{what: "a replica", replica: "south", nodes: "north-1", copies: 2, unheld: 1},
		{what: "another", replica: "north", nodes: "south-1", copies: 2, unheld: 1},
		{what: "a file", replica: "south", scope: replica.AuditScope{Files: []catalog.FileName{one}}, nodes: "north-1", copies: 1},
		{what: "a shard", scope: replica.AuditScope{Shard: &shard}, nodes: "north-1 south-1", copies: 2},
		{what: "a shard that one replica alone has", replica: "north", scope: replica.AuditScope{Shard: &other}, refused: api.ErrUnavailable},
		{what: "checksums", replica: "sums", refused: api.ErrInvalid},
		{what: "no replica", replica: "nowhere", refused: api.ErrNotFound},
		{what: "a file that is not there", scope: replica.AuditScope{Files: []catalog.FileName{"no.warc"}}, refused: api.ErrNotFound},
		{what: "a file that was removed", scope: replica.AuditScope{Files: []catalog.FileName{gone}}, refused: api.ErrInvalid},
		{what: "a prefix of nothing", scope: replica.AuditScope{Prefix: "z"}, refused: api.ErrNotFound},
		{what: "a shard without files", scope: replica.AuditScope{Shard: new(catalog.Shard(0))}, refused: api.ErrNotFound},
	} {
		start := replica.AuditRequest{Kind: replica.AuditChallenge, Scope: tt.scope}
		members, err := audits.narrowToExaminers(&start, tt.replica)
		var names []string
		for _, m := range members {
			names = append(names, m.Name)
		}
		slices.Sort(names)
		if !errors.Is(err, tt.refused) || (err == nil) != (tt.refused == nil) || strings.Join(names, " ") != tt.nodes ||
			err == nil && (start.Scope.Copies != tt.copies || start.Unheld.Files != tt.unheld || start.Draw != 1) {
			t.Errorf("%s: %v, %d copies, %d unheld, %v", tt.what, names, start.Scope.Copies, start.Unheld.Files, err)
		}
	}
}
