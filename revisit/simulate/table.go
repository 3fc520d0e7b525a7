package simulate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/revisit"
)

// Budget is how many requests a crawl has.
type Budget struct {
	Name string
	Rate float64 // requests a day, for each page that is there at the start
}

// Budgets are those that are simulated: 0.13, 1 and 6 times as many as there are changes.
func Budgets() []Budget { return []Budget{{"tight", 0.25}, {"medium", 2}, {"ample", 12}} }

// Row is one policy in one world with one budget.
type Row struct {
	Policy string
	Score
	J     float64 // harmonic mean of freshness and completeness, each against the best of the oracles
	Share float64 // J against that of oracle-mix
}

// Oracles are the names of the oracles; Policies, those of the policies that a crawl can have.
func Oracles() []string { return []string{"oracle-mix", "oracle-F", "oracle-C"} }

// Policies are the names of all other policies.
func Policies() []string {
	return []string{"uniform", "fixed", "heritrix-ar", "heritrix-ar-classes", "adaptive", "adaptive-w1",
		"without-early", "without-profile", "without-links", "without-averaging", "without-tickers", "without-hints"}
}

// Run scores policies, by name, in the world of a seed.
func Run(kind Kind, budget Budget, seed uint64, names []string) ([]Row, error) {
	w := Make(kind, seed)
	rate := budget.Rate * startPages
	var rows []Row
	bestF, bestC := 0.0, 0.0
	for _, name := range append(Oracles(), names...) {
		p, err := build(name, w, rate)
		if err != nil {
			return nil, err
		}
		score := run(w, p, steady(rate), seed)
		if len(rows) < len(Oracles()) {
			bestF, bestC = max(bestF, score.Freshness), max(bestC, score.Completeness)
		}
		rows = append(rows, Row{Policy: name, Score: score})
	}
	for i := range rows {
		f, c := rows[i].Freshness/bestF, rows[i].Completeness/bestC
		rows[i].J = 2 * f * c / (f + c)
		rows[i].Share = rows[i].J / rows[0].J
	}
	return rows, nil
}

func build(name string, w *World, rate float64) (policy, error) {
	settings := revisit.DefaultSettings()
	settings.Per, settings.Budget = revisit.RequestsPerSecond, rate/86400
	switch name {
	case "oracle-mix":
		return newOracle(w, 0.5, rate), nil
	case "oracle-F":
		return newOracle(w, 1, rate), nil
	case "oracle-C":
		return newOracle(w, 0, rate), nil
	case "uniform":
		return &uniform{timetable: timetable{world: w}}, nil
	case "fixed":
		day := 24 * time.Hour
		of, err := revisit.NewFixed([]revisit.Interval{
			{Type: "image/*", Wait: 28 * day}, {Type: "text/html", Wait: day}, {Type: "*", Wait: 7 * day}})
		return &fixed{timetable: timetable{world: w}, policy: of}, err
	case "heritrix-ar", "heritrix-ar-classes":
		evaluators := revisit.ThesisEvaluators()
		if name == "heritrix-ar-classes" {
			evaluators = revisit.HeritrixEvaluators()
		}
		of, err := revisit.NewAR(evaluators)
		return &thesis{timetable: timetable{world: w}, policy: of, states: make([]revisit.ARState, len(w.items))}, err
	case "adaptive":
	case "adaptive-w1":
		settings.NewPage = 1
	case "without-early":
		settings.Without.EarlyTurns = true
	case "without-profile":
		settings.Without.Profile = true
	case "without-links":
		settings.Without.Links = true
	case "without-averaging":
		settings.Without.Averaging = true
	case "without-tickers":
		settings.Without.Tickers = true
	case "without-hints":
		settings.Without.Hints = true
	default:
		return nil, fmt.Errorf("%q is not a policy", name)
	}
	return newAdaptive(w, settings)
}

// Table writes the mean of seeds 1 to n for each policy, with the least share of oracle-mix's J that it had.
func Table(out io.Writer, kind Kind, budget Budget, seeds []uint64, names []string) error {
	var sums []Row
	var worst []float64
	for _, seed := range seeds {
		rows, err := Run(kind, budget, seed, names)
		if err != nil {
			return err
		}
		if sums == nil {
			sums, worst = make([]Row, len(rows)), make([]float64, len(rows))
		}
		for i, r := range rows {
			sums[i] = sums[i].plus(r)
			if seed == seeds[0] || r.Share < worst[i] {
				worst[i] = r.Share
			}
		}
	}
	n := float64(len(seeds))
	fmt.Fprintf(out, "\n%s, %s (%g requests a page and day), %d seeds\n\n", kind, budget.Name, budget.Rate, len(seeds))
	fmt.Fprintln(out, "| policy | J | share | least | F | C | found | delay | new page |"+
		" used | tickers | proven | articles | hints |")
	fmt.Fprintln(out, "|"+strings.Repeat("---|", 14))
	for i, r := range sums {
		line := "| " + r.Policy
		for _, of := range []float64{r.J / n, r.Share / n, worst[i], r.Freshness / n, r.Completeness / n, r.Found / n} {
			line += fmt.Sprintf(" | %.3f", of)
		}
		line += fmt.Sprintf(" | %.1f h | %.1f h", r.Delay/n, r.NewPage/n)
		for _, of := range []float64{r.Used / n, r.Tickers / n, r.Proven / n, r.Articles / n, r.Hints / n} {
			line += fmt.Sprintf(" | %.3f", of)
		}
		if _, err := fmt.Fprintln(out, line+" |"); err != nil {
			return err
		}
	}
	return nil
}

func (r Row) plus(o Row) Row {
	s := Score{Freshness: r.Freshness + o.Freshness, Completeness: r.Completeness + o.Completeness,
		Found: r.Found + o.Found, Delay: r.Delay + o.Delay, NewPage: r.NewPage + o.NewPage,
		Used: r.Used + o.Used, Tickers: r.Tickers + o.Tickers,
		Proven: r.Proven + o.Proven, Articles: r.Articles + o.Articles, Hints: r.Hints + o.Hints}
	return Row{Policy: o.Policy, J: r.J + o.J, Share: r.Share + o.Share, Score: s}
}
