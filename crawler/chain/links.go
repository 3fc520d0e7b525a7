package chain

import (
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// maxSeedRedirects is how many redirects from a seed lead to what counts as a seed, too.
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
}

// Admit has the scope be also that of where a seed redirects to, as if that were a seed.
func (l *Links) Admit(url string) {
	if l.Scope.Admit(url) {
		l.Frontier.SetValue(ValueAdmitted+url, []byte("1"))
	}
}

// Accepted appends the links that belong to the crawl as URIs to queue, except such as are known to be in the frontier.
// The subject is for it to use.
func (l *Links) Accepted(out []frontier.URI, u *frontier.URI, found []extract.Link, subject *scope.Subject) []frontier.URI {
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
		out = append(out, l.entry(u, link, t, path, subject.Settings))
	}
	return out
}

// entry is a link of u as the frontier takes it.
func (l *Links) entry(u *frontier.URI, link extract.Link, t fetch.Target, path string, s *harvest.Settings) frontier.URI {
	n := l.Entries.Entry(link.URL, t, s)
	n.Path, n.Via, n.Source, n.Priority = path, u.URL, u.Source, frontier.Normal
	switch link.Hop {
	case extract.Embed:
		n.Priority = frontier.Medium
	case extract.Redirect:
		n.Priority = frontier.High
	}
	if link.Hop == extract.Redirect && n.Key != "" && n.Key == plan.KeyOf(u) {
		n.Key = link.URL // a site that adds www or a session to its own address is not lost
	}
	return n
}

// queued remembers links that the frontier knows by now, after it had forgotten URIs so many times.
func (l *Links) queued(uris []frontier.URI, forgotten uint64) {
	for i := range uris {
		l.Known.add(uris[i].URL, forgotten)
	}
}

// Embedded tells whether a URI was found as a part of another, which is no page.
func Embedded(path string) bool {
	return strings.HasSuffix(strings.TrimRight(path, string(rune(extract.Redirect))), string(rune(extract.Embed)))
}
