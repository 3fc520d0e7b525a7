//go:build slow

package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/membership"
)

// The password that no disk, answer or document may show.
const marker = "qX7vR2mZ9kLw4TbN8sHd"

func secretJob() harvest.Job {
	job := harvest.Job{Name: "j", Seeds: []string{"http://127.0.0.1:1/"}, Settings: harvest.DefaultSettings()}
	job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "anna", Password: marker}}
	job.Settings.Headers = []string{"Cookie: " + marker}
	job.Settings.Proxies = []harvest.Route{{Hosts: []string{"none.example.org"}, Via: "http://me:" + marker + "@127.0.0.1:1"}}
	job.Settings.AllowPrivate, job.Settings.MaxRetries = true, 0
	return job
}

// showing returns the files below the folders that hold the password in clear.
func showing(t *testing.T, dirs ...string) (found []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return ignoreGone(err)
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(marker)) {
				found = append(found, path)
			}
			return ignoreGone(err)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r running) agreedDirs() []string {
	return []string{filepath.Join(r.cfg.Data, "raft"), filepath.Join(r.cfg.Data, "catalog"), filepath.Join(r.cfg.Data, "identity")}
}

// decideSoon proposes until there is a quorum, and fails on a refusal.
func decideSoon(t *testing.T, n running, kind catalog.Kind, body any) catalog.Result {
	t.Helper()
	var result catalog.Result
	eventually(t, string(kind), func() (err error) {
		result, err = n.raft.Propose(t.Context(), kind, body, catalog.Local(n.id))
		return err
	})
	if result.Refusal != nil {
		t.Fatalf("%s: %v", kind, result.Refusal)
	}
	return result
}

// decideAs is insist in the name of who has the node's local token.
func (r running) decideAs(ctx context.Context, kind catalog.Kind, body any) (*catalog.Refusal, error) {
	for {
		result, err := r.raft.Propose(ctx, kind, body, catalog.Local(r.id))
		if err == nil || ctx.Err() != nil {
			return result.Refusal, err
		}
	}
}

// person makes an active person with a grant for the whole archive and returns the text of her token.
func (r running) person(t *testing.T, id catalog.PersonID, g catalog.Giving) string {
	t.Helper()
	by := func(actor string, kind catalog.Kind, body any) {
		t.Helper()
		eventually(t, string(kind), func() error {
			result, err := r.raft.Propose(t.Context(), kind, body, actor)
			if err == nil && result.Refusal != nil {
				err = result.Refusal
			}
			return err
		})
	}
	invitation, own := api.NewToken(), api.NewToken()
	invited := catalog.AccessToken{ID: invitation.ID, Name: "invitation", SecretHash: invitation.Hash(), Expires: catalog.At(time.Now().Add(time.Hour))}
	by(catalog.Local(r.id), catalog.InvitePerson, catalog.Invitation{Token: invited,
		Person: catalog.Person{ID: id, Name: "Ms " + string(id), Mail: string(id) + "@example.org"}})
	by(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: invitation.ID,
		Token: catalog.AccessToken{ID: own.ID, Name: string(id), SecretHash: own.Hash(), Role: catalog.RoleAdmin}})
	g.Person = id
	by(catalog.Local(r.id), catalog.GiveGrant, g)
	return own.String()
}

func (r running) job(t *testing.T, id uint64) (job catalog.Job) {
	t.Helper()
	err := r.raft.View(func(v catalog.View) (err error) { job, err = v.Job(id); return err })
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		t.Fatal(err)
	}
	return job
}

// ask sends a request to a node's API as its local operator.
func (r running) ask(t *testing.T, method, path string, body any) (int, string) {
	t.Helper()
	token, err := os.ReadFile(r.cfg.TokenPath())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return r.send(t, httptest.NewRequest(method, path, bytes.NewReader(text)), strings.TrimSpace(string(token)))
}

// askAs is ask with a token, and without a body.
func (r running) askAs(t *testing.T, token, method, path string) (int, string) {
	t.Helper()
	return r.send(t, httptest.NewRequest(method, path, nil), token)
}

