// Program simulate prints how the policies of revisiting do in worlds that do not exist: make simulate SEEDS=5.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"holdfast/revisit/simulate"
)

func main() {
	seeds := flag.Int("seeds", 5, "how many seeds")
	from := flag.Uint64("from", 1, "the first seed")
	worlds := flag.String("worlds", "mixed,kept,poisson", "which worlds")
	budgets := flag.String("budgets", "tight,medium,ample", "which budgets")
	policies := flag.String("policies", strings.Join(simulate.Policies(), ","), "which policies, beside the oracles")
	flag.Parse()
	if err := tables(*seeds, *from, *worlds, *budgets, *policies); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// tables prints a table for each world and budget.
func tables(seeds int, from uint64, worlds, budgets, policies string) error {
	if seeds < 1 {
		return fmt.Errorf("-seeds is %d: it has to be at least 1", seeds)
	}
	which := make([]uint64, seeds)
	for i := range which {
		which[i] = from + uint64(i)
	}
	var known []string
	for _, b := range simulate.Budgets() {
		known = append(known, b.Name)
	}
	names := strings.Split(policies, ",")
	if err := among("-policies", names, simulate.Policies()); err != nil {
		return err
	}
	if err := among("-worlds", strings.Split(worlds, ","), []string{"mixed", "kept", "poisson"}); err != nil {
		return err
	}
	if err := among("-budgets", strings.Split(budgets, ","), known); err != nil {
		return err
	}
	for _, world := range strings.Split(worlds, ",") {
		for _, b := range simulate.Budgets() {
			if !slices.Contains(strings.Split(budgets, ","), b.Name) {
				continue
			}
			if err := simulate.Table(os.Stdout, simulate.Kind(world), b, which, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// among refuses a name of a flag that is not among those that are known.
func among(flag string, names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s has %q: it has to be of %s", flag, name, strings.Join(known, ", "))
		}
	}
	return nil
}
