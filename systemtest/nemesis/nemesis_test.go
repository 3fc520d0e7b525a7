//go:build nemesis

package nemesis

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNemesis attacks a cluster under the plan of each seed. SEEDS says how many seeds, from 1 on; SEED=n runs n alone;
// LENGTH is how long the traffic lasts. A violation prints seed, plan, and the history around it.
func TestNemesis(t *testing.T) {
	first, seeds := uint64(1), number(t, "SEEDS", 5)
	if os.Getenv("SEED") != "" {
		first, seeds = number(t, "SEED", 1), 1
	}
	length := 20 * time.Second
	if text := os.Getenv("LENGTH"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		check(t, err)
	}
	program := os.Getenv("HOLDFAST_PROGRAM")
	if program == "" {
		var err error
		program, err = buildStepped(t.Context(), t.TempDir())
		check(t, err)
	}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			attack(t, program, MakePlan(seed, length))
		})
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	check(t, err)
	return n
}

// attack runs one plan and reports what is wrong.
func attack(t *testing.T, program string, plan Plan) {
	began := time.Now()
	h := newTrial(t, program, plan)
	founded := time.Since(began)
	bad := h.run(t.Context())
	ops := h.history.Ops()
	t.Logf("%v", tally(ops, bad, founded, time.Since(began)))
	if len(bad) == 0 {
		return
	}
	t.Errorf("%v%s", plan, strings.Join(h.notes, "\n"))
	for _, d := range h.damage {
		t.Log(d)
	}
	shown, near := map[string]int{}, 0
	for _, v := range bad {
		if shown[v.Kind]++; shown[v.Kind] > 4 {
			continue // the first of a kind say most
		}
		t.Errorf("VIOLATION %v", v)
		if near++; near <= 8 {
			for _, o := range Around(ops, v, 12) {
				t.Logf("      %v", o)
			}
		}
	}
	for node, text := range h.logs() {
		t.Logf("the end of what matters in %s.log:\n%s", node, told(text, 25))
	}
	if dir := os.Getenv("KEEP"); dir != "" {
		for node, text := range h.logs() {
			check(t, os.WriteFile(fmt.Sprintf("%s/seed%d-%s.log", dir, plan.Seed, node), []byte(text), 0o644))
		}
		var all strings.Builder
		for _, o := range ops {
			fmt.Fprintln(&all, o)
		}
		check(t, os.WriteFile(fmt.Sprintf("%s/seed%d-history.txt", dir, plan.Seed), []byte(all.String()), 0o644))
	}
}

// told returns the last lines of a log that are warnings or errors.
func told(text string, most int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "level=INFO") && !strings.Contains(line, "level=DEBUG") && !strings.Contains(line, " INFO ") {
			lines = append(lines, line[:min(len(line), 400)])
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// tally says in one line what a trial came to.
func tally(ops []Op, bad []Violation, founded, all time.Duration) string {
	acts, kinds := map[string]int{}, map[string]int{}
	for _, o := range ops {
		word := "refused"
		if o.OK() {
			word = "ok"
		} else if o.Unknown() {
			word = "unknown"
		}
		acts[string(o.Act)+" "+word]++
	}
	for _, v := range bad {
		kinds[v.Kind]++
	}
	return fmt.Sprintf("%d violations %v; %d acts %v; founded after %.0fs, all took %.0fs", len(bad), sorted(kinds), len(ops), sorted(acts), founded.Seconds(), all.Seconds())
}

func sorted(counts map[string]int) []string {
	var all []string
	for what, n := range counts {
		all = append(all, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(all)
	return all
}
