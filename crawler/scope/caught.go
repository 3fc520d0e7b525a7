package scope

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Trap is a form of URIs that the heuristics turn away.
type Trap struct {
	Host  string
	What  string // as in the annotation, "trap:calendar"
	URL   string // the first that was rejected
	Since time.Time
	Pages int   // that showed it to be one, 0: the URI shows it
	Away  int64 // how often a URI was rejected, when it was found or when its turn had come
}

// Why tells what such a trap is, for people.
func (t Trap) Why() string { return trapHelp(t.What) }

// maxTrapForms bounds how many forms are told apart; URIs of further forms are counted together.
const maxTrapForms = 1000

// ledger counts what the heuristics rejected. It is safe for concurrent use.
type ledger struct {
	fresh atomic.Int64 // not told yet
	mu    sync.Mutex
	forms map[trapForm]*Trap
	told  []*Trap // not told yet
	rest  int64

	changed bool // since it was last kept
}

type trapForm struct {
	host, what string
	form       uint64
}

// note counts a URI that was rejected.
func (l *ledger) note(u *Subject) {
	p := u.parts()
	form := trapForm{host: p.authority, what: u.trap}
	switch u.trap {
	case trapCalendar, trapDuplicate, trapVariants:
		form.form = patternHash(p)
	case trapDeeper:
		form.form = firstSegment(p.path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = true
	t := l.forms[form]
	switch {
	case t == nil && len(l.forms) >= maxTrapForms:
		l.rest++
		return
	case t == nil:
		if l.forms == nil {
			l.forms = map[trapForm]*Trap{}
		}
		form.host = strings.Clone(form.host)
		t = &Trap{Host: form.host, What: form.what, URL: strings.Clone(u.URL), Since: u.Now, Pages: u.trapPages}
		l.forms[form] = t
		l.told = append(l.told, t)
		l.fresh.Add(1)
	}
	t.Away++
}

// Fresh returns the forms that began to be rejected since the last call.
func (t *Traps) Fresh() []Trap {
	l := &t.ledger
	if l.fresh.Load() == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Trap, len(l.told))
	for i, one := range l.told {
		out[i] = *one
	}
	l.told = nil
	l.fresh.Store(0)
	return out
}

// All returns every form with rejected URIs, the most frequent first, and how often URIs of further forms were
// rejected.
func (t *Traps) All() (forms []Trap, others int64) {
	l := &t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.forms {
		forms = append(forms, *one)
	}
	slices.SortFunc(forms, func(a, b Trap) int {
		return cmp.Or(cmp.Compare(b.Away, a.Away), cmp.Compare(a.Host, b.Host), cmp.Compare(a.URL, b.URL))
	})
	return forms, l.rest
}
