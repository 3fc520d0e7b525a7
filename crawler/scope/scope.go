// Package scope decides which URIs belong to a crawl, and says why: by decide rules, the plain settings that stand
// for such rules, crawler traps, block lists, limits of domains, and robots.txt. It also knows when two URIs are the
// same page (Canonicalizer), and which fetched documents are kept.
package scope

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// Status codes of URIs that a scope turns away, as Heritrix numbers them.
const (
	codeTooManyHops   = -4001
	codeTooManyEmbeds = -4002
	codeOutOfScope    = -5000
	codeBlocked       = -5001
	codeQuota         = -5003
)

// maxCompiled bounds the settings whose rules are kept ready.
const maxCompiled = 4096

// Verdict is a scope's decision about a URI.
type Verdict struct {
	Status int    // 0: accepted; else the code that crawl.log has
	Rule   string // the rule that made the decision
	Note   string // an annotation for the log, as "trap:calendar", or ""
}

// Accepted reports whether the URI belongs to the crawl.
func (v Verdict) Accepted() bool { return v.Status == 0 }

// Scope is the rules of a crawl, worked out from its settings and seeds. It is safe for concurrent use.
type Scope struct {
	log     *slog.Logger
	blocks  blockList
	traps   *Traps
	domains *Domains // nil: none

	rules atomic.Pointer[ruleSet]

	mu     sync.RWMutex
	seeds  map[string]struct{}
	within area
}

// ruleSet is the rules of all settings that hold: the job's own, and those of sheets as they are met.
type ruleSet struct {
	sheets *harvest.Sheets
	base   *compiled

	mu    sync.RWMutex
	other map[*harvest.Settings]*compiled
}

// New makes the scope of settings, the table of the job's domains (nil: none) and seeds, which are URLs in normal
// form. The error wraps harvest.ErrInvalid.
func New(sheets *harvest.Sheets, domains *Domains, seeds []string, log *slog.Logger) (*Scope, error) {
	s := &Scope{log: log, traps: NewTraps(), domains: domains, seeds: map[string]struct{}{},
		within: newArea(sheets.Base().Scope)}
	if err := s.Update(sheets); err != nil {
		return nil, err
	}
	for _, seed := range seeds {
		s.Admit(seed)
	}
	return s, nil
}

// Update replaces the settings while the scope is in use. On error nothing has changed; the error wraps
// harvest.ErrInvalid.
func (s *Scope) Update(sheets *harvest.Sheets) error {
	base, err := s.compile(sheets.Base())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode := sheets.Base().Scope; mode != s.within.mode {
		s.within = newArea(mode)
		for seed := range s.seeds {
			s.within.admit(seed)
		}
	}
	s.rules.Store(&ruleSet{sheets: sheets, base: base, other: map[*harvest.Settings]*compiled{}})
	return nil
}

// Admit widens the scope by another seed, a URL in normal form, and reports whether it was not a seed before. It
// also keeps a seed that the scope contains anyway, because a later scope may not.
func (s *Scope) Admit(seed string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seeds[seed]; known {
		return false
	}
	s.seeds[seed] = struct{}{}
	s.within.admit(seed)
	return true
}

// Decide reports whether a URI belongs to the crawl, and by which rule. URIs that the trap heuristics reject are
// counted.
func (s *Scope) Decide(u *Subject) Verdict {
	v := s.Judge(u)
	if v.Note != "" && v.Rule == trapHeuristics {
		s.traps.ledger.note(u)
	}
	return v
}

// Judge tells what Decide would, and counts nothing.
func (s *Scope) Judge(u *Subject) Verdict {
	if what := s.blocks.find(u); what != "" {
		return Verdict{Status: codeBlocked, Rule: "blocked"}
	}
	c := s.effective(u)
	word, by := Reject, -1
	for i := range c.steps {
		st := &c.steps[i]
		if st.can&^word == 0 {
			continue // it could only say the same again
		}
		if said := st.says(u); said != Pass && said != word {
			word, by = said, i
		}
	}
	return c.verdict(u, word, by)
}

// ByAddress tells whether the decision depends on the address of the URI's host.
func (s *Scope) ByAddress(u *Subject) bool { return s.effective(u).address }

// verdict is the outcome of a sequence: the decision, and the step that made it, -1 for none.
func (c *compiled) verdict(u *Subject, word Decision, by int) Verdict {
	if word == Accept {
		return Verdict{Rule: c.steps[by].name}
	}
	if by < 0 {
		status := codeOutOfScope
		if h := u.hop(); h.chain > 0 && !c.settings.RulesOnly {
			status = codeTooManyEmbeds
		}
		return Verdict{Status: status, Rule: nothingAccepted}
	}
	v := Verdict{Status: c.steps[by].status, Rule: c.steps[by].name}
	if v.Status == 0 {
		v.Status = codeOutOfScope
	}
	if v.Rule == trapHeuristics {
		v.Note = u.trap
	}
	return v
}

