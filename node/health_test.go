//go:build slow

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/config"
)

func TestTheStatusTellsOfCopiesThatComeToNothing(t *testing.T) {
	t.Parallel()
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	file := *cfg.File // as after somebody wrote more into it
	file.Collections = []string{"web", "radio"}
	file.Replicas = append(slices.Clone(file.Replicas), config.ReplicaTable{Name: "west", Kind: "checksum", Place: "coast", Collections: []string{"radio"}})
	cfg.File = &file
	n := start(t, cfg)
	late := filepath.Join(cfg.Data, "outbox", "late.warc")
	if err := os.WriteFile(late, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(late, old, old); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a file enters whose bytes are nowhere", func() error {
		result, err := n.raft.Propose(t.Context(), catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{
			{Name: "lost.warc", Size: 5, SHA256: catalog.Digest{1}, Collection: "web", Source: n.id}}}, string(n.id))
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		return err
	})
	eventually(t, "the status says so", func() error {
		report := catalog.CopyReports{Node: n.id, Copies: []catalog.CopyReport{{Name: "lost.warc", State: catalog.UploadFailed, Reason: "its bytes are nowhere"}}}
		if _, err := n.agreed.Insist(t.Context(), catalog.ReportCopies, report); err != nil { // of no effect before the shard has a holder
			return err
		}
		st := n.state.Status(t.Context())
		all := strings.Join(st.Problems, "\n")
		for _, want := range []string{"1 copies owed here have failed and are tried again, among them lost.warc", "1 files wait in the outbox",
			"collection radio of cluster.toml is not the cluster's yet: holdfast collection add radio",
			"holdfast replica add west --kind checksum --place coast --collection radio"} {
			if !strings.Contains(all, want) {
				return fmt.Errorf("%q lacks %q", all, want)
			}
		}
		if st.Outbox != 1 {
			return fmt.Errorf("%d files in the outbox", st.Outbox)
		}
		return nil
	})
}
