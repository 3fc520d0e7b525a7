package words

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// ErrLanguage reports a list of languages that cannot be offered.
var ErrLanguage = errors.New("languages")

// Offer are the languages that readers may choose from; the first is for those who ask for none of them.
type Offer struct {
	languages []*Language
	matcher   language.Matcher
}

// Offer returns an offer of the languages with these tags. It is an error that wraps ErrLanguage if there is none,
// one is not known, or one is named twice.
func (w *Words) Offer(tags ...string) (*Offer, error) {
	if len(tags) == 0 {
		return nil, fmt.Errorf("%w: name at least one of: %s", ErrLanguage, strings.Join(w.Tags(), ", "))
	}
	o := &Offer{}
	var known []language.Tag
	for i, tag := range tags {
		l := w.Language(tag)
		switch {
		case l == nil && w.meant(tag) != "":
			return nil, fmt.Errorf("%w: unknown language %.40q, did you mean %q?", ErrLanguage, tag, w.meant(tag))
		case l == nil:
			return nil, fmt.Errorf("%w: unknown language %.40q, want some of: %s", ErrLanguage, tag,
				strings.Join(w.Tags(), ", "))
		case slices.Contains(tags[:i], tag):
			return nil, fmt.Errorf("%w: %q is named twice", ErrLanguage, tag)
		}
		o.languages = append(o.languages, l)
		known = append(known, l.tag)
	}
	o.matcher = language.NewMatcher(known)
	return o, nil
}

// IsTag reports whether a text is a language's tag as files of languages are named, such as "sv" or "fr-CA".
func IsTag(s string) bool {
	tag, err := language.Parse(s)
	return err == nil && tag.String() == s
}

// Known returns those of the tags that are languages here, and the others.
func (w *Words) Known(tags []string) (known, unknown []string) {
	for _, tag := range tags {
		if w.Language(tag) != nil {
			known = append(known, tag)
		} else {
			unknown = append(unknown, tag)
		}
	}
	return known, unknown
}

// meant returns the tag of the language that somebody meant who wrote its name, a variant of it, or another case.
func (w *Words) meant(given string) string {
	lower := strings.ToLower(strings.TrimSpace(given))
	base, _, _ := strings.Cut(strings.ReplaceAll(lower, "_", "-"), "-")
	for _, tag := range w.Tags() {
		if lower == strings.ToLower(tag) || base == tag || lower == strings.ToLower(w.all[tag].name) {
			return tag
		}
	}
	return ""
}

// Languages returns what is offered, in order.
func (o *Offer) Languages() []*Language { return slices.Clone(o.languages) }

// prefix is where the paths begin whose language the reader chose.
const prefix = "/_/"

// Prefix returns what a path begins with when the reader chose the language.
func (l *Language) Prefix() string { return prefix + l.Tag() }

// ByPath returns the language that a path's prefix names, /_/TAG/…, and the rest of the path. Without such a prefix,
// or if the language is not offered, it returns nil and the path. The path is as it was sent, escapes and all.
// The rest is no path to send anybody to: //host/ could be in it.
func (o *Offer) ByPath(path string) (*Language, string) {
	after, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return nil, path
	}
	tag, rest, slash := strings.Cut(after, "/")
	if !slash {
		return nil, path
	}
	for _, l := range o.languages {
		if l.Tag() == tag {
			return l, "/" + rest
		}
	}
	return nil, path
}

// maxAccept is how much of Accept-Language is read. Browsers send some dozens of bytes.
const maxAccept = 1000

// ByHeader returns the language that suits the values of Accept-Language best, the first one if none does.
func (o *Offer) ByHeader(accept []string) *Language {
	if len(o.languages) == 1 {
		return o.languages[0]
	}
	type wish struct {
		tag    language.Tag
		weight float32
	}
	var wishes []wish
	for one := range strings.SplitSeq(bounded(accept), ",") { // one by one: a fault in one spoils no other
		if strings.Contains(one, "*") {
			continue
		}
		tags, weights, err := language.ParseAcceptLanguage(one)
		for i := range tags {
			if err == nil && weights[i] > 0 {
				wishes = append(wishes, wish{tags[i], weights[i]})
			}
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.weight, a.weight) })
	var wanted []language.Tag
	for _, w := range wishes {
		wanted = append(wanted, w.tag)
	}
	_, i, confidence := o.matcher.Match(wanted...)
	if confidence == language.No {
		return o.languages[0]
	}
	return o.languages[i]
}

// bounded joins the values of a header, as far as they are read.
func bounded(values []string) string {
	var all strings.Builder
	for _, value := range values {
		if all.Len() > 0 {
			all.WriteByte(',')
		}
		all.WriteString(value[:min(len(value), maxAccept+1)])
		if all.Len() > maxAccept {
			cut := all.String()[:maxAccept]
			return cut[:max(0, strings.LastIndexByte(cut, ','))]
		}
	}
	return all.String()
}
