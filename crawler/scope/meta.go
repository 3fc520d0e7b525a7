package scope

import (
	"net/mail"
	"strings"
	"time"
)

// Directives are what a page, or the head of an answer, asks of crawlers.
type Directives struct {
	NoIndex   bool
	NoFollow  bool
	NoArchive bool
	Until     time.Time // not available after; zero: always
}

// Expired reports whether the page asks not to be had any more.
func (d Directives) Expired(now time.Time) bool { return !d.Until.IsZero() && now.After(d.Until) }

// Merge adds what another says: the strictest counts.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	if d.Until.IsZero() || !o.Until.IsZero() && o.Until.Before(d.Until) {
		d.Until = o.Until
	}
	return d
}

// ParseMetaRobots reads a meta element by its name and content: name is "robots", for all, or a product; what is for other
// crawlers says nothing.
func ParseMetaRobots(name, content, product string) Directives {
	name = strings.TrimSpace(name)
	if !strings.EqualFold(name, "robots") && !strings.EqualFold(name, product) {
		return Directives{}
	}
	return parseDirectives(content)
}

// ParseRobotsTag reads the values of X-Robots-Tag headers: each may begin with the product that it is for, as
// "holdfast: noindex".
func ParseRobotsTag(values []string, product string) Directives {
	var d Directives
	for _, v := range values {
		agent, rest, ok := strings.Cut(v, ":")
		if agent = strings.TrimSpace(agent); ok && isAgent(agent) {
			if !strings.EqualFold(agent, product) && agent != "*" {
				continue
			}
			v = rest
		}
		d = d.Merge(parseDirectives(v))
	}
	return d
}

// isAgent tells a crawler's name from a directive that has a value.
func isAgent(s string) bool {
	if s == "*" {
		return true
	}
	switch strings.ToLower(s) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return false
	}
	return s != "" && productToken(s) == s
}

func parseDirectives(text string) (d Directives) {
	for rest := text; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		word = strings.ToLower(strings.TrimSpace(word))
		switch word {
		case "none":
			d.NoIndex, d.NoFollow = true, true
		case "noindex":
			d.NoIndex = true
		case "nofollow":
			d.NoFollow = true
		case "noarchive", "nocache":
			d.NoArchive = true
		}
		if value, ok := strings.CutPrefix(word, "unavailable_after:"); ok {
			// A date of the mail format has a comma of its own.
			at, ok := parseDate(value)
			if !ok {
				more, after, _ := strings.Cut(rest, ",")
				if at, ok = parseDate(value + "," + more); ok {
					rest = after
				}
			}
			if ok {
				d.Until = at
			}
		}
	}
	return d
}

func parseDate(text string) (time.Time, bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02", "02 Jan 2006 15:04:05 MST", "2 Jan 2006", "02-Jan-2006 15:04:05 MST", "02-Jan-06 15:04:05 MST", "Monday, 02-Jan-06 15:04:05 MST"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), true
		}
	}
	if t, err := mail.ParseDate(text); err == nil {
		return t.UTC(), true
	}
	return time.Time{}, false
}
