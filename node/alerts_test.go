//go:build slow

package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
)

// What one node sees is told by another, in the name of a reader; when it does not answer, that is told.
func TestAlertsOfOtherNodes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	asked, other := nodes[0], nodes[1]
	reader := asked.person(t, "reader", catalog.Giving{Role: catalog.RoleReader})
	leave(t, other.cfg.Data, catalog.Job{ID: 98, Attempt: 1, Created: 6, Collection: "none"}, "98-a.warc.gz", "bytes")
	other.crawls.BringLeftovers(t.Context())
	alerts := func() (all wire.Alerts, err error) {
		status, text := asked.askAs(t, reader, http.MethodGet, "/api/v1/alerts")
		if status != http.StatusOK {
			return all, fmt.Errorf("answered %d: %s", status, text)
		}
		return all, json.Unmarshal([]byte(text), &all)
	}
	eventually(t, "the other node's alert is told", func() error {
		all, err := alerts()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all.Items, func(a wire.Alert) bool { return a.Kind == string(alert.NotArchived) })
		if at < 0 || len(all.Silent) > 0 {
			return fmt.Errorf("%+v", all)
		}
		if a := all.Items[at]; a.Node != other.cfg.Name || !strings.Contains(a.Text, a.Subject) || a.Since.IsZero() {
			t.Errorf("told as %+v", a)
		}
		return nil
	})
	other.halt(t)
	eventually(t, "the other node is named as silent", func() error {
		all, err := alerts()
		if err == nil && (len(all.Silent) != 1 || all.Silent[0].Name != other.cfg.Name) {
			err = fmt.Errorf("%+v", all)
		}
		return err
	})
}
