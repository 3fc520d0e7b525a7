package history

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog/agree"
)

// Range has the best histories between two domains, read in one go: for who walks over all domains in their order.
type Range struct {
	view     View
	from, to string // keys; what is before to, not before from, and not in bests is not there
	bests    map[string][]byte
}

// Range reads the best histories of the domains from the first to the last, the first most of them. What it does not
// have is read when it is asked for: keys are not quite in the order of domains, for a.org-b is behind a.org, and
// a.org-b/x before a.org/x. A Range holds as long as its View.
func (v View) Range(first, last string, most int) (*Range, error) {
	r := &Range{view: v, from: prefixBest + first, to: strings.TrimSuffix(prefixBest, "/") + "0",
		bests: map[string][]byte{}}
	err := v.Reader.Scan([]byte(prefixBest), []byte(r.from), func(key, value []byte) bool {
		domain, _, _ := strings.Cut(string(key[len(prefixBest):]), "/")
		if domain > last || len(r.bests) >= most {
			r.to = string(key)
			return false
		}
		r.bests[string(key)] = slices.Clone(value)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read the history from %s to %s: %w", first, last, err)
	}
	return r, nil
}

// Best is View.Best.
func (r *Range) Best(domain, configuration string) (b Best, err error) {
	key := keyBest(domain, configuration)
	if value, there := r.bests[key]; there {
		return b, agree.DecodeValue(key, value, &b)
	}
	if key >= r.from && key < r.to {
		return b, nil
	}
	return r.view.Best(domain, configuration)
}
