package cdx

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrQuery reports a query that is not valid.
var ErrQuery = errors.New("not a usable query")

// Scope says which URLs a query is about, beside the one it names.
type Scope string

// The scopes, as the CDX server's matchType names them. The empty scope is Exact.
const (
	Exact  Scope = "exact"  // the URL alone
	Prefix Scope = "prefix" // all URLs that begin so
	Host   Scope = "host"   // all URLs of the host
	Domain Scope = "domain" // all URLs of the host and of the hosts under it
)

// Sort is the order of a query's answer.
type Sort string

// The orders. The empty one is by key, then time.
const (
	Forward Sort = ""
	Reverse Sort = "reverse" // by key, then time, backwards
	Closest Sort = "closest" // by distance from Query.Closest
)

// Query asks for captures. It is a plain value that travels between nodes as JSON.
type Query struct {
	URL      string   `json:"url"`
	Match    Scope    `json:"match,omitempty"`
	From     string   `json:"from,omitempty"` // timestamp, padded low
	To       string   `json:"to,omitempty"`   // timestamp, padded high
	Sort     Sort     `json:"sort,omitempty"`
	Closest  string   `json:"closest,omitempty"`  // timestamp, for Sort Closest
	Limit    int      `json:"limit,omitempty"`    // 0: no limit
	Filters  []string `json:"filters,omitempty"`  // [!][=|~]field:text as pywb; all must hold
	Collapse int      `json:"collapse,omitempty"` // keep the first of captures that share these digits and the status

	// Gate keeps captures back. It is part of the query: what it keeps back counts for no limit, order or collapse. It
	// does not travel: who asks another node lets what that one answers pass the gate.
	Gate Gate `json:"-"`
}

// Gate decides which captures somebody is told of. It may be used concurrently.
type Gate interface {
	// Within returns the gate for captures with keys from low up to, not including, high; nil if none of them is kept
	// back.
	Within(low, high string) Gate
	// Passes reports whether the capture may be told of.
	Passes(c *Capture) bool
}

// Pattern reads a URL as people write it: *.host asks for a domain, url* for a prefix.
func Pattern(url string) (string, Scope) {
	if rest, ok := strings.CutPrefix(url, "*."); ok {
		return strings.TrimSuffix(rest, "/*"), Domain
	}
	if rest, ok := strings.CutSuffix(url, "*"); ok {
		return rest, Prefix
	}
	return url, Exact
}

// Range returns the keys that the query covers: from low up to, not including, high.
// A domain's range also holds the hosts under it, which do not sort beside it
// but between ")" and "-". The error wraps ErrURL or ErrQuery.
func (q Query) Range() (low, high string, err error) {
	url, end := q.URL, ""
	if front := strings.TrimRight(url, "&"); q.Match == Prefix && len(front) < len(url) &&
		strings.Contains(front, "?") && !strings.HasSuffix(front, "?") {
		url, end = front, "&" // not a parameter without a name, which would come first
	}
	key, err := Key(url)
	if err != nil {
		return "", "", err
	}
	key += end
	host, _, _ := strings.Cut(key, ")/")
	switch q.Match {
	case Exact, "":
		return key, key + "\x00", nil
	case Prefix:
		for _, end := range []string{"/", "?"} {
			if strings.HasSuffix(q.URL, end) && !strings.HasSuffix(key, end) {
				key += end
			}
		}
		return key, after(key), nil
	case Host:
		return host + ")/", host + "*", nil
	case Domain:
		if !strings.Contains(host, ",") {
			return host + ",", host + "-", nil
		}
		return host + ")/", host + "-", nil
	}
	return "", "", fmt.Errorf("%w: no such match type %.40q", ErrQuery, string(q.Match))
}

