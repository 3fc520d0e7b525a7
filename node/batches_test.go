//go:build slow

package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// TestBatchesOfARealCluster runs programs over files of two replicas: the node that is asked has no copy, one copy is wrong,
// and the result is read through another node. Then the node that drives a batch goes away, and another one takes over.
func TestBatchesOfARealCluster(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	north, south, third := nodes[0], nodes[1], nodes[2]
	file, page := writePages(t, 200_000)
	names := []catalog.FileName{"a.warc", "b.warc", "c.warc"}
	for _, name := range names {
		eventually(t, "put a file", func() error {
			_, err := north.files().Put(t.Context(), api.PutRequest{Collection: "web", Name: name, Size: int64(len(file)), Body: bytes.NewReader(file), Actor: "test"})
			return err
		})
	}
	eventually(t, "all copies are good", func() error {
		return north.raft.View(func(v catalog.View) error {
			for _, name := range names {
				if f, err := v.File(name); err != nil || !f.Complete() {
					return fmt.Errorf("%s is not complete: %v", name, err)
				}
			}
			return nil
		})
	})
	path := filepath.Join(north.cfg.Data, "files", names[1].Shard().String(), string(names[1]))
	flipBit(t, path, int64(bytes.Index(file, page)+70_000))
	begin := func(n running, in wire.BatchRequest) (b wire.Batch) {
		t.Helper()
		eventually(t, "begin a batch", func() error {
			code, text := n.ask(t, http.MethodPost, "/api/v1/batches", in)
			if code != http.StatusCreated {
				return fmt.Errorf("%d %s", code, text)
			}
			return json.Unmarshal([]byte(text), &b)
		})
		return b
	}
	ended := func(n running, id string) (b wire.Batch) {
		t.Helper()
		eventually(t, "the batch ends", func() error {
			code, text := n.ask(t, http.MethodGet, "/api/v1/batches/"+id, nil)
			if err := json.Unmarshal([]byte(text), &b); err != nil || code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			if !b.State.Ended() {
				return errors.New(text)
			}
			return nil
		})
		return b
	}
	result := func(n running, id string) string {
		t.Helper()
		code, text := n.ask(t, http.MethodGet, "/api/v1/batches/"+id+"/result", nil)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", n.cfg.Name, code, text)
		}
		return text
	}
	valid := begin(third, wire.BatchRequest{Program: "validate"})
	if valid = ended(south, valid.ID); valid.State != wire.BatchDone || valid.Progress.Files != 3 || valid.Node != "third-1" ||
		valid.Progress.Bytes != 3*int64(len(file)) {
		t.Errorf("%+v %+v", valid, valid.Progress)
	}
	for _, n := range nodes {
		if got := result(n, valid.ID); strings.Count(got, ": valid, ") != 3 || strings.Contains(got, "NOT") {
			t.Errorf("%s:\n%s", n.cfg.Name, got)
		}
	}
	if bad := begin(north, wire.BatchRequest{Program: "cdxj", Names: []string{"a.warc", "z.warc"}}); ended(north, bad.ID).State != wire.BatchIncomplete {
		t.Error("a file that is not there does not make the batch incomplete")
	} else if got := result(south, bad.ID); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "com,example)/page 20260101000000 {") {
		t.Errorf("%s", got)
	}
	eventually(t, "the wrong copy is found", func() error {
		return north.raft.View(func(v catalog.View) error {
			events, err := v.Trail(0, 1000)
			for _, e := range events {
				if strings.Contains(fmt.Sprint(e), "b.warc") && strings.Contains(fmt.Sprint(e), "bad") {
					return nil
				}
			}
			return errors.Join(err, errors.New("no verdict yet"))
		})
	})
	propose := func(n running, actor string, kind catalog.Kind, body any) {
		t.Helper()
		eventually(t, string(kind), func() error {
			r, err := n.raft.Propose(t.Context(), kind, body, actor)
			if err == nil && r.Refusal != nil {
				err = r.Refusal
			}
			return err
		})
	}
	propose(third, catalog.Local(third.id), batches.Open, batches.Beginning{ID: "orphan", Program: "checksum", Node: third.id,
		Selection: batches.Selection{Names: 3}})
	third.halt(t)
	propose(north, catalog.Local(north.id), batches.AddNames, batches.Naming{ID: "orphan", Part: 1, Names: names})
	propose(north, string(north.id), batches.Release, batches.Holder{ID: "orphan", Node: third.id, Term: 1})
	if one := ended(south, "orphan"); one.State != wire.BatchDone || one.Node == "third-1" || one.Progress.Files != 3 {
		t.Errorf("%+v", one)
	}
}
