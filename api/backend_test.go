package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/client"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/kv/memory"
)

// backend is a node of the tests: the real catalog's rules over a map, and an archive in memory.
type backend struct {
	t        *testing.T
	mu       sync.Mutex
	state    memory.Tx
	index    uint64
	noQuorum bool
	bytes    map[catalog.FileName][]byte
	breakAt  int   // a read breaks after that many bytes, once, when not 0
	lostAt   int64 // the byte there cannot be read from any copy, when not 0
	puts     int
	captures []cdx.Capture
	missing  []int // shards
	orders   []act.Kind
	last     act.Order
	deaf     bool                     // crawls take no orders any more
	silent   bool                     // nodes do not answer
	absent   bool                     // this node is not seen alive
	lags     func()                   // what this node learns when it asks the leader
	between  func()                   // what is decided between a look at the catalog and the next command, once
	refuse   func(catalog.Kind) error // of commands that cannot be decided; may be nil
	quiet    bool                     // nothing more happens in crawls
	noPolicy bool                     // the access rules are not known
	made     int                      // people
	backups  fakeBackups
	used     []string // access tokens
	books    logbooks
	api      *API
	tokens   map[*client.Client]string
	server   *httptest.Server
	later    time.Duration // how far the clock of the leader is ahead of this machine's
}

var self = catalog.Fingerprint(key())

func key() []byte { return bytes.Repeat([]byte{7}, 32) }

func (b *backend) View(fn func(catalog.View) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fn(catalog.NewView(&b.state))
}

func (b *backend) Linear(context.Context) error {
	if b.lags != nil {
		b.lags()
	}
	if b.noQuorum {
		return ErrNoQuorum
	}
	return nil
}

func (b *backend) Propose(_ context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if between := b.between; between != nil {
		b.between = nil
		between()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.noQuorum {
		return catalog.Result{}, fmt.Errorf("propose %s: %w", kind, ErrNoQuorum)
	}
	if b.refuse != nil {
		if err := b.refuse(kind); err != nil {
			return catalog.Result{}, err
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	b.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now().Add(b.later)), Actor: actor, Body: text})
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Apply(&b.state, b.index, data)
}

// must proposes what is expected to be carried out.
func (b *backend) must(kind catalog.Kind, body any) catalog.Result {
	b.t.Helper()
	result, err := b.Propose(b.t.Context(), kind, body, "test")
	if err != nil {
		b.t.Fatal(err)
	}
	if result.Refusal != nil {
		b.t.Fatalf("%s: %s", kind, result.Refusal.Message)
	}
	return result
}

// holdAll makes the node the holder of all shards of its replica.
func (b *backend) holdAll() {
	b.t.Helper()
	for first := 0; first < catalog.Shards; first += 512 {
		var shards []catalog.Shard
		for s := first; s < first+512; s++ {
			shards = append(shards, catalog.Shard(s))
		}
		b.must(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: shards, Node: self})
	}
}

func (b *backend) Put(ctx context.Context, put PutRequest) (catalog.File, error) {
	text, err := io.ReadAll(put.Body)
	if err != nil {
		return catalog.File{}, err
	}
	sum := catalog.Digest(sha256.Sum256(text))
	if !put.SHA256.IsZero() && sum != put.SHA256 {
		return catalog.File{}, fmt.Errorf("put %s: %w", put.Name, ErrDigest)
	}
	if put.Collection == "" {
		put.Collection = "web"
	}
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: put.Name, Size: int64(len(text)), SHA256: sum, Collection: put.Collection, Source: self}}})
	b.mu.Lock()
	b.puts++
	b.bytes[put.Name] = text
	b.mu.Unlock()
	var f catalog.File
	err = b.View(func(v catalog.View) (err error) { f, err = v.File(put.Name); return err })
	return f, err
}

