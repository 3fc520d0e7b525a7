//go:build slow

package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/node/backups"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/node/soundness"
)

// keyOfBackups draws a key and has the nodes encrypt to it.
func keyOfBackups(t *testing.T, cfgs []config.Config) seal.Key {
	t.Helper()
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for i := range cfgs {
		cfgs[i].Backups.Key = backups.PublicText(key.Public())
	}
	return key
}

// restored restores a backup into the folder of the node.
func restored(t *testing.T, cfg config.Config, file []byte, key seal.Key) (catalog.Cluster, error) {
	t.Helper()
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
	return RestoreBackup(t.Context(), cfg, open, key, slogOf(t))
}

// A cluster whose nodes have lost the catalog goes on from a backup: on a node with its key, and on a new one. No
// member is trusted but that node, the others join again, and nothing is released before copies were compared.
func TestAClusterIsRestoredFromABackup(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	key := keyOfBackups(t, cfgs)
	nodes := startNodes(t, cfgs)
	name := putWhole(t, nodes[1], "before.bin", nodes)
	if _, _, err := nodes[1].invites().Create(t.Context(), "third", time.Hour, catalog.Local(nodes[1].id)); err != nil {
		t.Fatal(err)
	}
	status, file := nodes[1].ask(t, http.MethodGet, "/api/v1/catalog/backup", nil)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, file)
	}
	checksAgree(t, nodes)
	was := nodes[0].roster.Known().Cluster
	if _, err := restored(t, cfgs[0], []byte(file), key); !errors.Is(err, membership.ErrRunning) {
		t.Errorf("restored under a running node: %v", err)
	}
	for _, n := range nodes {
		n.halt(t)
	}
	head, check, err := VerifyBackup(t.Context(), strings.NewReader(file), key, filepath.Join(t.TempDir(), "aside"), disk.New(), slogOf(t))
	if err != nil || check.Found > 0 || check.Files != 1 || len(check.Members) != 3 || head.Cluster != was.ID {
		t.Errorf("%+v, %v", check, err)
	}
	restoreIsRefused(t, cfgs[0], []byte(file), key)

	for _, folder := range []string{"raft", "catalog"} {
		if err := os.RemoveAll(filepath.Join(cfgs[0].Data, folder)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := restored(t, cfgs[0], []byte(file), key)
	if err != nil || c.ID != was.ID || c.Epoch < uint64(time.Now().Add(-time.Hour).Unix()) {
		t.Fatalf("%+v after %+v, %v", c, was, err)
	}
	err = folderOf(cfgs[0], slogOf(t)).State.(state).look(t, nodes[0].id, func(v catalog.View) error {
		members, err := v.Members()
		if err != nil || len(members) != 1 || members[0].ID != nodes[0].id {
			t.Errorf("members %+v, %v", members, err)
		}
		if epoch, err := v.Unproved(nodes[0].id); err != nil || epoch != c.Epoch {
			t.Errorf("its copies are trusted: %d, %v", epoch, err)
		}
		tokens, err := v.JoinTokens()
		for _, token := range tokens {
			if token.UsedBy == "" && token.Revoked == 0 {
				t.Errorf("a token from before lets a machine in: %+v", token)
			}
		}
		found := ""
		_, failed := catalog.Check(v, func() error { return nil }, func(key, what string) { found = key + ": " + what })
		return errors.Join(err, failed, failedWith(found))
	})
	if err != nil {
		t.Error(err)
	}
	first := start(t, cfgs[0])
	if got := first.roster.Known().Members; len(got) != 1 {
		t.Errorf("trusted are %+v", got)
	}
	left := start(t, cfgs[1])
	eventually(t, "a node of before is refused", func() error {
		if first.peer.Stats().RefusedStrangers == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	left.halt(t)
	if err := joinBy(t, first, cfgs[1]); err != nil {
		t.Fatal(err)
	}
	back := start(t, cfgs[1])
	putWhole(t, back, "after.bin", nil)
	eventually(t, "the copies are there again", func() error {
		return first.raft.View(func(v catalog.View) error {
			f, err := v.File(name)
			if err != nil {
				return err
			}
			for _, replica := range []catalog.ReplicaName{"north", "south"} {
				if c := f.Copy(replica); c == nil || !c.Good() {
					return fmt.Errorf("%s: %+v", replica, c)
				}
			}
			return nil
		})
	})
}

func failedWith(found string) error {
	if found == "" {
		return nil
	}
	return errors.New(found)
}

// look shows the agreed state of a stopped node.
func (s state) look(t *testing.T, self catalog.NodeID, see func(catalog.View) error) error {
	t.Helper()
	_, err := s.Agreed(self, see)
	return err
}

// restoreIsRefused tries what may not be restored.
func restoreIsRefused(t *testing.T, there config.Config, file []byte, key seal.Key) {
	t.Helper()
	stranger, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	fresh := there
	fresh.Data = filepath.Join(t.TempDir(), "fresh")
	changed := bytes.Clone(file)
	changed[len(changed)/2] ^= 1
	newer := laterLevel(t, key)
	for what, try := range map[string]struct {
		cfg  config.Config
		file []byte
		key  seal.Key
		want error
	}{
		"over a catalog": {there, file, key, membership.ErrCatalogThere}, "another key": {fresh, file, stranger, backups.ErrKey},
		"altered": {fresh, changed, key, backups.ErrDamaged}, "cut off": {fresh, file[:len(file)-5000], key, backups.ErrDamaged},
		"a newer level": {fresh, newer, key, catalog.ErrNewer},
	} {
		if c, err := restored(t, try.cfg, try.file, try.key); !errors.Is(err, try.want) {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
	for _, folder := range []string{"raft", "catalog", "restoring", "identity/members.json"} {
		if exists(filepath.Join(fresh.Data, folder)) {
			t.Errorf("%s is left of refused restorations", folder)
		}
	}
	if _, err := New(fresh, slogOf(t)); !errors.Is(err, membership.ErrNotFounded) {
		t.Errorf("a node starts after it: %v", err)
	}
}

// stream is a state as raft writes it.
type stream []byte

func (s stream) View(see func(catalog.View) error) error { return see(catalog.NewView(later{})) }
func (s stream) Write(w io.Writer) error                 { _, err := w.Write(s); return err }

// later is a catalog of a level that this program does not know.
type later struct{}

func (later) Get(key []byte) ([]byte, error) {
	if string(key) != "cluster" {
		return nil, nil
	}
	return fmt.Appendf(nil, "\x01"+`{"id":"x","name":"later","epoch":1,"level":%d}`, catalog.Level+1), nil
}

func (later) Scan(_, _ []byte, _ func(key, value []byte) bool) error { return nil }

func laterLevel(t *testing.T, key seal.Key) []byte {
	t.Helper()
	position := []byte{1}
	for _, n := range []uint64{9, 1, 0} {
		position = binary.BigEndian.AppendUint64(position, n)
	}
	cluster, _ := later{}.Get([]byte("cluster"))
	out := append([]byte("HFRS\x01"), 9, 1)
	for _, text := range [][]byte{[]byte("\x00position"), position, []byte("cluster"), cluster} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	out = append(out, 0, 2)
	sum := sha256.Sum256(out)
	made, err := backups.Folder{Dir: t.TempDir()}.Make(context.Background(), stream(append(out, sum[:]...)), backups.Origin{Index: 9, Term: 1, Member: "x"},
		key.Public(), 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A machine that never was a node takes over the name of one that is gone, with a key of its own; a crash at any write
// is either done again or ended by the next try, and no node starts in between.
func TestARestorationThatWasCutOffIsDoneAgain(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")[:1]
	key := keyOfBackups(t, cfgs)
	n := startNodes(t, cfgs)[0]
	status, file := n.ask(t, http.MethodGet, "/api/v1/catalog/backup", nil)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, file)
	}
	n.halt(t)
	cfg := cfgs[0]
	cfg.Data = filepath.Join(t.TempDir(), "new")
	want, err := restored(t, cfg, []byte(file), key)
	if err != nil {
		t.Fatal(err)
	}
	// As after a crash between the moves.
	restoring := filepath.Join(cfg.Data, "restoring")
	if err := os.MkdirAll(filepath.Join(restoring, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(cfg.Data, "identity", "members.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(restoring, "members.json"), list, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(cfg.Data, "catalog"), filepath.Join(restoring, "data", "catalog"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, slogOf(t)); err == nil || !strings.Contains(err.Error(), "restor") {
		t.Fatalf("a node starts while it is restored: %v", err)
	}
	got, err := restored(t, cfg, nil, key)
	if err != nil || got != want {
		t.Fatalf("%+v, was %+v, %v", got, want, err)
	}
	// As after a crash between the last two removals: nothing is left to do, and nobody could do it.
	if err := os.Mkdir(restoring, 0o700); err != nil {
		t.Fatal(err)
	}
	again := start(t, cfg)
	members := again.roster.Known().Members
	if len(members) != 1 || members[0].Name != "north-1" || members[0].ID == n.id || members[0].ID != again.id {
		t.Errorf("members %+v, the one before was %s", members, n.id)
	}
	putWhole(t, again, "after.bin", nil)
}

// writtenState is the agreed state of the node as it is backed up, before it is encrypted.
func (r running) writtenState(t *testing.T, w io.Writer) {
	t.Helper()
	p, err := r.raft.Pin()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Write(w); err != nil {
		t.Fatal(err)
	}
}

// checksAgree has all nodes check their catalogs while something is decided, and compares them.
func checksAgree(t *testing.T, nodes []running) {
	t.Helper()
	all := soundness.Nodes{Checks: nodes[2].sound}
	begun, err := all.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the catalogs are checked", func() error {
		now, err := all.State(t.Context())
		is := begun.Follow(now)
		if problems := is.Problem(); err == nil && len(problems) > 0 {
			err = errors.New(strings.Join(problems, "; "))
		}
		return err
	})
}
