package scope

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/cdx"
)

// hostSet finds hosts, or domains with everything below them.
type hostSet map[string]struct{}

// onHost tells whether an authority, host and port, is in the set.
func (h hostSet) onHost(authority string) bool {
	_, ok := h[authority]
	return ok
}

// onDomain returns the domain of the set that a host is, or is below.
func (h hostSet) onDomain(host string) (string, bool) {
	for rest := strings.TrimSuffix(host, "."); rest != ""; {
		if _, ok := h[rest]; ok {
			return rest, true
		}
		_, below, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		rest = below
	}
	return "", false
}

// hostOf reads a host, and port, in any of the forms in which people write one: example.org, a URL, or a SURT prefix.
func hostOf(given string) (authority string, err error) {
	text := strings.ToLower(strings.TrimSpace(given))
	if _, rest, ok := strings.Cut(text, "("); ok {
		rest, _, _ = strings.Cut(rest, ")")
		labels, port, hasPort := strings.Cut(rest, ":")
		list := strings.Split(strings.Trim(labels, ","), ",")
		slices.Reverse(list)
		authority = strings.Join(list, ".")
		if hasPort {
			authority += ":" + port
		}
	} else {
		if !strings.Contains(text, "://") {
			text = "http://" + strings.TrimPrefix(text, "*.")
		}
		normal, err := cdx.Normalize(text)
		if err != nil {
			return "", err
		}
		var p parts
		p.read(normal)
		authority = p.authority
	}
	if authority == "" || strings.ContainsAny(authority, " /") {
		return "", fmt.Errorf("%q is not a host", given)
	}
	return authority, nil
}

// prefixSet finds, of many SURT prefixes, the last given one that a SURT begins with.
type prefixSet struct {
	byPrefix map[string]int // place in the list given
	lengths  []int          // of the prefixes, each once
}

func newPrefixSet(prefixes []string) prefixSet {
	set := prefixSet{byPrefix: make(map[string]int, len(prefixes))}
	for i, p := range prefixes {
		set.byPrefix[p] = i
		if !slices.Contains(set.lengths, len(p)) {
			set.lengths = append(set.lengths, len(p))
		}
	}
	slices.Sort(set.lengths)
	return set
}

// last returns the place of that prefix, -1 if there is none.
func (s *prefixSet) last(surt []byte) int {
	found := -1
	for _, n := range s.lengths {
		if n > len(surt) {
			break
		}
		if i, ok := s.byPrefix[string(surt[:n])]; ok && i > found {
			found = i
		}
	}
	return found
}