func (b *backend) Open(_ context.Context, name catalog.FileName, offset, length int64) (io.ReadCloser, error) {
	text := b.bytes[name][offset : offset+length]
	if left := b.lostAt - offset; b.lostAt > 0 && left >= 0 && left < length {
		if left < 100 { // in the first block
			return nil, fmt.Errorf("no copy can be read: %w", ErrUnavailable)
		}
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:left]), broken{})), nil
	}
	if b.breakAt > 0 && b.breakAt < len(text) {
		text, b.breakAt = text[:b.breakAt], 0
		return io.NopCloser(io.MultiReader(bytes.NewReader(text), broken{})), nil
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

func (b *backend) OpenCopy(ctx context.Context, name catalog.FileName, from catalog.ReplicaName, offset, length int64) (io.ReadCloser, error) {
	if from != "north" {
		return nil, &catalog.Refusal{Code: catalog.Conflict, Message: "the copy in " + string(from) + " is not good"}
	}
	return b.Open(ctx, name, offset, length)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk went away") }

func (b *backend) Verify(_ context.Context, _ catalog.FileName, in []catalog.ReplicaName) (out []wire.Verification, err error) {
	for _, name := range []string{"north", "third"} {
		if len(in) == 0 && name == "north" || slices.Contains(in, catalog.ReplicaName(name)) {
			out = append(out, wire.Verification{Replica: name, Node: string(self), State: "ok"})
		}
	}
	return out, nil
}

func (b *backend) Status(context.Context) NodeStatus {
	st := NodeStatus{NodeStatus: wire.NodeStatus{ID: string(self), Name: "north-1", Version: "test", Ready: true, Role: "leader", Quorum: !b.noQuorum, Leader: string(self)},
		Presence: map[catalog.NodeID]wire.Presence{self: {State: "alive", Voter: true}}}
	if b.absent {
		st.Presence[self] = wire.Presence{State: "failed"}
	}
	return st
}

func (b *backend) Config() any { return map[string]string{"name": "north-1"} }

func (b *backend) Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration, actor string) (string, catalog.JoinToken, error) {
	token := catalog.JoinToken{ID: "j1", SecretHash: catalog.Digest{1}, Replica: replica, Created: catalog.At(time.Now()), Expires: catalog.At(time.Now().Add(lifetime))}
	b.must(catalog.CreateToken, token)
	return "join-text", token, nil
}

func (b *backend) Query(_ context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		for _, c := range b.captures {
			if (q.Gate == nil || q.Gate.Passes(&c)) && !yield(c, nil) {
				return
			}
		}
		if b.missing != nil {
			yield(cdx.Capture{}, &cdx.Incomplete{Shards: b.missing})
		}
	}
}

// Alerts says what this node and another one see, and that a third does not answer.
func (b *backend) Alerts(context.Context) []NodeAlerts {
	low := alert.New(alert.DiskLow, "/data", "bytes", "5")
	low.Node, low.Since = "east-1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return []NodeAlerts{{Node: "south", Name: "south-1", Err: errors.New("no answer"), BackupErr: errors.New("no answer")},
		{Node: "east", Name: "east-1", Backup: &BackupState{Looked: true, Newest: low.Since}, Alerts: []alert.Alert{low, alert.New(alert.HarvestWaits, "5", "name", "news", "snapshot", "4")}}}
}

type crawls struct{ b *backend }

func (crawls) Progress(context.Context, catalog.Job) (wire.Progress, error) {
	return wire.Progress{Done: 5}, nil
}

// Running says that job 1 crawls here, and that another node does not answer.
func (crawls) Running(context.Context) []NodeJobs {
	return []NodeJobs{{Node: "south", Name: "south-1", Err: errors.New("no answer")},
		{Node: self, Name: "north-1", Jobs: []wire.RunningJob{{ID: 1, State: "PAUSED", Reason: "lunch", Progress: &wire.Progress{Done: 5}}}}}
}

func (crawls) Check(job harvest.Job) error {
	if len(job.Settings.Rules) > 0 && job.Settings.Rules[0].Rule == "unknown" {
		return fmt.Errorf("%w: rules: no such rule", harvest.ErrInvalid)
	}
	return nil
}

