package web

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// figuresOf are figures of a node: known in their second half, and one that a later program has.
func figuresOf(name, span string) wire.NodeFigures {
	f := wire.NodeFigures{Name: name, Span: span, From: now().Add(-time.Hour), Step: 10}
	steps := 360
	if span == "week" {
		f.From, f.Step, steps = now().Add(-7*24*time.Hour), 300, 2016
	}
	values := make([]*float64, steps)
	for i := steps / 2; i < steps; i++ {
		v := 3e9
		values[i] = &v
	}
	half := 0.5
	f.Series = []wire.FigureSeries{{Name: "disk-free", Of: name, Unit: "bytes", Values: values}, {Name: "cpu", Unit: "cores", Values: []*float64{nil, &half}},
		{Name: name, Of: name, Unit: name, Values: values}, {Name: "outbox", Unit: "files", Values: make([]*float64, steps)}, {Name: "memory", Unit: "bytes"}}
	return f
}

// Pictures show what is known, and a gap where nothing is.
func TestPicturesShowGaps(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	value := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		name   string
		values []*float64
		parts  int
		means  string
		path   string
	}{
		{"nothing", nil, 2, "[NaN NaN]", ""},
		{"unknown", make([]*float64, 4), 2, "[NaN NaN]", ""},
		{"zero is known", []*float64{value(0), value(0)}, 2, "[0 0]", "M0 100H4V100H8"},
		{"a gap", []*float64{value(1), nil, nil, value(2)}, 4, "[1 NaN NaN 2]", "M0 50H4M12 0H16"},
		{"means of what is known", []*float64{value(1), nil, value(1), value(3), nil, nil}, 3, "[1 2 NaN]", "M0 50H4V0H8"},
		{"fewer than parts", []*float64{value(4)}, 2, "[NaN 4]", "M4 20H8"},
	} {
		got := means(tt.values, tt.parts)
		if path := steps(got, roof(highest(got))); fmt.Sprint(got) != tt.means || path != tt.path {
			t.Errorf("%s: %v %s", tt.name, got, path)
		}
	}
	for top, want := range map[float64]float64{0: 1, -3: 1, 0.3: 0.5, 1: 1, 1.1: 2, 3e9: 5e9, 7: 10, 10: 10, math.Inf(1): 1} {
		if got := roof(top); math.Abs(got-want) > want*1e-9 {
			t.Errorf("roof(%v) = %v, want %v", top, got, want)
		}
	}
	if roof(nan) != 1 || !math.IsNaN(highest([]float64{nan})) {
		t.Error("nothing known has no height")
	}
}

func TestNodePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, body := s.get(t, "/_/en/nodes/north-1?span=week")
	for _, want := range []string{`viewBox="0 0 672 100"`, "M336 40H340V40", "At most 3.0 GB", ">5.0 GB<", "Not known.", `<td class="number">–</td>`, `<td class="number">3.0 GB</td>`,
		"50.0\u00a0%", `href="/_/en/nodes/north-1?span=hour"`, `href="/_/en/nodes/north-1/log"`, "17 November 2026, 08:30"} {
		if !strings.Contains(strings.ReplaceAll(body, "\u00a0", " "), strings.ReplaceAll(want, "\u00a0", " ")) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if resp.StatusCode != http.StatusOK || len(body) > 40<<10 {
		t.Errorf("%d, %d bytes", resp.StatusCode, len(body))
	}
	if _, body := s.send(t, http.MethodGet, "/nodes/north-1", "reader", nil); strings.Contains(body, "/log\"") || !strings.Contains(body, "<svg") {
		t.Errorf("a reader's page:\n%s", body)
	}
	s.api.answers["/nodes/north-1/figures"] = wire.Problem{Type: wire.ProblemType + string(wire.CodeUnavailable), Status: 503, Detail: "north-1 is away"}
	if _, body := s.get(t, "/nodes/north-1"); strings.Contains(body, "<svg") || !strings.Contains(body, "north-1 is away") || !strings.Contains(body, "facts") {
		t.Errorf("a node that does not answer:\n%s", body)
	}
	if resp, _ := s.get(t, "/nodes/nobody"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no node: %d", resp.StatusCode)
	}
}
