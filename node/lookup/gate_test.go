package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
)

// noMarch keeps back the captures of March.
type noMarch struct{}

func (n noMarch) Within(_, _ string) cdx.Gate { return n }
func (noMarch) Passes(c *cdx.Capture) bool    { return c.Timestamp[:6] != "202603" }

// oldNode is a node that knows nothing of readers: it answers with what it has, up to the limit that it is given.
type oldNode struct{ all []cdx.Capture }

func (o oldNode) Open(context.Context, catalog.NodeID, string) (net.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		var r capturesRequest
		lines := json.NewEncoder(there)
		if json.NewDecoder(there).Decode(&r) != nil || lines.Encode(capturesLine{}) != nil {
			return
		}
		for i := range o.all {
			if r.Query.Limit > 0 && i == r.Query.Limit {
				break
			}
			if lines.Encode(capturesLine{Capture: &o.all[i]}) != nil {
				return
			}
		}
		_ = lines.Encode(capturesLine{End: true})
	}()
	return here, nil
}

func (o oldNode) Call(_ context.Context, _ catalog.NodeID, _ string, _ []byte) ([]byte, error) {
	return json.Marshal(digestAnswer{Capture: o.all[0], Found: true})
}

// TestTheNodeThatIsAskedDecides lets an older node answer with thirty captures, of which the first 28 are kept back.
func TestTheNodeThatIsAskedDecides(t *testing.T) {
	t.Parallel()
	var all []cdx.Capture
	for day := range 30 {
		at := time.Date(2026, 3, 4+day, 0, 0, 0, 0, time.UTC)
		all = append(all, cdx.Capture{Key: "org,example)/", URL: "http://example.org/", Timestamp: cdx.Timestamp(at), File: "a.warc",
			Offset: int64(day), Status: 200, Digest: "sha1:A"})
	}
	c := New(Config{Self: "self", Catalog: &onlyFiles{}, Log: slog.New(slog.DiscardHandler), Carrier: oldNode{all}, Doubts: NewDoubts()})
	cover := &coverage{}
	cover.holders[7] = []catalog.NodeID{"old"}
	c.coverage.Store(cover)
	for _, q := range []cdx.Query{{Limit: 1}, {Limit: 1, Sort: cdx.Closest, Closest: "20260304"}, {Limit: 1, Collapse: 6}} {
		q.URL, q.Gate = "http://example.org/", noMarch{}
		var got []string
		for one, err := range (Arranged{c}).Query(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, one.Timestamp)
		}
		if fmt.Sprint(got) != "[20260401000000]" {
			t.Errorf("%+v: %v", q, got)
		}
	}
	if found, ok, err := c.Original(t.Context(), "sha1:A", noMarch{}); ok || err != nil {
		t.Errorf("the digest leads to %+v, %v", found, err)
	}
	if found, ok, err := c.Digest(t.Context(), "sha1:A"); !ok || err != nil || found.Timestamp != "20260304000000" {
		t.Errorf("without a gate: %+v, %v", found, err)
	}
}
