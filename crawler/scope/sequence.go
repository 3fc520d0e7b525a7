package scope

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"holdfast/harvest"
)

// Names of the steps that stand for plain settings.
const (
	nothingAccepted = "reject"
	trapHeuristics  = "trap_heuristics"
)

// Settings with rules over an answer.
const (
	midFetchRules = "mid_fetch_rules"
	recordRules   = "record_rules"
)

// maxChain is how many embeds and redirects in a row are followed at all.
const maxChain = 20

// compiled is what settings say, ready for use.
type compiled struct {
	settings *harvest.Settings
	steps    []step
	address  bool // there are rules among them by the address
	midFetch *Rules
	browser  *Rules
	record   *Rules
	filter   *Filter
	dedup    TypeSet
	robots   *Robots // the operator's own
	some     *Robots // the paths for which a site's is obeyed
}

// Check reports whether a scope can be made of settings: the rules, expressions, traps, canonicalization and media
// types of the job and of its sheets. The error wraps harvest.ErrInvalid and names the setting, the given value and
// the allowed values.
func Check(settings harvest.Settings) error {
	sheets, err := harvest.NewSheets(settings, nil)
	if err != nil {
		return err
	}
	s := &Scope{log: slog.New(slog.DiscardHandler), traps: NewTraps()}
	if _, err := s.compile(sheets.Base()); err != nil {
		return err
	}
	if _, err := NewCanonicalizer(settings.Canonicalization); err != nil {
		return err
	}
	for _, sheet := range settings.Sheets {
		patch := map[string]json.RawMessage{}
		for _, name := range scopeSettings() {
			if value, ok := sheet.Settings[name]; ok {
				patch[name] = value
			}
		}
		alone, err := settings.Change(patch)
		if err != nil {
			return fmt.Errorf("sheet %s: %w", sheet.Name, err)
		}
		if _, err := s.compile(&alone); err != nil {
			return fmt.Errorf("sheet %s: %w", sheet.Name, err)
		}
	}
	return nil
}

// scopeSettings are the settings that a sheet may set and that are compiled.
func scopeSettings() []string {
	return []string{"rules", midFetchRules, recordRules, "browser_rules", "traps", "keep_types", "discard_types",
		"discard_if", "deduplicate_types", "robots", "robots_text", "robots_paths"}
}

// compile makes ready what settings say.
func (s *Scope) compile(settings *harvest.Settings) (*compiled, error) {
	c := &compiled{settings: settings}
	rules, err := compileRules("rules", settings.Rules, s.log)
	if err != nil {
		return nil, err
	}
	if !settings.RulesOnly {
		if c.steps, err = s.plain(settings); err != nil {
			return nil, err
		}
	}
	c.steps = append(c.steps, rules...)
	c.address = slices.ContainsFunc(rules, func(s step) bool { return s.needs == needsAddress })
	if len(settings.Traps) > 0 {
		traps, err := compilePatterns(settings.Traps)
		if err != nil {
			return nil, fmt.Errorf("%w: traps: given %w, allowed: regular expressions (RE2)", harvest.ErrInvalid, err)
		}
		c.steps = append(c.steps, trapStep(traps))
	}
	if st, any := s.domains.trapStep(); any {
		c.steps = append(c.steps, st)
	}
	if settings.TrapHeuristics {
		c.steps = append(c.steps, s.heuristicStep())
	}
	prerequisite := fact((*Subject).isPrerequisite, "a prerequisite", "not a prerequisite")
	c.steps = append(c.steps, prerequisite.step("prerequisite_accept", Accept, false))
	if err := c.compileRest(settings, s.log); err != nil {
		return nil, err
	}
	return c, nil
}

// compileRest makes ready what decides after a fetch, and about robots.txt.
func (c *compiled) compileRest(settings *harvest.Settings, log *slog.Logger) error {
	var err error
	if c.midFetch, err = newRules(midFetchRules, settings.MidFetchRules, log); err != nil {
		return err
	}
	if c.record, err = newRules(recordRules, settings.RecordRules, log); err != nil {
		return err
	}
	if c.browser, err = newRules("browser_rules", settings.BrowserRules, log); err != nil {
		return err
	}
	if c.filter, err = NewFilter(settings, log); err != nil {
		return err
	}
	if c.dedup, err = ParseTypes(settings.DeduplicateTypes); err != nil {
		return fmt.Errorf("%w: deduplicate_types: %w", harvest.ErrInvalid, err)
	}
	switch settings.Robots {
	case harvest.RobotsCustom:
		c.robots = parseOwnRobots(settings.RobotsText, settings.RobotsAgent())
	case harvest.RobotsSome:
		c.some = parsePaths(settings.RobotsPaths)
	}
	return nil
}

