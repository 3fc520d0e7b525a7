package plan

import (
	"encoding/json"
	"testing"
	"time"

	"holdfast/harvest"
)

// What holds for a site's own scheme and port holds for its queue; for a queue that a sheet names, what the sheet says.
func TestPolicyIsThatOfTheSite(t *testing.T) {
	t.Parallel()
	type raw = map[string]json.RawMessage
	s := harvest.DefaultSettings()
	s.Sheets = []harvest.Sheet{
		{Name: "secure", Ports: []int{443}, Settings: raw{"host_valence": []byte(`2`)}},
		{Name: "regex", Regex: `^https://r\.test/`, Settings: raw{"total_budget": []byte(`7`)}},
		{Name: "deep", Prefixes: []string{"http://(test,h,)/deep/"}, Settings: raw{"host_valence": []byte(`9`)}},
		{Name: "shop", Prefixes: []string{"http://(test,h,)/shop/"}, Settings: raw{"queue_name": []byte(`"shop"`), "host_valence": []byte(`3`)}},
	}
	c, err := Follow(s, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		queue, uri string
		valence    int
		total      int64
	}{{"h.test", "http://h.test/a", 1, 0}, {"h.test", "https://h.test/a", 2, 0}, {"h.test:8443", "https://h.test:8443/a", 1, 0}, {"r.test", "https://r.test/a/b", 2, 7},
		{"r.test", "http://r.test/", 1, 0}, {"h.test", "http://h.test/deep/x", 1, 0}, {"shop", "http://h.test/shop/x", 3, 0}, {"h.test", "", 1, 0}, {"r.test", "", 1, 0}, {"https://r.test", "", 2, 7}} {
		p := c.Policy(tt.queue, func() string { return tt.uri })
		if p.Valence != tt.valence || p.TotalBudget != tt.total {
			t.Errorf("%s of %s: %+v, want valence %d, budget %d", tt.queue, tt.uri, p, tt.valence, tt.total)
		}
	}
}