func (c crawls) Order(_ context.Context, job catalog.Job, o act.Order) (harvest.Reply, error) {
	c.b.mu.Lock()
	c.b.orders, c.b.last = append(c.b.orders, o.Kind()), o
	deaf := c.b.deaf
	c.b.mu.Unlock()
	if o.Kind() == "resume" && c.b.silent {
		return harvest.Reply{}, fmt.Errorf("call: %w", ErrUnavailable)
	}
	if deaf && !o.Kept() {
		return harvest.Reply{}, fmt.Errorf("%w: the crawl does not run", ErrInvalid)
	}
	freeze, freezes := o.Act.(act.Freeze)
	events, tells := o.Act.(act.Events)
	switch {
	case job.State != catalog.JobStarted:
		return harvest.Reply{}, fmt.Errorf("job %d does not run: %w", job.ID, ErrNotFound)
	case freezes && freeze.Queue != "a":
		return harvest.Reply{}, fmt.Errorf("%w: queue: none matches", harvest.ErrInvalid)
	case tells && c.b.quiet && events.After != "":
		return harvest.Reply{}, nil
	case tells && events.After == "":
		return harvest.Reply{Events: []json.RawMessage{[]byte(`{"number":1}`), []byte(`{"number":2}`)}, Next: "2"}, nil
	case tells && events.After == "2":
		return harvest.Reply{Events: []json.RawMessage{[]byte(`{"number":5}`)}, Next: "5", Missed: true}, nil
	case tells && events.After == "5":
		return harvest.Reply{Events: []json.RawMessage{[]byte(`{"number":6}`)}, Next: "6", Ended: true}, nil
	case tells:
		return harvest.Reply{}, fmt.Errorf("node of job %d: %w", job.ID, ErrUnavailable)
	}
	return harvest.Reply{Count: 1, Live: &harvest.Live{State: string(o.Kind())}}, nil
}

func (crawls) Log(_ context.Context, job catalog.Job, tail int, w io.Writer) error {
	if job.State != catalog.JobStarted {
		return fmt.Errorf("log of job %d: %w", job.ID, ErrNotFound)
	}
	_, err := fmt.Fprintf(w, "last %d lines\n", tail)
	return err
}

type fakeLedgers struct{}

func (fakeLedgers) Make(_ context.Context, replica catalog.ReplicaName, _ string) (wire.LedgerMaking, error) {
	return wire.LedgerMaking{Node: string(self), Replica: string(replica), State: "running"}, nil
}

func (fakeLedgers) Making(_ context.Context, replica catalog.ReplicaName) ([]wire.LedgerMaking, error) {
	return []wire.LedgerMaking{{Node: string(self), Replica: string(replica), State: "failed", Detail: "x"}}, nil
}

type fakeAudits struct{}

func (fakeAudits) Start(_ context.Context, order AuditOrder, _ string) (wire.Audit, error) {
	replica := order.Replica
	return wire.Audit{ID: "a1", State: "running", Replicas: []string{string(replica)}, Nodes: []wire.AuditNode{}}, nil
}
func (fakeAudits) List(context.Context) ([]wire.Audit, []wire.SilentNode, error) {
	return nil, []wire.SilentNode{{Node: "s", Name: "south-1", Reason: "no answer"}}, nil
}
func (fakeAudits) Show(_ context.Context, id string) (wire.Audit, error) {
	if id == "north" {
		return wire.Audit{ID: id, Replicas: []string{"north"}, Nodes: []wire.AuditNode{}}, nil
	}
	return wire.Audit{}, fmt.Errorf("audit %s: %w", id, ErrNotFound)
}
func (fakeAudits) Wish(_ context.Context, id string, wish catalog.JobWish, _, _ string) (wire.Audit, error) {
	return wire.Audit{ID: id, State: string(wish) + "d", Replicas: []string{}, Nodes: []wire.AuditNode{}}, nil
}

type losses struct{}

