package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// What all nodes see comes in one list; a node that does not answer is named.
func TestAlertsOfAllNodes(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	b.absent = true
	before := time.Now()
	all, err := c.Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, a := range all.Items {
		kinds = append(kinds, a.Kind+" "+a.Node)
	}
	for _, want := range []string{"disk-low east-1", "harvest-waits ", "node-away "} {
		if !slices.Contains(kinds, want) {
			t.Errorf("%q is missing in %q", want, kinds)
		}
	}
	if first := all.Items[slices.Index(kinds, "disk-low east-1")]; first.Kind != "disk-low" || first.Since.Year() != 2026 || first.Parameters["bytes"] != "5" ||
		first.Severity != "bad" || first.Text != "disk /data has 5 bytes left, less than the reserve" {
		t.Errorf("the other node's is %+v", first)
	}
	if !slices.IsSorted([]int{slices.Index(kinds, "node-away "), slices.Index(kinds, "disk-low east-1"),
		slices.Index(kinds, "harvest-waits ")}) {
		t.Errorf("the order is %q", kinds)
	}
	if len(all.Silent) != 1 || all.Silent[0].Name != "south-1" || all.Silent[0].Reason == "" {
		t.Errorf("silent: %+v", all.Silent)
	}
	if b := all.Backups; len(b) != 3 || b[0].Name != "east-1" || b[0].State == nil || b[0].Silent || b[2].Name != "south-1" || !b[2].Silent || b[2].Reason == "" || b[2].State != nil {
		t.Errorf("backups: %+v", b)
	}
	at := slices.IndexFunc(kinds, func(k string) bool { return k == "node-away " })
	since := all.Items[at].Since
	if since.Before(before.Add(-time.Second)) {
		t.Errorf("seen since %v", since)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Healthy || len(st.Alerts) != len(st.Problems) || st.Problems[0] != st.Alerts[0].Text {
		t.Errorf("status: %+v, %q, %v", st.Alerts, st.Problems, err)
	}
	for _, a := range st.Alerts {
		if a.Kind == "node-away" && !a.Since.Equal(since) {
			t.Errorf("a second look says since %v, the first %v", a.Since, since)
		}
	}
}

// Nodes that run an older release than another one that is alive are named; what was not released is not compared.
func TestVersionsBehind(t *testing.T) {
	t.Parallel()
	node := func(name, version, state string) wire.Node {
		return wire.Node{Name: name, Presence: wire.Presence{Version: version, State: state}}
	}
	for _, tt := range []struct {
		nodes []wire.Node
		want  string
	}{
		{[]wire.Node{node("a", "v1.9.0", "alive"), node("b", "v1.10.0", "alive"), node("c", "v1.10.0", "alive")}, "a"},
		{[]wire.Node{node("a", "v1.9.0", "alive"), node("b", "v2.0.0", "failed")}, ""},
		{[]wire.Node{node("a", "v1.9.0", "alive"), node("b", "development", "alive"), node("c", "v2.0.0-rc.1", "alive"), node("d", "", "alive")}, ""},
		{[]wire.Node{node("a", "v1.9.0", "alive")}, ""},
	} {
		var got []string
		for _, a := range behind(tt.nodes) {
			got = append(got, a.Subject)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v of %+v", got, tt.nodes)
		}
	}
}