// plain makes the steps that stand for plain settings.
func (s *Scope) plain(settings *harvest.Settings) ([]step, error) {
	area := test{holds: s.inArea, fact: s.areaFact}
	steps := []step{
		area.step("scope", Accept, false),
		transcluded(settings.MaxTransHops, settings.MaxSpeculativeHops).step("transclusion", Accept, false),
	}
	if len(settings.SURTPrefixes) > 0 {
		st, err := prefixStep("surt_prefixes", settings.SURTPrefixes, Accept)
		if err != nil {
			return nil, fmt.Errorf("%w: surt_prefixes: %w", harvest.ErrInvalid, err)
		}
		steps = append(steps, st)
	}
	steps = append(steps, tooManyLinks(settings.MaxHops), tooLongChain())
	if most := settings.MaxPathSegments; most > 0 {
		steps = append(steps, tooManySegments(most).unlessSeed().step("too_many_path_segments", Reject, false))
	}
	if most := settings.MaxRepetitions; most > 0 {
		steps = append(steps, pathological(most).unlessSeed().step("pathological_path", Reject, false))
	}
	return steps, nil
}

func tooManyLinks(most int) step {
	t := test{
		holds: func(u *Subject) bool { return u.hop().links > most },
		fact:  func(u *Subject) string { return fmt.Sprintf("%s, at most %d", count(u.hop().links, "link"), most) },
	}
	st := t.step("too_many_hops", Reject, false)
	st.status = codeTooManyHops
	return st
}

func tooLongChain() step {
	t := test{
		holds: func(u *Subject) bool { return u.hop().chain > maxChain },
		fact: func(u *Subject) string {
			return fmt.Sprintf("%d embeds and redirects in a row, at most %d", u.hop().chain, maxChain)
		},
	}
	st := t.step("too_many_embeds", Reject, false)
	st.status = codeTooManyEmbeds
	return st
}

// unlessSeed is the test, which a seed never meets: somebody asked for it.
func (t test) unlessSeed() test {
	holds, what := t.holds, t.fact
	t.holds = func(u *Subject) bool { return !u.isSeed() && holds(u) }
	t.fact = func(u *Subject) string {
		if u.isSeed() {
			return "a seed is not held to this"
		}
		return what(u)
	}
	return t
}

func trapStep(traps patterns) step {
	screened := newScreen(traps)
	t := test{
		holds: func(u *Subject) bool { return screened.matches(u.URL) },
		fact: func(u *Subject) string {
			if p := traps.first(u.URL); p != nil {
				return "matches " + p.text
			}
			return "matches none of " + count(len(traps), "expression")
		},
	}
	return t.step("traps", Reject, false)
}

func (s *Scope) heuristicStep() step {
	t := test{
		holds: func(u *Subject) bool {
			u.trap, u.trapPages = s.traps.Caught(u)
			return u.trap != ""
		},
		fact: func(u *Subject) string {
			if what, _ := s.traps.Caught(u); what != "" {
				return what + ": " + trapHelp(what)
			}
			return "no trap known"
		},
	}
	return t.unlessSeed().step(trapHeuristics, Reject, false)
}

// MidFetch tells, of a URI whose head has come, whether the rest is to be fetched: false, and the rule that says so.
func (s *Scope) MidFetch(u *Subject) (proceed bool, rule string) {
	word, rule := s.effective(u).midFetch.Decide(u)
	return word != Reject, rule
}

// InBrowser tells whether a page is to be loaded in a browser.
func (s *Scope) InBrowser(u *Subject) bool {
	word, _ := s.effective(u).browser.Decide(u)
	return word == Accept
}

// KeepsType reports whether a document of that media type is to be recorded; if not, the reason is a word for the
// log.
func (s *Scope) KeepsType(u *Subject) (keep bool, why string) {
	return s.effective(u).filter.KeepsType(u)
}

// Keep reports whether a document that was received completely is to be recorded; if not, the reason is a word for
// the log.
func (s *Scope) Keep(u *Subject) (keep bool, why string) {
	c := s.effective(u)
	if !c.filter.Keep(u) {
		return false, discardIf
	}
	if word, _ := c.record.Decide(u); word == Reject {
		return false, recordRules
	}
	return true, ""
}

// Deduplicates tells whether documents of that media type are to be deduplicated.
func (s *Scope) Deduplicates(u *Subject) bool { return s.effective(u).dedup.Has(u.ContentType) }

// Observe shows the outcome of a fetch to the trap heuristics.
func (s *Scope) Observe(u *Subject, page Page) {
	if s.effective(u).settings.TrapHeuristics {
		s.traps.Observe(u, page)
	}
}

// Traps returns what the heuristics caught.
func (s *Scope) Traps() *Traps { return s.traps }
