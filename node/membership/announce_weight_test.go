package membership

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/cluster"
	"holdfast/internal/kv/memory"
)

// stagedState is an agreed state that is only read.
type stagedState struct {
	Agreement
	tx *memory.Tx
}

func (s stagedState) View(fn func(catalog.View) error) error { return fn(catalog.NewView(s.tx)) }

// TestAWeightIsNotTakenOverWhereItIsStaged brings the rest of cluster.toml, and the weight only where it may.
func TestAWeightIsNotTakenOverWhereItIsStaged(t *testing.T) {
	t.Parallel()
	cfg := configured(t)
	cfg.Table.Weight = 70
	key := make([]byte, 32)
	listed := catalog.Member{ID: catalog.Fingerprint(key), Name: "old", Key: key, Replica: "north", Level: catalog.Level}
	tx := new(memory.Tx)
	index := uint64(0)
	apply := func(kind catalog.Kind, body any) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, Actor: "test", Body: raw})
		if err != nil {
			t.Fatal(err)
		}
		index++
		if res, err := catalog.Apply(tx, index, data); err != nil || res.Refusal != nil {
			t.Fatalf("%s: %+v, %v", kind, res, err)
		}
	}
	apply(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Level: catalog.Level}, Collections: []catalog.Collection{{Name: "web"}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive}}, Member: listed})
	var told catalog.MemberChange
	m := Member{Folder: Folder{Config: cfg}, Roster: &Roster{self: listed.ID}, Agreement: stagedState{tx: tx}, Log: slog.New(slog.DiscardHandler),
		Insist: func(_ context.Context, _ catalog.Kind, body any) (*catalog.Refusal, error) {
			told = body.(catalog.MemberChange)
			return nil, nil
		}}
	if err := m.announceFolder(t.Context(), listed); err != nil || told.Weight == nil || *told.Weight != 70 || told.Name == nil {
		t.Errorf("%+v, %v", told, err)
	}
	apply(cluster.StageAlways, cluster.SetStaging{Always: true})
	if err := m.announceFolder(t.Context(), listed); err != nil || told.Weight != nil || told.Name == nil {
		t.Errorf("where weights are staged: %+v, %v", told, err)
	}
}