// Explain lists the decision of each rule of the sequence about a URI, in order, and marks the one that counts.
func (s *Scope) Explain(u *Subject) []Word {
	blocked := s.blocks.find(u)
	c := s.effective(u)
	words := make([]Word, 0, len(c.steps)+2)
	words = append(words, Word{Rule: nothingAccepted, Decision: Reject, Why: "what no rule accepts is rejected"})
	word, by := Reject, 0
	for i := range c.steps {
		w := c.steps[i].word(u)
		if w.Decision != Pass && w.Decision != word {
			word, by = w.Decision, i+1
		}
		words = append(words, w)
	}
	if blocked != "" {
		by = len(words)
		words = append(words, Word{Rule: "blocked", Decision: Reject, Why: "blocked by an operator: " + blocked})
	}
	words[by].Decided = true
	return words
}

// effective returns the rules of the settings in effect.
func (s *Scope) effective(u *Subject) *compiled {
	set := s.rules.Load()
	settings := u.Settings
	if settings == nil {
		if set.sheets.Empty() {
			return set.base
		}
		settings = set.sheets.For(harvest.Context{URL: u.URL, SURT: u.SURT(), Port: u.port(), Now: u.Now})
	}
	if settings == set.base.settings {
		return set.base
	}
	set.mu.RLock()
	c := set.other[settings]
	set.mu.RUnlock()
	if c != nil {
		return c
	}
	c, err := s.compile(settings)
	if err != nil {
		// Check refuses such settings before a crawl begins.
		s.log.Error("a sheet's settings for this URI are not valid; the job's own settings are used", "uri", u.URL,
			"error", err)
		return set.base
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	if len(set.other) >= maxCompiled {
		clear(set.other)
	}
	set.other[settings] = c
	return c
}

// area is the part of the web that the seeds put into the crawl.
type area struct {
	mode  harvest.ScopeMode
	hosts hostSet             // authorities, or registered domains
	paths map[string][]string // path: by authority, the folders
}

func newArea(mode harvest.ScopeMode) area {
	return area{mode: mode, hosts: hostSet{}, paths: map[string][]string{}}
}

func (a *area) admit(seed string) {
	var p parts
	p.read(seed)
	switch a.mode {
	case harvest.ScopePath:
		if folder := p.path[:strings.LastIndexByte(p.path, '/')+1]; a.below(p.authority, folder) == "" {
			a.paths[p.authority] = append(a.paths[p.authority], folder)
		}
	case harvest.ScopeDomain:
		a.hosts[domain.Of(p.host)] = struct{}{}
	default:
		a.hosts[p.authority] = struct{}{}
	}
}

func (a *area) below(authority, path string) string {
	for _, folder := range a.paths[authority] {
		if strings.HasPrefix(path, folder) {
			return folder
		}
	}
	return ""
}

func (a *area) holds(u *Subject) bool {
	p := u.parts()
	switch a.mode {
	case harvest.ScopeAny:
		return true
	case harvest.ScopeDomain:
		// A host that is not below any seed's domain need not be looked up in the list of public suffixes.
		d, ok := a.hosts.onDomain(p.host)
		return ok && (d == p.host || d == u.Domain())
	case harvest.ScopePath:
		return a.below(p.authority, p.path) != ""
	}
	return a.hosts.onHost(p.authority)
}

func (s *Scope) inArea(u *Subject) bool {
	if u.isSeed() {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.within.holds(u)
}

func (s *Scope) areaFact(u *Subject) string {
	s.mu.RLock()
	mode := s.within.mode
	s.mu.RUnlock()
	in := s.inArea(u)
	switch {
	case u.isSeed():
		return "a seed"
	case mode == harvest.ScopeAny:
		return "everything belongs to the crawl"
	case mode == harvest.ScopeDomain && in:
		return "domain " + u.Domain() + " is a seed's"
	case mode == harvest.ScopeDomain:
		return "domain " + u.Domain() + " is no seed's"
	case mode == harvest.ScopePath && in:
		return "below a seed's folder on " + u.Authority()
	case mode == harvest.ScopePath:
		return "not below a seed's folder"
	case in:
		return "host " + u.Authority() + " is a seed's"
	}
	return fmt.Sprintf("host %s is no seed's", u.Authority())
}
