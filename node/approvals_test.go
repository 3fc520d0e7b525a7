//go:build slow

package node

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/node/archive"
)

// TestAnActWaitsAtEveryNode: whichever node is asked, and in whose name it forwards the act, a loss waits for a second
// person, who may be at another node. Nobody else grants it there.
func TestAnActWaitsAtEveryNode(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	first, ctx := nodes[0], t.Context()
	var value json.RawMessage
	ask := func(n running, actor string, kind catalog.Kind, body any) error {
		result, err := n.raft.Propose(ctx, kind, body, actor)
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		value = result.Value
		return err
	}
	do := func(actor string, kind catalog.Kind, body any) {
		t.Helper()
		if err := ask(first, actor, kind, body); err != nil {
			t.Fatalf("%s by %s: %v", kind, actor, err)
		}
	}
	local := catalog.Local(first.id)
	eventually(t, "the cluster decides", func() error {
		return ask(first, local, catalog.SetCollection, catalog.Collection{Name: "radio"})
	})
	for _, id := range []catalog.PersonID{"anna", "berta"} {
		token := func(name string) catalog.AccessToken {
			return catalog.AccessToken{ID: string(id) + name, Name: name, SecretHash: sha256.Sum256([]byte(name)), Role: catalog.RoleAdmin}
		}
		invitation := token("-in")
		invitation.Expires = catalog.At(time.Now().Add(time.Hour))
		do(local, catalog.InvitePerson, catalog.Invitation{Person: catalog.Person{ID: id, Name: string(id), Mail: string(id) + "@example.org"}, Token: invitation})
		do(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: invitation.ID, Token: token("-own")})
		do(local, catalog.GiveGrant, catalog.Giving{Person: id, Role: catalog.RoleAdmin})
	}
	sum := sha256.Sum256([]byte("gone"))
	eventually(t, "the file enters", func() error {
		return ask(first, string(first.id), catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{
			{Name: "gone.warc", Size: 4, SHA256: sum, Collection: "web", Source: first.id}}})
	})
	do("person:anna", approvals.Set, approvals.Setting{Acts: approvals.Classes(), Reason: "test"})
	removal := catalog.FileRemoval{Name: "gone.warc", SHA256: sum, Reason: "test"}
	var refusal *catalog.Refusal
	for _, n := range nodes {
		for _, actor := range []string{"person:anna", "person:berta", catalog.Local(n.id), string(n.id), ""} {
			if err := ask(n, actor, catalog.RemoveFile, removal); !errors.As(err, &refusal) || refusal.Code != agree.Unapproved && refusal.Code != catalog.Denied {
				t.Errorf("%s removes the file as %q: %v", n.cfg.Name, actor, err)
			}
		}
	}
	var waits *approvals.Pending
	l := archive.Losses{Cluster: first.cluster()}
	eventually(t, "every node says that it has no bytes", func() error {
		err := l.Lose(ctx, "gone.warc", 0, "its disk broke", "person:anna")
		if err == nil {
			t.Fatal("it is declared lost by one person")
		}
		if !errors.As(err, &waits) {
			return err
		}
		return nil
	})
	yes := approvals.Decision{ID: waits.ID, Sum: waits.Sum}
	for _, n := range nodes {
		for _, actor := range []string{"person:anna", catalog.Local(n.id), catalog.Local(first.id), string(n.id), "", "program:none"} {
			if err := ask(n, actor, approvals.Grant, yes); !errors.As(err, &refusal) || refusal.Code != catalog.Denied {
				t.Errorf("%s grants it as %q: %v", n.cfg.Name, actor, err)
			}
		}
	}
	other := nodes[len(nodes)-1]
	if err := ask(other, "person:berta", approvals.Grant, yes); err != nil {
		t.Fatal(err)
	}
	var p approvals.Proposal
	if err := json.Unmarshal(value, &p); err != nil || p.State != approvals.Granted {
		t.Errorf("%+v, %v", p, err)
	}
	eventually(t, "it is lost", func() error {
		return other.raft.View(func(v catalog.View) error {
			f, err := v.File("gone.warc")
			if err == nil && f.Lost == 0 {
				err = errors.New("not yet")
			}
			return err
		})
	})
}