func (losses) Lose(_ context.Context, name catalog.FileName, _ uint64, _, _ string) error {
	return fmt.Errorf("file %s: %w", name, ErrNotFound)
}
func (losses) Undo(_ context.Context, name catalog.FileName, _, _ string) error {
	return fmt.Errorf("file %s: %w", name, ErrNotFound)
}

type strays struct{}

func (strays) List(context.Context) ([]wire.NodeStrays, error) {
	return []wire.NodeStrays{{Node: string(self), Name: "north-1", Files: 1, Bytes: 5, Strays: []wire.Stray{{Name: "a.warc.gz", Where: "incoming", Path: "/p", Size: 5, State: "part"}}},
		{Node: "other", Unreachable: "no answer", Strays: []wire.Stray{}}}, nil
}

func (strays) Adopt(_ context.Context, _ catalog.NodeID, a Adoption, _ string) error {
	return fmt.Errorf("%s: %w", a.Name, ErrNotFound)
}
func (strays) SetAside(context.Context, catalog.NodeID, catalog.FileName, string, string) error {
	return ErrNotFound
}
func (strays) ListAside(context.Context) ([]wire.NodeQuarantine, error) {
	return []wire.NodeQuarantine{{Node: string(self), Name: "north-1", Files: 1, Bytes: 5, Aside: []wire.Aside{{ID: "a.20260101000000000", Name: "a", Path: "/q", Size: 5}}},
		{Node: "other", Unreachable: "no answer", Aside: []wire.Aside{}}}, nil
}
func (strays) ShowAside(_ context.Context, _ catalog.NodeID, id string) (wire.Aside, error) {
	if id != "a.20260101000000000" {
		return wire.Aside{}, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return wire.Aside{ID: id, Name: "a", Size: 5, State: "x"}, nil
}
func (strays) RestoreAside(_ context.Context, _ catalog.NodeID, id string) error {
	return &catalog.Refusal{Code: catalog.Conflict, Message: id + " stays"}
}

type ownDisks struct{}

func (ownDisks) Show() (wire.Disks, error) {
	return wire.Disks{Disks: []wire.DiskState{{Path: "/disk1", Total: 10, Room: 5, Shards: 1, Bytes: 5, State: "in use"}}}, nil
}

func (d ownDisks) Wish(wish wire.DiskWish, _ string) (wire.Disks, error) {
	all, err := d.Show()
	if wish.Path != "" && wish.Path != all.Disks[0].Path {
		return wire.Disks{}, fmt.Errorf("disk %s: %w", wish.Path, ErrNotFound)
	}
	all.Paused = wish.Wish == "pause"
	if wish.Wish == "drain" {
		all.Disks[0].State = "draining"
	}
	return all, err
}

func (d ownDisks) Replacing(path, by string) (which string, effects []string, err error) {
	if path != "/disk1" {
		return "", nil, fmt.Errorf("disk %s: %w", path, ErrNotFound)
	}
	return "mark", []string{"its shards are made again, on " + by}, nil
}

type indexes struct{}

func (indexes) Status(context.Context) ([]wire.IndexStatus, error) {
	return []wire.IndexStatus{{Node: string(self), Captures: 7}}, nil
}
func (indexes) Rebuild(_ context.Context, _ catalog.NodeID, reason, actor string) error {
	return fmt.Errorf("rebuild because %s, by %s: %w", reason, actor, ErrUnavailable)
}

// cluster starts a node with a founded catalog and returns clients of a person with each role.
func testCluster(t *testing.T) (*backend, func(catalog.Role) *client.Client) {
	t.Helper()
	b, open := clusterOf(t, catalog.Level)
	return b, func(role catalog.Role) *client.Client {
		if role == "" {
			return open("holdfast-nobody-nothing")
		}
		b.made++
		return open(b.person(catalog.PersonID(fmt.Sprintf("%s-%d", role, b.made)), catalog.Giving{Role: role}))
	}
}

// localText is the node's local token.
const localText = "holdfast-local-secret"

// clusterOf starts a node with a catalog of the level and returns clients for tokens.
func clusterOf(t *testing.T, level int) (*backend, func(token string) *client.Client) {
	t.Helper()
	b := &backend{t: t, bytes: map[catalog.FileName][]byte{}, tokens: map[*client.Client]string{}}
	b.must(catalog.Found, catalog.Founding{
		Cluster: catalog.Cluster{ID: "c1", Name: "test", Epoch: 1, Level: level}, Collections: []catalog.Collection{{Name: "web"}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}, {Name: "third", Kind: catalog.Checksum, Place: "third"}},
		Member:   catalog.Member{ID: self, Name: "north-1", Key: key(), Replica: "north", Level: level},
	})
	b.api = New(Backend{Sessions: b, Catalog: b, Alerts: b, Notices: hooks{}, Archive: b, Losses: losses{}, Self: b, Proofs: Proofs{Audits: fakeAudits{}, Ledgers: fakeLedgers{}, Backups: sentBackups{b}, Checks: fakeChecks{}}, Strays: strays{}, OwnDisks: ownDisks{}, Crawls: crawls{b}, Ended: ended{}, Reading: Reading{Captures: b, Policy: b.policy, Contents: b}, Index: indexes{}, Invites: b, Secrets: secrets{}, Ingests: listsOfDomains{b}, Foresight: Foresight{previews{}, layoutPlans{}}, Indexes: indexesOfJobs{}, OfNodes: OfNodes{&b.books, nodeFigures{}}, Batches: runBatches{}, Node: self, Local: b.local, Used: b.note}, slog.New(slog.DiscardHandler))
	server := httptest.NewServer(b.api)
	t.Cleanup(server.Close)
	b.server = server
	return b, func(token string) *client.Client {
		c, err := client.New(server.URL, token)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		b.tokens[c] = token
		return c
	}
}

