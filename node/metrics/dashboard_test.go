package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
)

// dashboard is what the test looks at in a dashboard of Grafana.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		Datasource  struct{ UID string }
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ RefID, Expr, LegendFormat string }
	}
}

// The example dashboard asks for metrics that there are, by labels that they have, and no panel lies on another.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../doc/prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	variables := []string{"$__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, "$"+v.Name)
		if v.Definition != "" {
			askedFor(t, "variable "+v.Name, v.Definition)
		}
	}
	ids, taken, asked := map[int]string{}, map[[2]int]string{}, 0
	for _, p := range d.Panels {
		if had := ids[p.ID]; had != "" || p.Title == "" {
			t.Errorf("panel %q has the number of %q", p.Title, had)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if had := taken[[2]int{x, y}]; had != "" || x >= 24 {
					t.Fatalf("panel %q lies on %q, or beside the page", p.Title, had)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) || p.Type != "row" && p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q asks for nothing, or not from the chosen Prometheus", p.Title)
		}
		for _, target := range p.Targets {
			asked++
			labels := askedFor(t, p.Title, target.Expr)
			for _, m := range regexp.MustCompile(`\$\w+`).FindAllString(target.Expr, -1) {
				if !slices.Contains(variables, m) {
					t.Errorf("panel %q: there is no variable %s", p.Title, m)
				}
			}
			for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("panel %q: the legend has the label %s; those that are left are %v", p.Title, m[1], labels)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("the dashboard asks for %d things", asked)
	}
}

// askedFor looks at the metrics and labels of an expression, and returns the labels that its answer has.
func askedFor(t *testing.T, where, expr string) []string {
	t.Helper()
	labels := []string{"instance", "job", "le"}
	found := false
	for _, name := range regexp.MustCompile(`\b(?:holdfast|process)_\w+`).FindAllString(expr, -1) {
		found = true
		base := regexp.MustCompile(`_bucket$`).ReplaceAllString(name, "")
		e := entryOf(base)
		if e.name == "" && !slices.Contains([]string{"process_cpu_seconds_total", "process_resident_memory_bytes"}, name) ||
			base != name && e.kind != histogram {
			t.Errorf("%s: there is no metric %s", where, name)
		}
		labels = append(labels, e.labels...)
	}
	if !found {
		t.Errorf("%s: %q asks for no metric", where, expr)
	}
	for _, m := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`).FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(labels, m[1]) {
			t.Errorf("%s: %q chooses by the label %s, which its metric does not have", where, expr, m[1])
		}
	}
	left := labels
	for i, m := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		by := regexp.MustCompile(`\w+`).FindAllString(m[1], -1)
		for _, l := range by {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: %q adds up by the label %s, which its metric does not have", where, expr, l)
			}
		}
		if i == 0 {
			left = by
		}
	}
	return left
}
