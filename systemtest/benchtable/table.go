package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// render returns the table.
func render(results []result) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tours\tbaseline\tratio\tgoal\tmet\tnote")
	fmt.Fprintln(w, "----\t----\t--------\t-----\t----\t---\t----")
	for _, r := range results {
		switch {
		case r.err != nil:
			fmt.Fprintf(w, "%s\t\t\t\t%s\tno\t%s\n", r.name, r.goal(), strings.ReplaceAll(r.err.Error(), "\n", " "))
		case r.skipped != "":
			fmt.Fprintf(w, "%s\t\t\t\t%s\t\t%s\n", r.name, r.goal(), r.skipped)
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\t%.0f %%\t%s\t%s\t%s\n", r.name, r.unit.show(r.mine), r.unit.show(r.theirs),
				100*r.against(), r.goal(), r.met(), r.note)
		}
	}
	_ = w.Flush() // a strings.Builder takes everything
	return text.String()
}

// against is our figure to the baseline's, above 1 when ours is the better one.
func (r result) against() float64 {
	if r.lower {
		return r.theirs / r.mine
	}
	return r.mine / r.theirs
}

func (r row) goal() string {
	sign := "≥ "
	if r.lower {
		sign = "≤ "
	}
	switch {
	case r.ratio > 0:
		return fmt.Sprintf("≥ %.0f %%", 100*r.ratio)
	case r.figure > 0:
		return sign + grouped(r.figure) + sep(r.unit.text)
	}
	return "-"
}

func (r result) met() string {
	good := true
	switch {
	case r.ratio > 0:
		good = r.against() >= r.ratio
	case r.figure > 0 && r.lower:
		good = r.mine*r.unit.factor <= r.figure
	case r.figure > 0:
		good = r.mine*r.unit.factor >= r.figure
	default:
		return "-"
	}
	if good {
		return "yes"
	}
	return "no"
}

// show writes a value with three digits that count, or all of its whole part.
func (u unit) show(value float64) string { return grouped(value*u.factor) + sep(u.text) }

func sep(unit string) string {
	if strings.HasPrefix(unit, "/") {
		return unit
	}
	return " " + unit
}

func grouped(v float64) string {
	if v < 1000 {
		digits := 2 - int(math.Floor(math.Log10(max(v, 0.001))))
		return strconv.FormatFloat(v, 'f', min(max(digits, 0), 3), 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
