package scope

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits on expressions, which people and other programs give.
const (
	maxPattern  = 16 << 10
	maxPatterns = 50_000
)

// pattern is a regular expression that has to match a text as a whole, as Heritrix's have to.
type pattern struct {
	text    string
	literal string // every match contains it; looked for first, as that is cheaper
	all     *regexp.Regexp
	later   *expressions // compiles it, instead of all
}

func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("%d bytes long: at most %d are allowed", len(text), maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	whole, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	return &pattern{text: text, literal: required(tree.Simplify()), all: whole}, nil
}

func (p *pattern) matches(s string) bool {
	if p.literal != "" && !strings.Contains(s, p.literal) {
		return false
	}
	if p.later != nil {
		return p.later.matches(p.text, s)
	}
	return p.all.MatchString(s)
}

// required is the longest piece of text that everything an expression matches must contain.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// patterns is a list of them.
type patterns []*pattern

func compilePatterns(texts []string) (patterns, error) {
	if len(texts) > maxPatterns {
		return nil, fmt.Errorf("%d expressions: at most %d are allowed", len(texts), maxPatterns)
	}
	out := make(patterns, 0, len(texts))
	for _, text := range texts {
		p, err := compilePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// first returns the first that matches, or nil.
func (p patterns) first(s string) *pattern {
	for _, one := range p {
		if one.matches(s) {
			return one
		}
	}
	return nil
}

// atLeast tells whether n of them match.
func (p patterns) atLeast(n int, s string) bool {
	for i := 0; i < len(p) && n > 0 && len(p)-i >= n; i++ {
		if p[i].matches(s) {
			n--
		}
	}
	return n <= 0
}

// count is how many of them match.
func (p patterns) count(s string) (n int) {
	for _, one := range p {
		if one.matches(s) {
			n++
		}
	}
	return n
}
