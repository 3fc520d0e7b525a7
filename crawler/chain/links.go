package chain

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// maxSeedRedirects bounds how many redirects from a seed lead to a URI that also counts as a seed.
const maxSeedRedirects = 5

// ValueAdmitted begins the names of the frontier's values that say which URLs widen the scope: a seed redirects there,
// or it is a seed that was added.
const ValueAdmitted = "admitted/"

// Links turns the links of a document into URIs to queue. It is safe for concurrent use.
type Links struct {
	Plan     *plan.Current
	Entries  *plan.Entries
	Scope    *scope.Scope
	Frontier *frontier.Frontier
	Known    *Known
	Guesses  *hosts.Guesses
}

// Admit has the scope be also that of where a seed redirects to, as if that were a seed.
func (l *Links) Admit(url string) {
	if l.Scope.Admit(url) {
		l.Frontier.SetValue(ValueAdmitted+url, []byte("1"))
	}
}

// Accepted appends the links that belong to the crawl as URIs to queue, except such as are known to be in the frontier.
// The subject is for it to use.
func (l *Links) Accepted(out []frontier.URI, u *frontier.URI, found []extract.Link,
	subject *scope.Subject) []frontier.URI {
	var paths [256]string
	sheets, forgotten := l.Plan.Sheets(), l.Frontier.Forgotten()
	*subject = scope.Subject{Via: u.URL, Source: u.Source, Now: time.Now(), Unresolved: true}
	for _, link := range found {
		if link.Hop == extract.Redirect && strings.Trim(u.Path, "R") == "" && len(u.Path) < maxSeedRedirects {
			l.Admit(link.URL)
		}
		if link.Hop != extract.Redirect && l.Known.has(link.URL, forgotten) {
			continue // to decide on it would change nothing: it is queued or finished
		}
		path := paths[link.Hop]
		if path == "" {
			path = u.Path + string(rune(link.Hop))
			paths[link.Hop] = path
		}
		subject.URL, subject.Path, subject.Settings = link.URL, path, sheets.Base()
		var t fetch.Target
		var err error
		if !sheets.Empty() {
			if t, err = fetch.ParseTarget(link.URL); err != nil {
				continue
			}
			subject.Settings = sheets.For(l.Plan.Context(t))
		}
		if !l.Scope.Decide(subject).Accepted() {
			continue
		}
		if t.URL == "" {
			if t, err = fetch.ParseTarget(link.URL); err != nil {
				continue
			}
		}
		if link.Hop == extract.Speculative && l.Guesses.Rests(plan.AuthorityOf(t), link.Context) {
			continue
		}
		out = append(out, l.entry(u, link, t, path, subject.Settings))
	}
	return out
}

// entry is a link of u as the frontier takes it.
func (l *Links) entry(u *frontier.URI, link extract.Link, t fetch.Target, path string,
	s *harvest.Settings) frontier.URI {
	n := l.Entries.Entry(link.URL, t, s)
	n.Path, n.Via, n.Source, n.Priority = path, u.URL, u.Source, frontier.Normal
	switch link.Hop {
	case extract.Speculative:
		n.Led = ledGuess + link.Context
	case extract.Embed:
		n.Priority = frontier.Medium
	case extract.Redirect:
		n.Priority = frontier.High
		if link.Late {
			n.Led = ledLate
		}
	}
	if link.Hop == extract.Redirect && n.Key != "" && n.Key == plan.KeyOf(u) {
		n.Key = link.URL // a site that adds www or a session to its own address is not lost
	}
	return n
}

// queued remembers links that the frontier knows by now; forgotten is how often it had forgotten URIs before.
func (l *Links) queued(uris []frontier.URI, forgotten uint64) {
	for i := range uris {
		l.Known.add(uris[i].URL, forgotten)
	}
}

// Embedded tells whether a URI was found as a part of another, which is no page.
func Embedded(path string) bool {
	return strings.HasSuffix(strings.TrimRight(path, string(rune(extract.Redirect))), string(rune(extract.Embed)))
}

// Known remembers some links that are certainly in the frontier. Most links of a page were on the page before, and
// need neither a decision nor a look-up. It has a fixed size; new links displace old ones. It is safe for concurrent
// use.
type Known struct {
	seeds [2]maphash.Seed
	slots []atomic.Pointer[knownLink]
}

// knownLink stands for a link by two hashes, and is valid until the frontier forgets a URI.
type knownLink struct {
	hashes    [2]uint64
	forgotten uint64
}

// maxKnown is how many links are remembered, in 2 MB; a power of two.
const maxKnown = 1 << 16

// NewKnown remembers no link yet.
func NewKnown() *Known {
	return &Known{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		slots: make([]atomic.Pointer[knownLink], maxKnown)}
}

// has reports whether the frontier certainly knows the link; forgotten is how often it has forgotten URIs. False
// means that it may know it.
func (k *Known) has(url string, forgotten uint64) bool {
	first := maphash.String(k.seeds[0], url)
	have := k.slots[first%maxKnown].Load()
	return have != nil && have.hashes[0] == first && have.forgotten == forgotten &&
		have.hashes[1] == maphash.String(k.seeds[1], url)
}

// add remembers a link that the frontier knows; forgotten is how often it had forgotten URIs before that.
func (k *Known) add(url string, forgotten uint64) {
	hashes := [2]uint64{maphash.String(k.seeds[0], url), maphash.String(k.seeds[1], url)}
	k.slots[hashes[0]%maxKnown].Store(&knownLink{hashes, forgotten})
}
