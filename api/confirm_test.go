package api

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// removeNode removes a node as somebody does who confirms whatever is said.
func removeNode(t *testing.T, c *client.Client, name string, r wire.Removal) error {
	t.Helper()
	err := c.Nodes().Remove(t.Context(), name, r)
	var asked *wire.Error
	if !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed || status(err) != http.StatusPreconditionRequired || asked.Confirm == "" {
		t.Fatalf("it is not said what would happen: %v", err)
	}
	r.Confirm = asked.Confirm
	return c.Nodes().Remove(t.Context(), name, r)
}

// One call does not remove a node: it says what would happen, the loss of the quorum above all.
func TestARemovalSaysWhatItDoesFirst(t *testing.T) {
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	err := c.Nodes().Remove(t.Context(), "north-1", wire.Removal{Lost: true, Reason: "x"})
	var asked *wire.Error
	if !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed {
		t.Fatal(err)
	}
	for _, want := range []string{"it is the node that answers", "replica north has no node any more", "CANNOT DECIDE", "counts as lost"} {
		if !slices.ContainsFunc(asked.Fields, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%q is not said: %q", want, asked.Fields)
		}
	}
	// What confirms one act does not confirm another.
	if err := c.Nodes().Remove(t.Context(), "north-1", wire.Removal{Reason: "x", Confirmation: wire.Confirmation{Confirm: asked.Confirm}}); status(err) != http.StatusPreconditionRequired {
		t.Error(err)
	}
	nodes, err := c.Nodes().List(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Errorf("%v %v", nodes, err)
	}
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "web", Source: self}}})
	sum := catalog.Digest{1}.String()
	err = c.Files().Remove(t.Context(), "a.warc", wire.FileRemoval{SHA256: sum, Reason: "x"})
	if !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed {
		t.Fatal(err)
	}
	if f, err := c.Files().Show(t.Context(), "a.warc"); err != nil || !f.Removed.IsZero() {
		t.Errorf("%+v %v", f, err)
	}
	if err := c.Files().Remove(t.Context(), "a.warc", wire.FileRemoval{SHA256: sum, Reason: "x", Confirmation: wire.Confirmation{Confirm: asked.Confirm}}); err != nil {
		t.Error(err)
	}
}

// What confirms the removal of a node does not confirm that of another which has its name, nor of itself once it has joined again.
func TestAConfirmationIsOfOneNode(t *testing.T) {
	ask := func(given, which string) (said string) {
		t.Helper()
		var p *huma.ErrorModel
		if err := confirmed(given, "remove node", "north-1", which, []string{"it stops"}); err != nil && errors.As(err, &p) {
			said, _ = p.Errors[len(p.Errors)-1].Value.(string)
		} else if err != nil {
			t.Fatal(err)
		}
		return said
	}
	value := ask("", "id-1 joined first")
	if ask(value, "id-1 joined first") != "" {
		t.Error("what was said does not confirm")
	}
	for _, other := range []string{"id-2 joined first", "id-1 joined again"} {
		if ask(value, other) == "" {
			t.Errorf("it confirms the removal of %s, too", other)
		}
	}
}

// raise makes the cluster one of the level.
func (b *backend) raise(level int) {
	b.t.Helper()
	b.must(catalog.UpdateMember, catalog.MemberChange{ID: self, Level: &level})
	b.must(catalog.RaiseLevel, catalog.LevelChange{Level: level})
}

// What was confirmed is done to what was shown: when something is decided in between, the act is refused.
func TestAConfirmedActIsDoneToWhatWasShown(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	key2 := slices.Repeat([]byte{9}, 32)
	other := catalog.Fingerprint(key2)
	b.must(catalog.CreateToken, catalog.JoinToken{ID: "j", SecretHash: sha256.Sum256([]byte("s")), Replica: "north", Expires: 1 << 50})
	b.must(catalog.JoinMember, catalog.Joining{Token: "j", Secret: []byte("s"), Member: catalog.Member{ID: other, Name: "north-2", Key: key2, Replica: "north", Level: catalog.Level}})
	b.holdAll()
	confirm := func(act func(confirm string) error) error {
		t.Helper()
		var asked *wire.Error
		if err := act(""); !errors.As(err, &asked) || asked.Confirm == "" {
			t.Fatalf("it is not said what would happen: %v", err)
		}
		return act(asked.Confirm)
	}
	removal := func(confirm string) error {
		return c.Nodes().Remove(t.Context(), "north-2", wire.Removal{Lost: true, Reason: "x", Confirmation: wire.Confirmation{Confirm: confirm}})
	}
	b.between = func() {
		b.must(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{7}, Node: other})
	}
	if err := confirm(removal); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("a node that was given a shard meanwhile: %v", err)
	}
	if nodes, err := c.Nodes().List(t.Context()); err != nil || len(nodes) != 2 {
		t.Fatalf("%v %v", nodes, err)
	}
	if err := confirm(removal); err != nil {
		t.Errorf("as it was shown: %v", err)
	}
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "web", Source: self}}})
	remove := func(confirm string) error {
		return c.Files().Remove(t.Context(), "a.warc", wire.FileRemoval{SHA256: catalog.Digest{1}.String(), Reason: "x", Confirmation: wire.Confirmation{Confirm: confirm}})
	}
	b.between = func() {
		b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: "a.warc", State: catalog.UploadCompleted, SHA256: catalog.Digest{1}}}})
	}
	if err := confirm(remove); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("a file that got its first copy meanwhile: %v", err)
	}
	if err := confirm(remove); err != nil {
		t.Errorf("as it was shown: %v", err)
	}
}

