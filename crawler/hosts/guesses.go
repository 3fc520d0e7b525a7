package hosts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"holdfast/crawler/frontier"
)

// valueGuess begins the names of the frontier's values that say how guesses ended: of a host, and a kind after a space.
const valueGuess = "guess/"

// Bounds on guesses.
const (
	leastGuesses = 36      // that are tried before a kind may rest
	maxKinds     = 40      // of a host that are told apart
	maxPages     = 200_000 // whose content is remembered
)

// Guesses counts how speculative URIs (strings in scripts, attributes of the author's own) end, by the host that they
// are at and by the kind of place where they were found. A kind that misses more than it finds rests. It is safe for
// concurrent use.
type Guesses struct {
	frontier *frontier.Frontier

	mu    sync.Mutex
	hosts map[string]map[string]*Guess
	seed  maphash.Seed
	pages map[uint64]uint64 // by host and content: the URL that had it first
}

// Guess is how the guesses of one kind at one host ended.
type Guess struct {
	Host   string `json:"-"`
	Kind   string `json:"-"`
	Found  int64  `json:"found"`
	Missed int64  `json:"missed"`
	Rested int64  `json:"rested"` // not tried
}

// Rests reports whether such guesses are not tried any more.
func (g *Guess) Rests() bool { return g.Found+g.Missed >= leastGuesses && g.Missed > g.Found }

// NewGuesses returns what the frontier knows of guesses.
func NewGuesses(f *frontier.Frontier) (*Guesses, error) {
	g := &Guesses{frontier: f, hosts: map[string]map[string]*Guess{}, seed: maphash.MakeSeed(),
		pages: map[uint64]uint64{}}
	err := f.Values(valueGuess, func(name string, data []byte) error {
		host, kind, _ := strings.Cut(strings.TrimPrefix(name, valueGuess), " ")
		if err := json.Unmarshal(data, g.of(host, kind)); err != nil {
			return fmt.Errorf("read %s from the frontier: %w", name, err)
		}
		return nil
	})
	return g, err
}

// of returns the count of a kind; kinds of which there are too many share one. The caller holds mu, or is alone.
func (g *Guesses) of(host, kind string) *Guess {
	kinds := g.hosts[host]
	if kinds == nil {
		kinds = map[string]*Guess{}
		keep(g.hosts, strings.Clone(host), kinds)
	}
	if kinds[kind] == nil && len(kinds) >= maxKinds {
		kind = "others"
	}
	one := kinds[kind]
	if one == nil {
		one = &Guess{Host: strings.Clone(host), Kind: strings.Clone(kind)}
		kinds[one.Kind] = one
	}
	return one
}

// Rests reports whether guesses of a kind at a host are not tried any more.
func (g *Guesses) Rests(host, kind string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of(host, kind).Rests()
}

// Rest is Rests for a guess that was queued, which counts as one that rests.
func (g *Guesses) Rest(host, kind string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(host, kind)
	if !one.Rests() {
		return false
	}
	one.Rested++
	g.store(one)
	return true
}

// Ended counts a guess that was tried. It reports whether its kind rests from now on.
func (g *Guesses) Ended(host, kind string, found bool) (rests bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(host, kind)
	rested := one.Rests()
	if found {
		one.Found++
	} else {
		one.Missed++
	}
	g.store(one)
	return one.Rests() && !rested
}

func (g *Guesses) store(one *Guess) {
	data, err := json.Marshal(one)
	if err == nil { // three numbers
		g.frontier.SetValue(valueGuess+one.Host+" "+one.Kind, data)
	}
}

// Page notes the content of a page, by its digest.
func (g *Guesses) Page(host, digest, url string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := maphash.Comparable(g.seed, [2]string{host, digest})
	if _, known := g.pages[key]; known {
		return
	}
	for old := range g.pages {
		if len(g.pages) < maxPages {
			break
		}
		delete(g.pages, old)
	}
	g.pages[key] = maphash.String(g.seed, url)
}

// Known reports whether another page of the host had that content.
func (g *Guesses) Known(host, digest, url string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	first, known := g.pages[maphash.Comparable(g.seed, [2]string{host, digest})]
	return known && first != maphash.String(g.seed, url)
}

// All returns the counts, those with most misses first.
func (g *Guesses) All() (all []Guess) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, kinds := range g.hosts {
		for _, one := range kinds {
			all = append(all, *one)
		}
	}
	slices.SortFunc(all, func(a, b Guess) int {
		return cmp.Or(cmp.Compare(b.Missed, a.Missed), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