// after returns the first key that does not begin with the prefix.
func after(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// Plan is a query made ready to look at many captures. It is safe for concurrent use.
type Plan struct {
	Low, High string // keys, half open
	From, To  string // 14 digits, both ends included; empty: open
	filters   []filter
	gate      Gate // nil: it keeps back nothing here
}

// Gated reports whether captures that match otherwise may be kept back.
func (p *Plan) Gated() bool { return p.gate != nil }

// Passes reports whether the query's gate lets the capture pass.
func (p *Plan) Passes(c *Capture) bool { return p.gate == nil || p.gate.Passes(c) }

// Compile checks the query and makes it ready. The error wraps ErrURL, ErrTimestamp or ErrQuery.
func (q Query) Compile() (*Plan, error) {
	p := &Plan{}
	var err error
	if p.Low, p.High, err = q.Range(); err != nil {
		return nil, err
	}
	if q.From != "" {
		if p.From, err = PadTimestamp(q.From, Low); err != nil {
			return nil, fmt.Errorf("from: %w", err)
		}
	}
	if q.To != "" {
		if p.To, err = PadTimestamp(q.To, High); err != nil {
			return nil, fmt.Errorf("to: %w", err)
		}
	}
	switch q.Sort {
	case Forward, Reverse:
	case Closest:
		if _, err := ParseTimestamp(q.Closest, Low); err != nil {
			return nil, fmt.Errorf("closest: %w", err)
		}
	default:
		return nil, fmt.Errorf("%w: no such order %.40q", ErrQuery, string(q.Sort))
	}
	if q.Limit < 0 || q.Collapse < 0 || q.Collapse > 14 {
		return nil, fmt.Errorf("%w: limit %d, collapse %d", ErrQuery, q.Limit, q.Collapse)
	}
	for _, text := range q.Filters {
		f, err := parseFilter(text)
		if err != nil {
			return nil, err
		}
		p.filters = append(p.filters, f)
	}
	if q.Gate != nil {
		p.gate = q.Gate.Within(p.Low, p.High)
	}
	return p, nil
}

// Match reports whether the capture answers the query: key, time, filters and gate.
func (p *Plan) Match(c *Capture) bool {
	if c.Key < p.Low || c.Key >= p.High || c.Timestamp < p.From || p.To != "" && c.Timestamp > p.To {
		return false
	}
	for _, f := range p.filters {
		if !f.holds(c) {
			return false
		}
	}
	return p.Passes(c)
}

// filter is one of pywb's: the modifiers come before the field.
type filter struct {
	field string // empty: the whole line
	not   bool
	exact bool
	text  string
	expr  *regexp.Regexp
}

const maxFilter = 4 << 10

func parseFilter(text string) (filter, error) {
	if len(text) > maxFilter {
		return filter{}, fmt.Errorf("%w: filter of %d bytes", ErrQuery, len(text))
	}
	f := filter{}
	rest, not := strings.CutPrefix(text, "!")
	f.not = not
	isExpr := false
	if r, ok := strings.CutPrefix(rest, "="); ok {
		rest, f.exact = r, true
	} else if r, ok := strings.CutPrefix(rest, "~"); ok {
		rest, isExpr = r, true
	}
	f.text = rest
	if name, value, ok := strings.Cut(rest, ":"); ok {
		if f.field, ok = FieldName(name); !ok {
			return filter{}, fmt.Errorf("%w: no field %.40q in filter %.80q", ErrQuery, name, text)
		}
		f.text = value
	}
	if isExpr {
		var err error
		if f.expr, err = regexp.Compile("^(?:" + f.text + ")"); err != nil {
			return filter{}, fmt.Errorf("%w: filter %.80q: %w", ErrQuery, text, err)
		}
	}
	return f, nil
}

func (f *filter) holds(c *Capture) bool {
	var value string
	if f.field == "" {
		value = string(c.AppendCDXJ(nil))
	} else {
		value = c.Field(f.field)
	}
	var ok bool
	switch {
	case f.expr != nil:
		ok = f.expr.MatchString(value)
	case f.exact:
		ok = value == f.text
	default:
		ok = strings.Contains(value, f.text)
	}
	return ok != f.not
}