func (r running) send(t *testing.T, request *http.Request, token string) (int, string) {
	t.Helper()
	request.Header.Set("Authorization", "Bearer "+token)
	if request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	api.New(r.backend(), slogOf(t)).ServeHTTP(answer, request.WithContext(t.Context()))
	return answer.Code, answer.Body.String()
}

// The secrets of a job reach the nodes that crawl and no other, and no byte of them lies in clear in log, catalog or backup, or is in an
// answer.
func TestSecretsAreSealedToTheNodesThatCrawl(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	cfgs[2].Limits.Crawls = 0
	nodes := startNodes(t, cfgs[:1])
	job := secretJob()
	request := wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}}
	nodes[0].crawls.SetSlots(0) // nobody claims the job
	var answers []string
	eventually(t, "create a job", func() error {
		code, text := nodes[0].ask(t, http.MethodPost, "/api/v1/jobs", request)
		if code != http.StatusCreated {
			return fmt.Errorf("%d %s", code, text)
		}
		answers = append(answers, text)
		return nil
	})
	for _, path := range []string{"/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/status", "/api/v1/trail"} {
		_, text := nodes[0].ask(t, http.MethodGet, path, nil)
		answers = append(answers, text)
	}
	for _, cfg := range cfgs[1:] {
		if err := joinBy(t, nodes[0], cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Limits.Crawls = min(cfg.Limits.Crawls, 1)
		n := start(t, cfg)
		n.crawls.SetSlots(0)
		nodes = append(nodes, n)
	}
	opens := func(n running) error {
		got, err := n.vault.Open(n.job(t, 1))
		if err != nil {
			return err
		}
		if want, have := asJSON(t, job), asJSON(t, got); want != have {
			return fmt.Errorf("opened %s, want %s", have, want)
		}
		return nil
	}
	for _, n := range nodes[:2] { // the second joined after the job was made
		eventually(t, n.cfg.Name+" opens the secrets", func() error { return opens(n) })
	}
	eventually(t, "third-1 knows the job", func() error {
		if nodes[2].job(t, 1).Secret == "" {
			return errors.New("not yet")
		}
		return nil
	})
	if err := opens(nodes[2]); err == nil {
		t.Error("a node that does not crawl opens the secrets")
	}
	var backup bytes.Buffer
	nodes[0].writtenState(t, &backup)
	for _, n := range nodes {
		if found := showing(t, n.agreedDirs()...); len(found) > 0 {
			t.Errorf("%s shows the password in %v", n.cfg.Name, found)
		}
	}
	if all := backup.String() + strings.Join(answers, "\n"); strings.Contains(all, marker) {
		t.Error("the password is in the backup or in an answer")
	}

	// A node that is removed gets none any more, and what was sealed to it goes.
	removed := nodes[1]
	decideSoon(t, nodes[0], catalog.RemoveMember, catalog.MemberRemoval{ID: removed.id, Lost: true})
	eventually(t, "the removed node's box goes", func() error {
		var x catalog.Secret
		err := nodes[0].raft.View(func(v catalog.View) (err error) { x, err = v.Secret(nodes[0].job(t, 1).Secret); return err })
		for _, b := range x.Boxes {
			if b.Node == removed.id {
				return errors.Join(err, errors.New("it is there"))
			}
		}
		return err
	})
	mustEnd(t, removed.end)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Secrets that level 1 stored in clear are sealed when the level is raised, and then no byte of them is left in the log and the state.
func TestSecretsStoredInClearAreSealedAtLevel2(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")[:2]
	for i := range cfgs {
		cfgs[i].Limits.Crawls = 1
	}
	if _, err := membership.Init(t.Context(), folderOf(cfgs[0], slogOf(t)), 1, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	nodes := []running{start(t, cfgs[0])}
	if err := joinBy(t, nodes[0], cfgs[1]); err != nil {
		t.Fatal(err)
	}
	nodes = append(nodes, start(t, cfgs[1]))
	job := secretJob()
	var err error
	if job.Settings, err = job.Settings.AtLevel(1); err != nil {
		t.Fatal(err)
	}
	old := catalog.JobCreation{Harvest: "h", Collection: "web", Spec: json.RawMessage(asJSON(t, job))}
	for range 2 {
		decideSoon(t, nodes[0], catalog.CreateJob, old)
	}
	decideSoon(t, nodes[0], catalog.WishJob, catalog.JobWishing{ID: 2, Wish: catalog.WishStop})
	eventually(t, "both nodes have the password in clear", func() error {
		for _, n := range nodes {
			if len(showing(t, n.agreedDirs()...)) == 0 {
				return errors.New("not yet on " + n.cfg.Name)
			}
		}
		return nil
	})
	request := wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}}
	if code, text := nodes[0].ask(t, http.MethodPost, "/api/v1/jobs", request); code != http.StatusNotImplemented || !strings.Contains(text, "holdfast cluster level 2") {
		t.Errorf("a job with secrets at level 1: %d %s", code, text)
	}
	decideSoon(t, nodes[0], catalog.RaiseLevel, catalog.LevelChange{Level: 2})
	for _, n := range nodes {
		eventually(t, "no byte of the password is on "+n.cfg.Name, func() error {
			if found := showing(t, n.agreedDirs()...); len(found) > 0 {
				return fmt.Errorf("it is in %v", found)
			}
			if _, err := os.Stat(filepath.Join(n.cfg.Data, "raft", "purged")); err != nil {
				return err
			}
			return nil
		})
	}
	check := func(n running) {
		t.Helper()
		for id := uint64(1); id <= 2; id++ {
			eventually(t, fmt.Sprintf("job %d can be read on %s", id, n.cfg.Name), func() error { // once it is sealed to the node
				got, err := n.vault.Open(n.job(t, id))
				if err == nil && asJSON(t, got) != asJSON(t, job) {
					err = fmt.Errorf("it is %s", asJSON(t, got))
				}
				return err
			})
		}
		if err := n.raft.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, n := range nodes {
		check(n)
	}
	decideSoon(t, nodes[0], catalog.SetCollection, catalog.Collection{Name: "after"})
	for i, n := range nodes { // with a state that was written again and a log that was cut
		n.halt(t)
		nodes[i] = start(t, n.cfg.Config)
	}
	decideSoon(t, nodes[1], catalog.SetCollection, catalog.Collection{Name: "later"})
	for _, n := range nodes {
		check(n)
		eventually(t, "both decisions on "+n.cfg.Name, func() error {
			if err := n.raft.Linear(context.WithoutCancel(t.Context())); err != nil {
				return err
			}
			return n.raft.View(func(v catalog.View) error {
				all, err := v.Collections()
				if len(all) != 3 {
					return fmt.Errorf("%d collections, %w", len(all), err)
				}
				return err
			})
		})
		if found := showing(t, n.agreedDirs()...); len(found) > 0 {
			t.Errorf("%s shows the password in %v", n.cfg.Name, found)
		}
	}
}

// A job whose secrets no node can open any more is told of.
func TestAJobThatNobodyCanRunIsShown(t *testing.T) {
	t.Parallel()
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	n.crawls.SetSlots(0)
	job := secretJob()
	request := wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}}
	eventually(t, "create a job", func() error {
		if code, text := n.ask(t, http.MethodPost, "/api/v1/jobs", request); code != http.StatusCreated {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	if got := alert.Texts(n.vault.Alerts()); len(got) != 0 {
		t.Errorf("%v", got)
	}
	n.halt(t)
	if err := os.Remove(n.cfg.SealKeyPath()); err != nil { // the node comes back with another key
		t.Fatal(err)
	}
	cfg := n.cfg.Config
	n = start(t, cfg)
	eventually(t, "it is told", func() error {
		if got := alert.Texts(n.vault.Alerts()); len(got) != 1 || !strings.Contains(got[0], "job 1 waits: no node that crawls can open") {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	if claimed := n.job(t, 1); claimed.Node != "" {
		t.Errorf("a node claimed a job that it cannot run: %+v", claimed)
	}
}
