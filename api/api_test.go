package api

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	agreed "holdfast/catalog/jobs"
	"holdfast/cdx"
	"holdfast/client"
	"holdfast/harvest"
)

// status returns the HTTP status of a problem, 0 when there is none.
func status(err error) int {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func TestARoleMayDoWhatThoseBeforeItMay(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	acts := []struct {
		name string
		role catalog.Role
		do   func(c *client.Client) error
	}{
		{"status", catalog.RoleReader, func(c *client.Client) error { _, err := c.Status(t.Context()); return err }},
		{"create job", catalog.RoleCurator, func(c *client.Client) error {
			_, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
			return err
		}},
		{"audit", catalog.RoleOperator, func(c *client.Client) error { _, err := c.Audits().Start(t.Context(), wire.AuditRequest{}); return err }},
		{"join tokens", catalog.RoleAdmin, func(c *client.Client) error { _, err := c.Invites().List(t.Context()); return err }},
	}
	for _, role := range []catalog.Role{"", catalog.RoleReader, catalog.RoleCurator, catalog.RoleOperator, catalog.RoleAdmin} {
		c := as(role)
		for _, act := range acts {
			err := act.do(c)
			switch {
			case role == "" && status(err) != http.StatusUnauthorized:
				t.Errorf("nobody: %s: %v", act.name, err)
			case role != "" && !role.Includes(act.role) && status(err) != http.StatusForbidden:
				t.Errorf("%s: %s: %v", role, act.name, err)
			case role.Includes(act.role) && err != nil:
				t.Errorf("%s: %s: %v", role, act.name, err)
			}
		}
	}
}

func TestARevokedTokenIsRefused(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	admin := as(catalog.RoleAdmin)
	made, err := admin.Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "visitor", Role: wire.RoleReader, Lifetime: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	visitor, err := client.New(admin.Base(), made.Text)
	if err != nil {
		t.Fatal(err)
	}
	defer visitor.Close()
	if _, err := visitor.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := admin.Tokens().Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := visitor.Status(t.Context()); status(err) != http.StatusUnauthorized {
		t.Error(err)
	}
	tokens, err := admin.Tokens().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.Text != "" || token.Kind != "invitation" && (token.ID == made.ID) != (token.State == "revoked") {
			t.Errorf("%+v", token)
		}
	}
}

func TestWithoutAQuorumReadingWorksAndChangesSaySo(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	b.noQuorum = true
	st, err := c.Status(t.Context())
	if err != nil || st.Healthy || st.Cluster.Quorum || len(st.Problems) == 0 {
		t.Errorf("%v %+v", err, st)
	}
	_, err = c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if !errors.Is(err, ErrNoQuorum) || status(err) != http.StatusServiceUnavailable {
		t.Errorf("%v", err)
	}
}

func TestRefusalsAndMistakesAreToldApart(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	var refusal *wire.Error
	if err := c.Invites().Revoke(t.Context(), "none"); !errors.As(err, &refusal) || refusal.Code != wire.CodeNotFound || status(err) != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	if _, err := c.Files().Show(t.Context(), "none.warc"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := c.Audits().Show(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := c.Index().Rebuild(t.Context(), "", "it is slow"); !errors.Is(err, ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "it is slow") {
		t.Errorf("%v", err)
	}
	if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://anna:hunter2@example.org/"}}); status(err) != http.StatusUnprocessableEntity ||
		!strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a seed with a password: %v", err)
	}
	if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j"}); status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "seeds") {
		t.Errorf("%v", err)
	}
	body := `{"name": "j", "seeds": ["http://127.0.0.1/"], "settings": {"max_hop": 3}}`
	if code, text := b.ask(b.request(c, http.MethodPost, "/jobs", body)); code/100 != 4 || !strings.Contains(text, "max_hops") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := b.ask(b.request(c, http.MethodGet, "/files?limmit=3", "")); code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", code, text)
	}
	big := wire.JobRequest{Name: strings.Repeat("x", maxBody)}
	if _, err := c.Jobs().Create(t.Context(), big); status(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("%v", err)
	}
	if code, text := b.ask(b.request(c, http.MethodGet, "/nothing", "")); code != http.StatusNotFound {
		t.Errorf("%d %s", code, text)
	}
}

// bounded is a reader that gives up when it is asked more than left times.
type bounded struct {
	agree.Reader
	left *int
}

func (b bounded) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	if *b.left--; *b.left < 0 {
		return errors.New("asked too often")
	}
	return b.Reader.Scan(prefix, from, visit)
}

