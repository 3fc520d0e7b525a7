// Package seed says which random numbers a test draws, so that a run can be repeated.
package seed

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// variable names the environment variable with the seed of a run that is to be repeated.
const variable = "HOLDFAST_SEED"

// Of returns and logs the seed of a test: the one in HOLDFAST_SEED; otherwise 1 with -short, as in `make test`;
// otherwise a random one. What the test draws must depend on nothing else.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if given := os.Getenv(variable); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	} else if !testing.Short() {
		seed = rand.Uint64()
	}
	t.Logf("%s=%d repeats this run", variable, seed)
	return seed
}

// Rand draws by the test's seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 1))
}

// Main runs the tests of a package that draws by rapid: with -short from a fixed seed, unless -rapid.seed gives
// another.
func Main(m *testing.M) int {
	flag.Parse()
	drawn := flag.Lookup("rapid.seed")
	if drawn != nil && testing.Short() && drawn.Value.String() == "0" {
		if err := drawn.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
