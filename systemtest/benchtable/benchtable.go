// Program benchtable measures what the project promises about speed and prints one table: each figure beside a
// baseline that was measured in the same run, in turns with it, and the goal for their ratio. A figure is the median
// of its rounds. Run it on an otherwise quiet machine, from the root of the checkout.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	rounds := flags.Int("rounds", 3, "how often each figure is measured; the median counts")
	only := flags.String("only", "", "measure only the rows whose names match this `expression`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	wanted, err := regexp.Compile(*only)
	if err != nil || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "benchtable: -only is an expression, -rounds 1 or more:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	began := time.Now()
	before := load()
	m := &measurer{dir: dir, rounds: *rounds, built: map[string]string{}}
	var results []result
	for _, r := range rows() {
		if wanted.MatchString(r.name) {
			results = append(results, m.measure(ctx, r))
		}
	}
	if sites := siteRows(); wanted.MatchString(sites[0].name) {
		results = append(results, m.crawlSites(ctx, sites)...)
	}
	fmt.Print(render(results))
	fmt.Printf("\n%d processors, %s, load %s before and %s after %v\n", runtime.NumCPU(), runtime.Version(), before,
		load(),
		time.Since(began).Round(time.Second))
	for _, r := range results {
		if r.err != nil {
			return 1
		}
	}
	return 0
}

// load is the number of processes that wanted a processor in the last minute, this program's among them.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
