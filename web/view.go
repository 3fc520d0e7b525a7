package web

import (
	"net/url"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// inWords is what the templates say in the reader's language.
type inWords struct {
	terms
	ofCopies
}

// view is the data of a page. The templates call its methods, and those of the language.
type view struct {
	inWords
	Prefix   string   // of links: /_/TAG if the reader chose the language, else empty
	Choices  []choice // the languages, if there are several
	Style    string
	Cluster  string
	Node     string // that serves
	Title    string
	About    string // what the page is about, after its title
	Who      *Session
	Sections []entry // the menu
	Pages    []entry // of the section, if there are several
	Faults   []fault
	Status   *wire.Status // of the cluster; nil: not known
	Page     bool         // one of the table, which may be had as JSON
	Lists    bool         // it may be had as CSV
	Served   bool         // the archive was asked for it
	Live     string       // the script that redraws it; empty: it is not redrawn
	Offers   []offered    // what can be done here
	Did      *outcome     // of the act that led here
	Now      time.Time
	Data     any

	acts  []action
	zone  *time.Location
	path  string
	query url.Values
}

// choice is a link to the same page in a language.
type choice struct {
	*words.Language
	Link    string
	Current bool
}

// entry is a line of the menu.
type entry struct {
	Title   string // message
	Link    string
	Current string // value of aria-current
}

// language is that of the path, else the one that suits the person's choice best, else her browser's.
func (t *turn) language() *words.Language {
	if t.chosen != nil {
		return t.chosen
	}
	accept := t.r.Header.Values("Accept-Language")
	if t.who != nil && t.who.Language != "" {
		accept = append([]string{t.who.Language}, accept...)
	}
	return t.cfg.Languages.ByHeader(accept)
}

// view returns what all pages have.
func (t *turn) view(title string, data any) *view {
	l := t.language()
	v := &view{inWords: inWords{terms{l}, ofCopies{l}}, Prefix: t.prefix(),
		Style: stylePath + t.style.Name, Cluster: t.cfg.Cluster,
		Node: t.cfg.Node, Title: title, Who: t.who, Now: t.cfg.Now(), Data: data, zone: zoneOf(t.who), path: t.path,
		query: t.r.URL.Query(), acts: t.acts}
	all := t.cfg.Languages.Languages()
	here := t.path
	if t.r.URL.RawQuery != "" {
		here += "?" + t.r.URL.RawQuery
	}
	if t.r.Method == "POST" || len(here) > maxNext {
		here = "/"
	}
	for _, other := range all { // always with a prefix: here may be //host/, which alone would lead to another host
		if len(all) > 1 {
			v.Choices = append(v.Choices, choice{other, other.Prefix() + here, other.Tag() == l.Tag()})
		}
	}
	return v
}

// zoneOf is somebody's time zone, UTC if she has none.
func zoneOf(who *Session) *time.Location {
	if who != nil && who.Zone != "" {
		if zone, err := time.LoadLocation(who.Zone); err == nil {
			return zone
		}
	}
	return time.UTC
}

// choose makes the menu for the person's role. It has a section with the first of its pages that she may see.
func (v *view) choose(table []page, current *page) {
	v.Page = current != nil && current.path != ""
	if v.Who == nil {
		return
	}
	for i := range table {
		p := &table[i]
		if p.hidden || !includes(v.Who.Role, p.role) {
			continue
		}
		if n := len(v.Sections); n == 0 || v.Sections[n-1].Title != p.section {
			e := entry{Title: p.section, Link: v.Prefix + p.path}
			if current != nil && current.section == p.section {
				e.Current = "true"
			}
			v.Sections = append(v.Sections, e)
		}
		if current == nil || current.section != p.section {
			continue
		}
		e := entry{Title: p.title, Link: v.Prefix + p.path}
		if p.path == current.path {
			e.Current = "page"
		}
		v.Pages = append(v.Pages, e)
	}
	if len(v.Pages) < 2 {
		v.Pages = nil
		for i := range v.Sections {
			if v.Sections[i].Current != "" && !current.hidden {
				v.Sections[i].Current = "page"
			}
		}
	}
}

// part is a value for a template of a part, beside what all pages have.
type part struct {
	*view
	It any
}

// Of hands a value to the template of a part.
func (v *view) Of(it any) part { return part{v, it} }

// To returns a link to a page: the segments of its path.
func (v *view) To(segments ...any) string {
	return v.Prefix + way(segments...)
}

// way is a path of ours.
func way(segments ...any) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(plain(s)))
	}
	return b.String()
}

func escape(value string) string { return url.QueryEscape(value) }

// Ask returns a link to the page at a path, with a query of names and values.
func (v *view) Ask(path string, pairs ...any) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := plain(pairs[i+1]); value != "" {
			query.Set(plain(pairs[i]), value)
		}
	}
	return v.Prefix + path + "?" + query.Encode()
}

// With returns a link to this page with one more value in its query, or without it if it is empty.
func (v *view) With(name, value string) string {
	query := url.Values{}
	for key, values := range v.query {
		if key != name && key != "done" && key != "format" && len(values) > 0 {
			query.Set(key, values[0])
		}
	}
	if value != "" {
		query.Set(name, value)
	}
	if len(query) == 0 {
		return v.Prefix + v.path
	}
	return v.Prefix + v.path + "?" + query.Encode()
}

// Here is the path of this page, for its forms.
func (v *view) Here() string { return v.Prefix + v.path }

// Given returns what the query says.
func (v *view) Given(name string) string { return v.query.Get(name) }

// Filtered reports whether a list shows a part of what there is.
func (v *view) Filtered() bool {
	for name, values := range v.query {
		if name != "after" && name != "format" && name != "done" && strings.Join(values, "") != "" {
			return true
		}
	}
	return false
}

// Paged reports whether this is not the first page of a list.
func (v *view) Paged() bool { return v.query.Get("after") != "" }

// When writes a time as the reader sees it: her zone, and how long ago.
func (v *view) When(t time.Time) string {
	now := v.Now
	if ahead := t.Sub(now); ahead > 0 && ahead < time.Minute { // it happened while the page was made
		now = t
	}
	return v.Recent(t.In(v.zone), now.In(v.zone))
}

// At writes a time in the reader's zone.
func (v *view) At(t time.Time) string { return v.Minute(t.In(v.zone)) }

// Seconds writes a time of day in the reader's zone.
func (v *view) Seconds(t time.Time) string { return v.terms.Seconds(t.In(v.zone)) }

// SecondOf writes a time in the reader's zone, with its seconds.
func (v *view) SecondOf(t time.Time) string {
	return v.Moment(t.In(v.zone))
}

// Zone names the reader's time zone.
func (v *view) Zone() string { return v.zone.String() }

// ISO writes a time for programs.
func (v *view) ISO(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// Figure writes a whole number.
func (v *view) Figure(n any) string {
	switch n := n.(type) {
	case int:
		return v.Number(int64(n))
	case int64:
		return v.Number(n)
	case uint64:
		return v.Number(int64(min(n, 1<<62)))
	}
	return plain(n)
}
