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

func tables(seeds int, from uint64, worlds, budgets, policies string) error {
	if seeds < 1 {
		return fmt.Errorf("-seeds is %d: it has to be at least 1", seeds)
	}
	var which []uint64
	for i := range seeds {
		which = append(which, from+uint64(i))
	}
	for _, world := range strings.Split(worlds, ",") {
		if !slices.Contains([]string{"mixed", "kept", "poisson"}, world) {
			return fmt.Errorf("-worlds has %q: it has to be mixed, kept or poisson", world)
		}
		for _, name := range strings.Split(budgets, ",") {
			i := slices.IndexFunc(simulate.Budgets(), func(b simulate.Budget) bool { return b.Name == name })
			if i < 0 {
				return fmt.Errorf("-budgets has %q: it has to be tight, medium or ample", name)
			}
			of := simulate.Budgets()[i]
			err := simulate.Table(os.Stdout, simulate.Kind(world), of, which, strings.Split(policies, ","))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
