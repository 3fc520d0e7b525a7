package lookup

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
)

func TestShardListsTravelAsBits(t *testing.T) {
	t.Parallel()
	all := make(shardList, catalog.Shards)
	for s := range all {
		all[s] = catalog.Shard(s)
	}
	for _, want := range []shardList{{0}, {7, 8, 4095}, all} {
		text, err := json.Marshal(capturesRequest{Shards: want})
		if err != nil {
			t.Fatal(err)
		}
		var got capturesRequest
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got.Shards, want) {
			t.Errorf("%d shards became %d, error %v", len(want), len(got.Shards), err)
		}
	}
	if text, err := json.Marshal(capturesLine{}); err != nil || strings.Contains(string(text), "without") {
		t.Errorf("no shards are written as %s, error %v", text, err)
	}
	if _, err := json.Marshal(shardList{catalog.Shards}); err == nil {
		t.Error("a shard that cannot be is written")
	}
	var l shardList
	for _, bad := range []string{`""`, `"AAAA"`, `"` + strings.Repeat("!", 684) + `"`, `"` + strings.Repeat("A", 684) + `"`, `[1,2]`} {
		if json.Unmarshal([]byte(bad), &l) == nil {
			t.Errorf("%.20s was read", bad)
		}
	}
}
