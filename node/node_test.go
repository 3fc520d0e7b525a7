package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
)

func TestThreeNodesKeepAFileAndRepairIt(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	ctx := t.Context()
	body := bytes.Repeat([]byte("what libraries keep "), 50_000)
	var file catalog.File
	eventually(t, "put a file", func() (err error) {
		file, err = nodes[1].files().Put(ctx, api.PutRequest{Collection: "web", Name: "first.warc", Size: int64(len(body)), Body: bytes.NewReader(body), Actor: "test"})
		return err
	})
	complete := func() error {
		for _, n := range nodes {
			var got catalog.File
			err := n.raft.View(func(v catalog.View) (err error) { got, err = v.File(file.Name); return err })
			if err != nil || !got.Complete() {
				return fmt.Errorf("%s: %v %+v", n.cfg.Name, err, got.Copies)
			}
		}
		return nil
	}
	eventually(t, "three good copies", complete)
	for _, n := range nodes {
		r, err := n.files().Open(ctx, file.Name, 0, file.Size)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, error %v", n.cfg.Name, len(got), err)
		}
	}

	// One bit of a copy flips; an audit finds it, the others outvote it, it is set aside and fetched again.
	path := filepath.Join(nodes[0].cfg.Data, "files", file.Name.Shard().String(), string(file.Name))
	spoil(t, path)
	one, err := nodes[2].audits().Start(ctx, api.AuditOrder{}, "test")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "audit ends", func() error {
		now, err := nodes[1].audits().Show(ctx, one.ID)
		if err != nil || now.State != "done" {
			return errors.Join(err, fmt.Errorf("%+v", now))
		}
		if now.Corrupt != 1 {
			t.Errorf("the audit found %d corrupt copies, want 1", now.Corrupt)
		}
		return nil
	})
	eventually(t, "repair", func() error {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, body) {
			return fmt.Errorf("%d bytes: %v", len(got), err)
		}
		return complete()
	})
	aside, err := os.ReadDir(filepath.Join(nodes[0].cfg.Data, "quarantine"))
	if err != nil || len(aside) != 2 {
		t.Errorf("quarantine: %v %v, want the bad copy and its reason", aside, err)
	}

	// Another bit flips. A look at what is there does not see it; a node of the other replica that asks for the bytes does.
	audited := func(order api.AuditOrder) (now api.Audit) {
		t.Helper()
		one, err := nodes[2].audits().Start(ctx, order, "test")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "audit ends", func() error {
			if now, err = nodes[1].audits().Show(ctx, one.ID); err != nil || now.State != "done" {
				return errors.Join(err, fmt.Errorf("%+v", now))
			}
			return nil
		})
		return now
	}
	spoil(t, path)
	if now := audited(api.AuditOrder{Kind: "presence", Files: []catalog.FileName{file.Name}}); !now.Clean() || now.Files != 3 {
		t.Errorf("presence: %+v", now)
	}
	now := audited(api.AuditOrder{Kind: "challenge", Replica: catalog.ReplicaName(nodes[0].cfg.Replica.Name)})
	if now.Wrong != 1 || now.Files != 1 || now.Clean() {
		t.Errorf("challenges: %+v", now)
	}
	eventually(t, "repair", func() error {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, body) {
			return fmt.Errorf("%d bytes: %v", len(got), err)
		}
		return complete()
	})
	if now = audited(api.AuditOrder{Kind: "challenge", Replica: catalog.ReplicaName(nodes[0].cfg.Replica.Name)}); !now.Clean() || now.Files != 1 {
		t.Errorf("challenges after the repair: %+v", now)
	}
}

func spoil(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, 1000); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, 1000); err != nil {
		t.Fatal(err)
	}
}