func (b *backend) local() (catalog.AccessToken, error) {
	token, err := ParseToken(localText)
	return catalog.AccessToken{ID: LocalID, Name: "local:north-1", Role: catalog.RoleAdmin, SecretHash: token.Hash()}, err
}

func (b *backend) note(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = append(b.used, id)
}

// as proposes in somebody's name what is expected to be carried out.
func (b *backend) as(actor string, kind catalog.Kind, body any) {
	b.t.Helper()
	result, err := b.Propose(b.t.Context(), kind, body, actor)
	if err != nil || result.Refusal != nil {
		b.t.Fatalf("%s: %v %v", kind, result.Refusal, err)
	}
}

// old makes a token as clusters below level 3 have it, and returns its text.
func (b *backend) old(name string, role catalog.Role) string {
	b.t.Helper()
	token := NewToken()
	b.must(catalog.CreateAccess, catalog.AccessToken{ID: token.ID, Name: name, SecretHash: token.Hash(), Role: role})
	return token.String()
}

// person makes an active person and returns the text of her token.
func (b *backend) person(id catalog.PersonID, grants ...catalog.Giving) string {
	b.t.Helper()
	invitation, own := NewToken(), NewToken()
	kept := func(t Token, role catalog.Role) catalog.AccessToken {
		return catalog.AccessToken{ID: t.ID, Name: string(id), SecretHash: t.Hash(), Role: role}
	}
	token := kept(invitation, catalog.RoleReader)
	token.Expires = catalog.At(time.Now().Add(time.Hour))
	local := catalog.Local(self)
	person := catalog.Person{ID: id, Name: string(id), Mail: string(id) + "@example.org"}
	b.as(local, catalog.InvitePerson, catalog.Invitation{Person: person, Token: token})
	b.as(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: token.ID, Token: kept(own, catalog.RoleAdmin)})
	for _, g := range grants {
		g.Person = id
		b.as(local, catalog.GiveGrant, g)
	}
	return own.String()
}

// secrets parts jobs from their secrets and keeps none.
type secrets struct{}

func (secrets) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, _, err := job.Part()
	return open, nil, err
}

// request is a request with a client's token for what the client has no method for.
func (b *backend) request(c *client.Client, method, path, body string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, c.Base()+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.tokens[c])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}
