//go:build slow

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/node/config"
	"holdfast/node/figures"
	"holdfast/node/logbook"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/runner"
	"holdfast/node/status"
	"holdfast/node/warrant"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/replica"
)

// A member gets what a person may only with the token of one who may: each call that does something in a person's name is refused without
// a token, with one of too low a role, and with one that was revoked.
func TestMembersNeedTheTokenOfWhoMay(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	asked, asker := nodes[0], nodes[1]
	tokens := map[catalog.Role]string{}
	for _, role := range []catalog.Role{catalog.RoleReader, catalog.RoleCurator, catalog.RoleOperator} {
		tokens[role] = asked.person(t, catalog.PersonID(role), catalog.Giving{Role: role})
	}
	admin := asked.person(t, "admin", catalog.Giving{Role: catalog.RoleAdmin})
	make := func(valid time.Duration) api.Token {
		token := api.NewToken()
		kept := catalog.AccessToken{ID: token.ID, Name: "program " + token.ID, Role: catalog.RoleAdmin, SecretHash: token.Hash()}
		if valid > 0 {
			kept.Expires = catalog.At(time.Now().Add(valid))
		}
		decideSoon(t, asked, catalog.MakeToken, catalog.TokenMaking{Token: kept, Owner: "admin", Program: true})
		return token
	}
	revoked, expired := make(0), make(time.Hour)
	decideSoon(t, asked, catalog.RevokeAccess, catalog.Named{ID: revoked.ID})
	later := asked.warrants
	later.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if _, err := later.Check(asker.id, expired.String(), warrant.Deed{Act: catalog.Look}); wire.ReasonOf(err) != warrant.CodeForbidden {
		t.Errorf("an expired token: %v", err)
	}
	if by, err := asked.warrants.Check(asker.id, expired.String(), warrant.Deed{Act: catalog.KeepPeople}); err != nil || by != "program:"+expired.ID {
		t.Errorf("before it expired: %q %v", by, err)
	}
	if by, err := asked.warrants.Check(asker.id, admin, warrant.Deed{Act: catalog.Look}); err != nil || by != "person:admin" {
		t.Errorf("a person's: %q %v", by, err)
	}
	gone := asked.person(t, "gone", catalog.Giving{Role: catalog.RoleOperator})
	decideSoon(t, asked, catalog.DisablePerson, catalog.PersonRef{ID: "gone"})
	ended := asked.person(t, "ended", catalog.Giving{Role: catalog.RoleOperator})
	grants := []catalog.Grant{}
	if err := asked.raft.View(func(v catalog.View) (err error) { grants, err = catalog.PeopleIn(v).GrantsOf("ended"); return err }); err != nil {
		t.Fatal(err)
	}
	decideSoon(t, asked, catalog.EndGrant, catalog.Ending{Person: "ended", ID: grants[0].ID})
	elsewhere := asked.person(t, "elsewhere", catalog.Giving{Role: catalog.RoleOperator, Place: "south"})
	order := func(given act.Act) runner.OrderRequest {
		return runner.OrderRequest{Job: 7, Order: act.Order{Act: given}}
	}
	send := func(kind, token string, request any) error {
		about, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		if about, err = warrant.Seal(token, about); err != nil {
			t.Fatal(err)
		}
		_, err = carrier{asker.peer}.Call(t.Context(), asked.id, kind, about)
		return err
	}
	private := map[string]json.RawMessage{"proxies": json.RawMessage(`[{"hosts":["*"],"via":"http://127.0.0.1:1"}]`)}
	for name, tt := range map[string]struct {
		kind    string
		request any
		need    catalog.Role
	}{
		"look at a crawl":                 {runner.OrderCall, order(act.Live{}), catalog.RoleReader},
		"steer a crawl":                   {runner.OrderCall, order(act.Pause{}), catalog.RoleCurator},
		"change settings":                 {runner.OrderCall, order(act.Change{Settings: harvest.Patch{"max_hops": json.RawMessage("3")}}), catalog.RoleCurator},
		"let a crawl reach what is inner": {runner.OrderCall, order(act.Change{Settings: private}), catalog.RoleOperator},
		"list audits":                     {replica.AuditCall, replica.AuditRequest{Act: "list"}, catalog.RoleReader},
		"begin an audit":                  {replica.AuditCall, replica.AuditRequest{Act: "start", ID: "a"}, catalog.RoleOperator},
		"stop an audit":                   {replica.AuditCall, replica.AuditRequest{Act: "stop", ID: "a"}, catalog.RoleOperator},
		"look at an index":                {lookup.IndexCall, lookup.IndexRequest{}, catalog.RoleReader},
		"rebuild an index":                {lookup.IndexCall, lookup.IndexRequest{Rebuild: true}, catalog.RoleOperator},
		"verify a copy":                   {replica.VerifyCall, "none.warc", catalog.RoleOperator},
		"find a lost file":                {replica.FindCall, replica.Held{Name: "none.warc"}, catalog.RoleOperator},
		"list what nobody counts on":      {replica.StraysCall, struct{}{}, catalog.RoleOperator},
		"adopt a stray":                   {replica.StrayCall, replica.StrayRequest{Act: "adopt", Adoption: replica.Adoption{Name: "x"}}, catalog.RoleOperator},
		"list a quarantine":               {replica.QuarantineCall, replica.AsideRequest{Act: "list"}, catalog.RoleOperator},
		"take bytes out of a quarantine":  {replica.QuarantineCall, replica.AsideRequest{Act: "restore", ID: "x"}, catalog.RoleOperator},
		"see which jobs run":              {runner.RunningCall, struct{}{}, catalog.RoleReader},
		"see what a node sees":            {status.AlertsCall, struct{}{}, catalog.RoleReader},
		"read a node's log":               {logbook.LinesCall, api.LogQuery{}, catalog.RoleOperator},
		"see a node's figures":            {figures.Call, figures.Request{Span: "hour"}, catalog.RoleReader},
		"make a node log more":            {logbook.RaiseCall, logbook.RaiseRequest{Level: "debug", Seconds: 60}, catalog.RoleOperator},
		"see a job's progress":            {runner.ProgressCall, 7, catalog.RoleReader},
	} {
		t.Run(name, func(t *testing.T) {
			bad := map[string]string{"none": "", "nonsense": "holdfast-x-y", "revoked": revoked.String(), "of a disabled person": gone, "of an ended grant": ended,
				"forged local": "holdfast-local-" + strings.Repeat("0", 64)}
			for role, token := range tokens {
				if !role.Includes(tt.need) {
					bad[string(role)] = token
				}
			}
			if tt.need == catalog.RoleOperator && name != "list what nobody counts on" && name != "list a quarantine" {
				bad["of an operator of another place"] = elsewhere
			}
			for which, token := range bad {
				if err := send(tt.kind, token, tt.request); wire.ReasonOf(err) != warrant.CodeForbidden {
					t.Errorf("with a token %s: %v", which, err)
				}
			}
			if _, err := wire.Ask[json.RawMessage](t.Context(), carrier{asker.peer}, asked.id, tt.kind, tt.request); wire.ReasonOf(err) != warrant.CodeForbidden {
				t.Errorf("without an envelope: %v", err)
			}
			if err := send(tt.kind, tokens[tt.need], tt.request); wire.ReasonOf(err) == warrant.CodeForbidden {
				t.Errorf("with the role %s: %v", tt.need, err)
			}
		})
	}
	t.Run("read a job's log", func(t *testing.T) {
		job := catalog.Job{ID: 7, Attempt: 1, Node: asked.id}
		dir := filepath.Join(asked.cfg.Data, "jobs", "7_20260101000000")
		for path, text := range map[string]string{runner.AttemptPath(dir): asJSON(t, job), filepath.Join(dir, "logs", "crawl.log"): "a line\n"} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for token, want := range map[string]string{"": "", revoked.String(): "", tokens[catalog.RoleReader]: "a line\n"} {
			s, err := asker.peer.Open(t.Context(), peer.ID(asked.id), runner.LogStream)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.NewEncoder(s).Encode(runner.LogRequest{Job: job, Warrant: token}); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(s); err != nil || string(got) != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			_ = s.Close()
		}
	})
}

