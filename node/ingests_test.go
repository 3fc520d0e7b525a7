//go:build slow

package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/domains"
)

// TestIngestOutlivesItsNodeAndTheLeader gives a list to a node that does not lead. That node and the leader are stopped
// and started while it is brought in; each domain is there once in the end.
func TestIngestOutlivesItsNodeAndTheLeader(t *testing.T) {
	t.Parallel()
	const n = 20_000
	cfgs := threeConfigs(t, "")
	nodes := startNodes(t, cfgs)
	leads := func() int {
		for i := range nodes {
			if nodes[i].raft.IsLeader() {
				return i
			}
		}
		return -1
	}
	leader := -1
	eventually(t, "a leader", func() error {
		if leader = leads(); leader < 0 {
			return errors.New("none")
		}
		return nil
	})
	reader := (leader + 1) % len(nodes)
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "d%d.example\n", i)
	}
	text.WriteString("co.uk\n")
	var begun domains.Ingest
	eventually(t, "begin", func() (err error) {
		err = nodes[reader].raft.View(func(v catalog.View) error { // what was not answered may be decided all the same
			all, err := catalog.DomainsIn(v).Ingests("", 1)
			if len(all) > 0 {
				begun = all[0]
			}
			return err
		})
		if err != nil || begun.ID != "" {
			return err
		}
		begun, err = nodes[reader].ingests.Begin(t.Context(), api.IngestRequest{Collection: "web",
			Body: strings.NewReader(text.String()), Actor: catalog.Local(nodes[reader].id)})
		return err
	})
	watcher := (leader + 2) % len(nodes)
	reached := func(seq uint64) func() error {
		return func() error {
			return nodes[watcher].raft.View(func(v catalog.View) error {
				i, err := catalog.DomainsIn(v).Ingest(begun.ID)
				if err == nil && i.Seq < seq && i.State == domains.IngestRunning {
					err = fmt.Errorf("%d chunks", i.Seq)
				}
				return err
			})
		}
	}
	for round, i := range []int{reader, leader} {
		eventually(t, "go on", reached(uint64(10*round+5)))
		nodes[i].halt(t)
		nodes[i] = start(t, cfgs[i])
	}
	eventually(t, "bring it in", func() error {
		return nodes[watcher].raft.View(func(v catalog.View) error {
			view := catalog.DomainsIn(v)
			i, err := view.Ingest(begun.ID)
			if err != nil {
				return err
			}
			if i.State == domains.IngestRunning {
				return fmt.Errorf("line %d", i.Line)
			}
			count, err := view.Count("web")
			if i.State != domains.IngestDone || i.Made != n || i.Bad != 1 || i.Known != 0 || count != n {
				t.Errorf("%+v, %d domains", i, count)
			}
			return err
		})
	})
}
