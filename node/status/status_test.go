package status

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/metrics"
)

// northern is a node of three members, of which gossip knows one beside it, and a stranger.
func northern(alerts ...func() []alert.Alert) *Node {
	return New(Config{Self: "n", Name: "north-1", Version: "v1", Ready: func() bool { return true }, Lease: time.Hour,
		Listen: func() api.Listen { return api.Listen{API: "127.0.0.1:1"} },
		Consensus: func() Consensus {
			return Consensus{Role: "leader", Leader: "n", Quorum: true, Term: 3, Applied: 7, Commit: 9, Voters: []catalog.NodeID{"n", "s"}}
		},
		Members: func() []catalog.Member {
			return []catalog.Member{{ID: "n", Name: "north-1"}, {ID: "s", Name: "south-1"}, {ID: "e", Name: "east-1"}}
		},
		Heard: func() map[catalog.NodeID]api.Presence {
			return map[catalog.NodeID]api.Presence{"s": {State: "suspected", Version: "v0", Jobs: 2, Free: 5}, "x": {State: "alive"}}
		},
		Running: func() []uint64 { return []uint64{4} },
		Refused: func() map[string]uint64 { return map[string]uint64{"strangers": 2, "busy": 0} },
		Disks: func() ([]api.Disk, *api.DiskMove, []alert.Alert) {
			return []api.Disk{{Path: "/a", Total: 9}}, nil, []alert.Alert{alert.New(alert.DiskLow, "/a", "bytes", "1")}
		},
		Outbox: func() (int, error) { return 6, errors.New("not all of it") },
		Backup: func() *api.BackupState { return &api.BackupState{Failed: time.Unix(9, 0)} },
		Alerts: alerts})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	n := northern(func() []alert.Alert { return []alert.Alert{alert.New(alert.NoRoom, "", "reason", "full")} },
		func() []alert.Alert { return nil }, func() []alert.Alert { return []alert.Alert{alert.New(alert.ClockOff, "", "ahead", "1m")} })
	is := n.Status(t.Context())
	if is.ID != "n" || is.Role != "leader" || is.Leader != "n" || !is.Quorum || !is.Ready || is.Applied != 7 || is.Outbox != 6 || is.Lease != time.Hour ||
		!slices.Equal(is.Running, []uint64{4}) || len(is.Disks) != 1 || is.Listen.API != "127.0.0.1:1" || is.Backup == nil || is.Backup.Failed.Unix() != 9 {
		t.Errorf("%+v", is)
	}
	if want := map[string]uint64{"strangers": 2}; !maps.Equal(is.Refused, want) {
		t.Errorf("refused %v, want %v", is.Refused, want)
	}
	var kinds []alert.Kind
	for _, a := range is.Alerts {
		kinds = append(kinds, a.Kind)
		if a.Since.IsZero() {
			t.Errorf("%s since when", a.Kind)
		}
	}
	if want := []alert.Kind{alert.DiskLow, alert.NoRoom, alert.ClockOff}; !slices.Equal(kinds, want) || len(is.Problems) != len(want) {
		t.Errorf("alerts %v, want %v; problems %q", kinds, want, is.Problems)
	}
	if again := n.Status(t.Context()).Alerts; again[0].Since != is.Alerts[0].Since {
		t.Error("an alert that goes on begins again")
	}
	if n.Counted(t.Context())[metrics.Alert{Kind: string(alert.NoRoom), Severity: string(is.Alerts[1].Severity)}] != 1 {
		t.Errorf("counted %v", n.Counted(t.Context()))
	}
}

// Only members are there, and one of which gossip says nothing is not taken for alive.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	n := northern()
	got := n.Status(t.Context()).Presence
	me := got["n"]
	if me.LastHeard.IsZero() || me.State != "alive" || me.Jobs != 1 || me.Version != "v1" || !me.Voter {
		t.Errorf("this node: %+v", me)
	}
	if want := (api.Presence{State: "suspected", Version: "v0", Jobs: 2, Free: 5, Voter: true}); got["s"] != want {
		t.Errorf("heard of: %+v, want %+v", got["s"], want)
	}
	if want := (api.Presence{State: Unknown}); got["e"] != want || len(got) != 3 {
		t.Errorf("never heard of: %+v of %d", got["e"], len(got))
	}
	if want := map[string]int{"alive": 1, "suspected": 1, Unknown: 1}; !maps.Equal(n.ByState(), want) {
		t.Errorf("by state %v, want %v", n.ByState(), want)
	}
}

// others answer a call with an alert, but for those that do not answer.
type others struct {
	asked chan catalog.NodeID
	old   bool // they know nothing of backups
}

func (o others) Call(_ context.Context, to catalog.NodeID, kind string, _ []byte) ([]byte, error) {
	o.asked <- to
	switch {
	case to == "e":
		return nil, errors.New("unreachable")
	case kind == BackupsCall && o.old:
		return nil, errors.New("the kind of call is not known")
	case kind == BackupsCall:
		return json.Marshal(&api.BackupState{Looked: true, Newest: time.Unix(7, 0)})
	}
	return json.Marshal([]alert.Alert{alert.New(alert.NoRoom, "", "reason", "full")})
}

// The API has what this node sees already: it is told of every other, also of one that does not answer.
func TestAlertsOfTheOthers(t *testing.T) {
	t.Parallel()
	asked := make(chan catalog.NodeID, 5)
	all := Nodes{Own: northern(), Ask: others{asked, false}}
	got := all.Alerts(t.Context())
	if len(got) != 2 || len(asked) != 4 || got[0].Name != "south-1" || got[0].Err != nil || len(got[0].Alerts) != 1 || got[0].Alerts[0].Node != "south-1" {
		t.Fatalf("%+v", got)
	}
	if got[1].Node != "e" || got[1].Err == nil || len(got[1].Alerts) != 0 {
		t.Errorf("of one that is silent: %+v", got[1])
	}
	if got[0].Backup == nil || !got[0].Backup.Newest.Equal(time.Unix(7, 0)) || got[0].BackupErr != nil || got[1].Backup != nil || got[1].BackupErr == nil {
		t.Errorf("of their backups: %+v", got)
	}
	old := Nodes{Own: northern(), Ask: others{make(chan catalog.NodeID, 5), true}}.Alerts(t.Context())
	if old[0].Err != nil || old[0].Backup != nil || old[0].BackupErr == nil {
		t.Errorf("of one with an older program: %+v", old[0])
	}
	mine, err := all.Serve(t.Context(), "s", struct{}{})
	if err != nil || len(mine) != 1 || mine[0].Kind != alert.DiskLow || mine[0].Node != "north-1" {
		t.Errorf("told of this node: %+v, %v", mine, err)
	}
}

func TestHowFarANodeIsBehind(t *testing.T) {
	t.Parallel()
	if _, err := (Consensus{Commit: 5}).Behind(); err == nil {
		t.Error("known of a node that takes no part")
	}
	for _, tt := range []struct {
		is   Consensus
		want float64
	}{{Consensus{Term: 1, Commit: 9, Applied: 7}, 2}, {Consensus{Term: 1, Commit: 7, Applied: 9}, 0}} {
		if got, err := tt.is.Behind(); err != nil || got != tt.want {
			t.Errorf("%+v: %v, %v", tt.is, got, err)
		}
	}
}