// What one asks of another node at one's own, with its local token, reaches that node as long as its cluster.toml lets that token count.
func TestLocalTokensOfOtherNodes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	asked, asker := nodes[0], nodes[1]
	eventually(t, "the local token is known", func() error {
		_, err := wire.Ask[[]replica.Audit](t.Context(), asker.warrants.Caller(carrier{asker.peer}), asked.id, replica.AuditCall, replica.AuditRequest{Act: "list"})
		return err
	})
	local, err := asker.token.Text()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asked.warrants.Check(asker.id, local, warrant.Deed{Act: catalog.KeepPeople}); err != nil {
		t.Errorf("its own token: %v", err)
	}
	if _, err := asker.warrants.Check(asked.id, local, warrant.Deed{Act: catalog.Look}); wire.ReasonOf(err) != warrant.CodeForbidden {
		t.Errorf("from another node: %v", err)
	}
	for role, good := range map[string]bool{"none": false, "reader": false, "operator": true} {
		file := *asked.cfg.File
		file.Nodes = append([]config.NodeTable{}, file.Nodes...)
		for i := range file.Nodes {
			file.Nodes[i].LocalToken = &role
		}
		w := asked.warrants
		cfg := asked.cfg
		cfg.File = &file
		w.Trusts = func(m catalog.Member) (catalog.Role, bool) { return cfg.LocalRole(m.Name) }
		if _, err := w.Check(asker.id, local, warrant.Deed{Act: catalog.ReachInside}); (err == nil) != good {
			t.Errorf("local-token = %q: %v", role, err)
		}
	}

	// A new token takes the old one's place: here at once, elsewhere as soon as the node has told.
	if err := membership.RotateToken(asker.cfg.Config); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(asker.cfg.TokenPath()); err != nil || info.Mode().Perm() != membership.OwnerOnly {
		t.Errorf("%v, %v", info, err)
	}
	if code, text := asker.askAs(t, local, http.MethodGet, "/api/v1/status"); code != http.StatusUnauthorized {
		t.Errorf("the old token: %d %s", code, text)
	}
	if code, text := asker.ask(t, http.MethodGet, "/api/v1/status", nil); code != http.StatusOK {
		t.Errorf("the new token: %d %s", code, text)
	}
	if err := asker.vault.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new token is known", func() error {
		now, err := asker.token.Text()
		if err != nil {
			return err
		}
		if _, err := asked.warrants.Check(asker.id, now, warrant.Deed{Act: catalog.KeepPeople}); err != nil {
			return err
		}
		if _, err := asked.warrants.Check(asker.id, local, warrant.Deed{Act: catalog.Look}); wire.ReasonOf(err) != warrant.CodeForbidden {
			return fmt.Errorf("the old token is known still: %w", errors.Join(err, errors.New("want it refused")))
		}
		return nil
	})
}

