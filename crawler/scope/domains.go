package scope

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"holdfast/cdx"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// Domains is the table of a job's domains, ready for use: limits, crawler traps and logins, looked up by registered
// domain, once for a URI whatever their number. It does not change.
type Domains struct {
	given   harvest.Domains
	byURL   bool              // documents count for the domain of their URL
	seeds   map[string]string // seeds that count for another domain than their own
	rows    map[string]*row
	traps   patterns // of all domains
	screen  *screen  // of these
	trapped bool     // any row has traps
	logins  map[string][]harvest.Credential
}

// row is what the table has of a domain. Its traps are made ready when they are first needed: many domains of a job are
// never met.
type row struct {
	objects, bytes harvest.Limit
	given          []string // traps
	compiled       *expressions
	once           sync.Once
	traps          patterns
	screen         *screen // of many traps; else nil
}

// ready makes the traps ready.
func (r *row) ready() *row {
	r.once.Do(func() {
		r.traps = laterPatterns(r.given, r.compiled)
		if len(r.traps) > fewTraps {
			r.screen = newScreen(r.traps)
		}
	})
	return r
}

// fewTraps is up to how many traps are tried one after the other.
const fewTraps = 8

// maxTableCompiled is how many expressions of domains' own traps are kept compiled: a job may have very many.
const maxTableCompiled = 4096

// NewDomains makes the table ready; given may be nil, and has expressions that harvest.Job.Validate allows. The error
// wraps harvest.ErrInvalid.
func NewDomains(given *harvest.Domains, by harvest.CountBy) (*Domains, error) {
	d := &Domains{byURL: by == harvest.CountByURL, seeds: map[string]string{}, rows: map[string]*row{},
		logins: map[string][]harvest.Credential{}}
	if given == nil {
		return d, nil
	}
	d.given = *given
	var err error
	if d.traps, err = compilePatterns(given.Traps); err != nil {
		return nil, fmt.Errorf("%w: domains: traps: given %w, allowed: regular expressions (RE2)",
			harvest.ErrInvalid, err)
	}
	d.screen = newScreen(d.traps)
	compiled := &expressions{known: map[string]*regexp.Regexp{}}
	seen := map[string]bool{}
	for i := range given.Configurations {
		c := &given.Configurations[i]
		for _, seed := range c.Seeds {
			url, err := cdx.Normalize(seed)
			if err != nil || seen[url] {
				continue
			}
			seen[url] = true
			if of := domainOfURL(url); of != c.Domain {
				d.seeds[url] = c.Domain
			}
		}
		for _, login := range c.Logins {
			of := domain.Of(login.Domain)
			d.logins[of] = append(d.logins[of], login)
		}
		if d.rows[c.Domain] != nil {
			continue
		}
		d.rows[c.Domain] = &row{objects: c.Objects, bytes: c.Bytes, given: c.Traps, compiled: compiled}
		d.trapped = d.trapped || len(c.Traps) > 0
	}
	return d, nil
}

func domainOfURL(url string) string {
	u := Subject{URL: url}
	return u.Domain()
}

// Configurations are those of the table, in the order given; of a domain that comes again, the first counts.
func (d *Domains) Configurations() []harvest.Configuration { return d.given.Configurations }

// Counted is the domain for which a document of a URI counts.
func (d *Domains) Counted(u *Subject) string {
	if d.byURL || u.Source == "" {
		return u.Domain()
	}
	return d.Of(u.Source)
}

// Of is the domain for which a seed counts.
func (d *Domains) Of(seed string) string {
	if of, there := d.seeds[seed]; there {
		return of
	}
	return domainOfURL(seed)
}

// Limits are those of a domain for which documents count: of each kind, the least of what the table and the settings
// in effect give.
func (d *Domains) Limits(domain string, s *harvest.Settings) Limits {
	l := LimitsOf(s)
	l[2], l[3] = l[2].Least(d.given.Objects), l[3].Least(d.given.Bytes)
	if r := d.rows[domain]; r != nil {
		l[0], l[1] = l[0].Least(r.objects), l[1].Least(r.bytes)
	}
	return l
}

// Logins are the table's for a host.
func (d *Domains) Logins(host string) []harvest.Credential {
	if len(d.logins) == 0 {
		return nil
	}
	return d.logins[domain.Of(host)]
}

// HasLogins reports whether the table has any.
func (d *Domains) HasLogins() bool { return len(d.logins) > 0 }

// trapStep is the step of the table's traps, if it has any.
func (d *Domains) trapStep() (st step, any bool) {
	if d == nil || len(d.traps) == 0 && !d.trapped {
		return st, false
	}
	t := test{holds: d.isTrap, fact: d.trapFact}
	return t.step("domain_traps", Reject, false), true
}

func (d *Domains) isTrap(u *Subject) bool {
	if len(d.traps) > 0 && d.screen.matches(u.URL) {
		return true
	}
	if !d.trapped {
		return false
	}
	r := d.rows[u.Domain()]
	switch {
	case r == nil || len(r.given) == 0:
		return false
	case r.ready().screen != nil:
		return r.screen.matches(u.URL)
	}
	return r.traps.first(u.URL) != nil
}

func (d *Domains) trapFact(u *Subject) string {
	if p := d.traps.first(u.URL); p != nil {
		return "matches " + p.text
	}
	r := d.rows[u.Domain()]
	if r == nil {
		return "matches none of " + count(len(d.traps), "expression") + " for all domains"
	}
	if p := r.ready().traps.first(u.URL); p != nil {
		return "matches " + p.text + " of domain " + u.Domain()
	}
	return fmt.Sprintf("matches none of %s for all domains, and of %d of domain %s",
		count(len(d.traps), "expression"), len(r.traps), u.Domain())
}

// expressions are compiled when they are needed, and not all are kept. It is safe for concurrent use.
type expressions struct {
	mu    sync.RWMutex
	known map[string]*regexp.Regexp
}

// matches reports whether an expression, which can be compiled, matches a text as a whole.
func (e *expressions) matches(text, s string) bool {
	e.mu.RLock()
	all := e.known[text]
	e.mu.RUnlock()
	if all == nil {
		var err error
		if all, err = regexp.Compile(`\A(?:` + text + `)\z`); err != nil {
			return false // it was parsed before
		}
		e.mu.Lock()
		if len(e.known) >= maxTableCompiled {
			clear(e.known)
		}
		e.known[text] = all
		e.mu.Unlock()
	}
	return all.MatchString(s)
}

// laterPatterns are patterns that are compiled when they are needed. What is no expression is left out: see NewDomains.
func laterPatterns(texts []string, compiled *expressions) (out patterns) {
	for _, text := range texts {
		if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
			out = append(out, &pattern{text: text, literal: required(tree.Simplify()), later: compiled})
		}
	}
	return out
}
