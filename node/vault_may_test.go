//go:build slow

package node

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/node/vault"
)

// vaultWith is a vault of the node as its operator might have set it up.
func (r running) vaultWith(t *testing.T, only ...catalog.NodeID) *vault.Vault {
	t.Helper()
	cfg, err := r.vaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Only = only
	return vault.New(cfg)
}

// TestSecretsGoOnlyWhereTheOperatorSays lets a second node say that it crawls. It gets no secret from a node whose operator
// names others: neither when a job is made, nor later, nor under a name that is allowed.
func TestSecretsGoOnlyWhereTheOperatorSays(t *testing.T) {
	cfgs := threeConfigs(t, "")[:2]
	cfgs[0].SecretsTo = []string{"nobody"}
	first := startNodes(t, cfgs[:1])[0]
	job := secretJob()
	request := wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}}
	eventually(t, "the first node's key is known", func() error {
		return first.raft.View(func(v catalog.View) error {
			m, err := v.Member(first.id)
			if err == nil && (!m.Crawls || m.Seal == nil) {
				err = errors.New("not yet")
			}
			return err
		})
	})
	if code, text := first.ask(t, http.MethodPost, "/api/v1/jobs", request); code != http.StatusServiceUnavailable {
		t.Errorf("a job whose secrets nobody may have: %d %s", code, text)
	}
	if err := joinBy(t, first, cfgs[1]); err != nil {
		t.Fatal(err)
	}
	cfgs[1].SecretsTo = []string{"nobody"}
	second := start(t, cfgs[1])
	eventually(t, "the second node says that it crawls", func() error {
		return first.raft.View(func(v catalog.View) error {
			m, err := v.Member(second.id)
			if err == nil && (!m.Crawls || m.Seal == nil) {
				err = errors.New("not yet")
			}
			return err
		})
	})
	boxes := func(id string) (nodes []catalog.NodeID) {
		if err := first.raft.View(func(v catalog.View) error {
			x, err := v.Secret(id)
			for _, b := range x.Boxes {
				nodes = append(nodes, b.Node)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return nodes
	}
	mine := first.vaultWith(t, first.id)
	open, secret, err := mine.Seal(job)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(open)
	if err != nil {
		t.Fatal(err)
	}
	decideSoon(t, first, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Spec: spec, Secret: secret})
	_, forTemplate, err := mine.Seal(job)
	if err != nil {
		t.Fatal(err)
	}
	decideSoon(t, first, defined.CreateTemplate, defined.Creation{Name: "deep", Text: "{}", Secret: forTemplate})
	if err := mine.Round(t.Context()); err != nil {
		t.Error(err)
	}
	if got := boxes(secret.ID); !slices.Equal(got, []catalog.NodeID{first.id}) {
		t.Errorf("sealed to %v, want the first node alone", got)
	}
	if err := first.vaultWith(t, catalog.NodeID(second.cfg.Name), first.id).Round(t.Context()); err != nil {
		t.Error(err)
	}
	if got := boxes(secret.ID); len(got) != 1 {
		t.Errorf("sealed to %v by a name", got)
	}
	if _, err := second.vault.Open(first.job(t, 1)); err == nil {
		t.Error("the second node opens the secrets")
	}
	remove := func() string {
		code, text := first.ask(t, http.MethodPost, "/api/v1/nodes/"+second.cfg.Name+"/remove", wire.Removal{Lost: true, Reason: "taken over"})
		if code != http.StatusPreconditionRequired {
			t.Errorf("%d %s", code, text)
		}
		return text
	}
	if text := remove(); strings.Contains(text, "it knows logins") {
		t.Errorf("a node to which nothing was sealed: %s", text)
	}
	if err := first.vaultWith(t, first.id, second.id).Round(t.Context()); err != nil {
		t.Error(err)
	}
	if got := boxes(secret.ID); len(got) != 2 {
		t.Errorf("sealed to %v when both may have them", got)
	}
	text := remove() // whoever takes a node out learns what it knew
	for _, want := range []string{"it knows logins of job 1", "it knows logins of template deep", "credentials.0.password (127.0.0.1)", "headers.0", "proxies.0.via"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said: %s", want, text)
		}
	}
	if strings.Contains(text, marker) {
		t.Error("the answer holds the secret")
	}
}