// A replica and a collection are removed when nothing belongs to them, and else it is said what does.
func TestReplicasAndCollectionsAreRemoved(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 1)
	admin, operator := open(b.old("admin", catalog.RoleAdmin)), open(b.old("operator", catalog.RoleOperator))
	reject := func(what string, err error, code int, says string) {
		t.Helper()
		if status(err) != code || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	reject("at level 1", admin.Replicas().Remove(t.Context(), "third", "x"), http.StatusNotImplemented, "raise the level")
	reject("at level 1", admin.Collections().Remove(t.Context(), "web", "x"), http.StatusNotImplemented, "raise the level")
	b.raise(3)
	for _, name := range []string{"radio", "tv"} {
		if _, err := admin.Collections().Add(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Replicas().Add(t.Context(), wire.ReplicaRequest{Name: "coast", Kind: wire.Checksum, Collections: []string{"tv"}}); err != nil {
		t.Fatal(err)
	}
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Size: 3, SHA256: catalog.Digest{1}, Collection: "radio", Source: self}}})
	reject("an operator", operator.Replicas().Remove(t.Context(), "coast", "x"), http.StatusForbidden, "")
	reject("an operator", operator.Collections().Remove(t.Context(), "tv", "x"), http.StatusForbidden, "")
	reject("no reason", admin.Replicas().Remove(t.Context(), "coast", ""), http.StatusUnprocessableEntity, "reason")
	reject("unknown", admin.Replicas().Remove(t.Context(), "moon", "x"), http.StatusNotFound, `no replica "moon"`)
	reject("unknown", admin.Collections().Remove(t.Context(), "moon", "x"), http.StatusNotFound, `no collection "moon"`)
	reject("with a node", admin.Replicas().Remove(t.Context(), "north", "x"), http.StatusConflict, "has a node, north-1")
	reject("with a replica", admin.Collections().Remove(t.Context(), "tv", "x"), http.StatusConflict, "replica coast is to hold collection tv")
	reject("with a file", admin.Collections().Remove(t.Context(), "radio", "x"), http.StatusConflict, "collection radio has files")
	b.must(catalog.LoseFile, catalog.FileLoss{Name: "a.warc", SHA256: catalog.Digest{1}, Reason: "x", Checked: []catalog.NodeID{self}})
	reject("with a lost file", admin.Collections().Remove(t.Context(), "radio", "x"), http.StatusConflict, "declared lost")
	b.must(catalog.RemoveFile, catalog.FileRemoval{Name: "a.warc", SHA256: catalog.Digest{1}, Reason: "x"})
	for what, remove := range map[string]func() error{
		"collection": func() error { return admin.Collections().Remove(t.Context(), "radio", "x") },
		"replica":    func() error { return admin.Replicas().Remove(t.Context(), "coast", "x") },
	} {
		if err := remove(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		b.fill()
		reject(what+" twice", remove(), http.StatusNotFound, "no "+what)
	}
	replicas, err := admin.Replicas().List(t.Context())
	if err != nil || len(replicas) != 2 {
		t.Errorf("%v %v", replicas, err)
	}
	if all, err := admin.Collections().List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%v %v", all, err)
	}
	if err := admin.Collections().Remove(t.Context(), "tv", "x"); err != nil {
		t.Errorf("tv, of which no replica is any more: %v", err)
	}
	reject("the last collection", admin.Collections().Remove(t.Context(), "web", "x"), http.StatusConflict, "the only one")
}

// fill ends the walks that are under way, as the leader does.
func (b *backend) fill() {
	b.t.Helper()
	for {
		var fills []catalog.Fill
		if err := b.View(func(v catalog.View) (err error) { fills, err = v.Fills(); return err }); err != nil {
			b.t.Fatal(err)
		}
		if len(fills) == 0 {
			return
		}
		b.must(catalog.FillReplica, catalog.FillStep{Replica: fills[0].Replica, Shard: fills[0].Shard, After: fills[0].After})
	}
}