// A member brings commands of others to the leader, which has those refused that their actor may not have asked for.
func TestAForwardedCommandIsOneThatItsActorMay(t *testing.T) {
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	nodes[0].person(t, "reader", catalog.Giving{Role: catalog.RoleReader})
	follower := nodes[0]
	if follower.raft.IsLeader() {
		follower = nodes[1]
	}
	propose := func(kind catalog.Kind, body any, actor string) *catalog.Refusal {
		t.Helper()
		var result catalog.Result
		eventually(t, string(kind), func() (err error) {
			result, err = follower.raft.Propose(t.Context(), kind, body, actor)
			return err
		})
		return result.Refusal
	}
	other := nodes[0].id
	if other == follower.id {
		other = nodes[1].id
	}
	for _, actor := range []string{"person:reader", "person:nobody", "root", "", string(follower.id), catalog.Local(other)} {
		refusal := propose(catalog.SetCollection, catalog.Collection{Name: "radio"}, actor)
		if refusal == nil || refusal.Code != catalog.Denied {
			t.Errorf("a collection by %q: %v", actor, refusal)
		}
	}
	if refusal := propose(catalog.SetCollection, catalog.Collection{Name: "radio"}, catalog.Local(follower.id)); refusal != nil {
		t.Error(refusal)
	}
}
