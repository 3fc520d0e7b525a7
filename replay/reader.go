package replay

import (
	"net/http"

	"holdfast/cdx"
	"holdfast/internal/words"
)

// reader is the language that a request is answered in. The templates call its methods.
type reader struct {
	*words.Language
	Prefix  string   // of links: /_/TAG if the reader chose the language, else empty
	Choices []choice // the languages, if there are several
}

// choice is a link to the same page in a language.
type choice struct {
	*words.Language
	Link    string
	Current bool
}

// reader finds the language of a request: that of its path, else the one that suits Accept-Language best.
func (h *Handler) reader(r *http.Request) reader {
	chosen, rest := h.offer.ByPath(r.URL.EscapedPath())
	out := reader{Language: chosen, Prefix: prefixOf(chosen)}
	if chosen == nil {
		out.Language = h.offer.ByHeader(r.Header.Values("Accept-Language"))
	}
	here := linkSafe(withQuery(rest, r))
	if len(here) > cdx.MaxURL {
		here = "/" // a page with a link of a megabyte for each language helps nobody
	}
	all := h.offer.Languages()
	if len(all) < 2 {
		return out
	}
	for _, l := range all { // always with a prefix: here may be //host/, which alone would lead to another host
		out.Choices = append(out.Choices, choice{l, l.Prefix() + here, l.Tag() == out.Tag()})
	}
	return out
}

// prefix returns what the paths begin with to which a request's answer leads.
func (h *Handler) prefix(r *http.Request) string {
	chosen, _ := h.offer.ByPath(r.URL.EscapedPath())
	return prefixOf(chosen)
}

func prefixOf(chosen *words.Language) string {
	if chosen == nil {
		return ""
	}
	return chosen.Prefix()
}

// varies tells caches if the answer depends on the languages that the reader's browser asks for.
func (h *Handler) varies(w http.ResponseWriter, r *http.Request) {
	if h.prefix(r) == "" && len(h.offer.Languages()) > 1 {
		w.Header().Add("Vary", "Accept-Language")
	}
}