// A page of jobs costs the same wherever its cursor points: one far above the last job once kept a processor busy for ever.
func TestACursorAboveAllJobsCostsNoMore(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	if _, err := as(catalog.RoleCurator).Jobs().Create(t.Context(), wire.JobRequest{Name: "one", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, before := range []uint64{1, 2, 1 << 40, math.MaxUint64} {
		left := 300
		page, err := catalog.NewView(bounded{Reader: &b.state, left: &left}).Search(agreed.Search{}, before, 5)
		if err != nil || (len(page.Jobs) == 1) != (before > 1) {
			t.Errorf("below %d: %v %v", before, err, page)
		}
	}
}

func TestJobsAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	settings := &wire.Settings{Settings: harvest.DefaultSettings()}
	settings.MaxObjects = 9
	for i := range 23 {
		if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: fmt.Sprintf("job-%d", i+1), Seeds: []string{"http://127.0.0.1/"}, Settings: settings}); err != nil {
			t.Fatal(err)
		}
	}
	b.mu.Lock()
	found, err := catalog.NewView(&b.state).Search(agreed.Search{}, 0, 5)
	b.mu.Unlock()
	if jobs := found.Jobs; err != nil || len(jobs) != 5 || jobs[0].ID != 23 || jobs[4].ID != 19 {
		t.Fatalf("%v %v", err, jobs)
	}
	var page wire.Page[wire.Job]
	var ids []uint64
	for {
		code, text := b.ask(b.request(c, http.MethodGet, "/jobs?limit=10&after="+page.Next, ""))
		page = wire.Page[wire.Job]{}
		if err := json.Unmarshal([]byte(text), &page); err != nil || code != http.StatusOK {
			t.Fatal(code, err)
		}
		for _, j := range page.Items {
			ids = append(ids, j.ID)
		}
		if page.Next == "" {
			break
		}
	}
	if len(ids) != 23 || ids[0] != 23 || ids[22] != 1 || !slices.IsSortedFunc(ids, func(a, b uint64) int { return int(b) - int(a) }) {
		t.Errorf("%v", ids)
	}
	job, err := c.Jobs().Show(t.Context(), 23)
	if err != nil || job.Harvest != "job-23" || job.Collection != "web" || job.Settings.MaxObjects != 9 || job.State != wire.JobSubmitted {
		t.Errorf("%v %+v", err, job)
	}
	if _, err := c.Jobs().Wish(t.Context(), 23, wire.WishPause, "lunch"); err != nil {
		t.Error(err)
	}
	var log strings.Builder
	if err := c.Jobs().Log(t.Context(), 23, 10, &log); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v %q", err, log.String())
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: 22, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: 22, Node: self, Attempt: 1})
	if err := c.Jobs().Log(t.Context(), 22, 10, &log); err != nil || log.String() != "last 10 lines\n" {
		t.Errorf("%v %q", err, log.String())
	}
	if job, err = c.Jobs().Show(t.Context(), 22); err != nil || job.Progress == nil || job.Progress.Done != 5 || job.NodeName != "north-1" {
		t.Errorf("%v %+v", err, job)
	}
}

func TestNodesReplicasAndTrailAreShown(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 1)
	c := open(b.old("admin", catalog.RoleAdmin))
	for first := 0; first < catalog.Shards; first += 512 {
		shards := make([]catalog.Shard, 512)
		for i := range shards {
			shards[i] = catalog.Shard(first + i)
		}
		b.must(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: shards, Node: self})
	}
	node, err := c.Nodes().Show(t.Context(), "north-1")
	if err != nil || node.ID != string(self) || node.Shards != catalog.Shards || node.Presence.State != "alive" {
		t.Errorf("%v %+v", err, node)
	}
	if node, err = c.Nodes().Change(t.Context(), string(self[:8]), wire.NodeChange{Draining: new(true)}); err != nil || !node.Draining {
		t.Errorf("%v %+v", err, node)
	}
	if err := removeNode(t, c, "north-1", wire.Removal{Reason: "old"}); status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
	n := 0
	for shard, err := range c.Replicas().Shards(t.Context(), "north") {
		if err != nil || shard.Shard != catalog.Shard(n).String() || shard.Holder != string(self) {
			t.Fatalf("%v %+v", err, shard)
		}
		n++
	}
	if n != catalog.Shards {
		t.Errorf("%d shards", n)
	}
	replicas, err := c.Replicas().List(t.Context())
	if err != nil || len(replicas) != 2 || replicas[0].Held != catalog.Shards || replicas[1].Held != 0 {
		t.Errorf("%v %+v", err, replicas)
	}
	if token, err := c.Invites().Create(t.Context(), wire.JoinTokenRequest{Replica: "north"}); err != nil || token.Text != "join-text" || token.State != "open" {
		t.Errorf("%v %+v", err, token)
	}
	var acts []string
	for e, err := range c.Trail().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		acts = append(acts, e.Act)
	}
	if len(acts) == 0 || acts[0] != string(catalog.Found) {
		t.Errorf("%v", acts)
	}
}

func TestCapturesStreamAndSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	for i := range 2500 {
		b.captures = append(b.captures, cdx.Capture{Key: fmt.Sprintf("org,example)/%04d", i), Timestamp: "20261120000000", URL: "http://example.org/", Status: 200, File: "a.warc.gz", Offset: int64(i)})
	}
	b.missing = []int{3, 9}
	n := 0
	var incomplete *cdx.Incomplete
	for capture, err := range c.Captures(t.Context(), cdx.Query{URL: "example.org", Match: cdx.Host}) {
		if err != nil {
			if !errors.As(err, &incomplete) || len(incomplete.Shards) != 2 {
				t.Fatal(err)
			}
			break
		}
		if capture.Offset != int64(n) {
			t.Fatalf("%+v", capture)
		}
		n++
	}
	if n != 2500 || incomplete == nil {
		t.Errorf("%d captures, %v", n, incomplete)
	}
	for _, err := range c.Captures(t.Context(), cdx.Query{URL: "http://", Match: cdx.Exact}) {
		if status(err) != http.StatusUnprocessableEntity {
			t.Error(err)
		}
	}
}

func TestAnUnreachedServerIsUnavailable(t *testing.T) {
	t.Parallel()
	c, err := client.New("127.0.0.1:1", "holdfast-a-b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if _, err := client.New("ftp://x", ""); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestATokensSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	token := NewToken()
	again, err := ParseToken(token.String() + "\n")
	if err != nil || again != token {
		t.Error(err)
	}
	if text := fmt.Sprintf("%v %+v %s", token, token, token); strings.Contains(text, token.Secret) {
		t.Error(text)
	}
	for _, bad := range []string{"", "holdfast-", "holdfast-a", "holdfast-a-", "token-a-b", strings.Repeat("x", 5000)} {
		if _, err := ParseToken(bad); !errors.Is(err, ErrToken) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	fmt.Fprint(io.Discard, token)
}

// The token goes to the server that was named, and by plain HTTP to another machine only where http:// was asked for.
func TestTheTokenStaysInCover(t *testing.T) {
	for address, want := range map[string]string{"127.0.0.1:7481": "http://127.0.0.1:7481", "localhost:7481": "http://localhost:7481", "[::1]:7481": "http://[::1]:7481",
		"archive.example.org:7481": "https://archive.example.org:7481", "archive.example.org": "https://archive.example.org", "192.0.2.1:7481": "https://192.0.2.1:7481",
		"http://192.0.2.1:7481": "http://192.0.2.1:7481", "[2001:db8::1]:7481": "https://[2001:db8::1]:7481"} {
		c, err := client.New(address, "holdfast-a-b")
		if err != nil || c.Base() != want {
			t.Errorf("%s is asked at %v, %v", address, c.Base(), err)
		}
	}
	for address, want := range map[string]bool{"http://127.0.0.1:7481": false, "http://[::1]:7481": false, "http://LOCALHOST.": false,
		"https://192.0.2.1:7481": false, "192.0.2.1:7481": false, "http://192.0.2.1:7481": true, "HTTP://archive.example.org": true,
		"http://0.0.0.0:7481": true, "http://127.0.0.1.example.org": true, "http://127.0.0.1@example.org": true,
		"127.0.0.1:80@example.org": true, "localhost:80@example.org": true, "http://localhost.example.org": true,
		"http://127.1:7481": true, "http://0x7f000001": true, "http://[::ffff:192.0.2.1]:1": true, "http://[::ffff:127.0.0.1]:1": false} {
		c, err := client.New(address, "holdfast-a-b")
		if err == nil && client.Exposed(c) != want {
			t.Errorf("%s is asked at %s; the token is exposed: %t", address, c.Base(), client.Exposed(c))
		}
		if err != nil && !want {
			t.Errorf("%s: %v", address, err)
		}
	}
	var told []string
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.Header.Get("Authorization")) }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer secure.Close()
	c, err := client.New(secure.URL, "holdfast-a-b")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.TrustOnly(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Nodes().List(t.Context()); status(err) != http.StatusTemporaryRedirect || len(told) != 0 {
		t.Errorf("redirected to plain HTTP: %v, and it was told %q", err, told)
	}
}
