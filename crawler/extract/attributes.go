package extract

import (
	"bytes"
	"strings"
)

// What an attribute's value is.
type valueKind int

const (
	oneURL valueKind = iota + 1
	spacedURLs
	sourceSet
	styleText
	document
)

// rule says what to make of an attribute.
type rule struct {
	attr string
	kind valueKind
	hop  byte
	tags string // the tags it holds for, spaced; "" for all
}

// rules are all attributes that carry a URL. The first that fits tag and attribute decides.
var rules = []rule{
	{"href", oneURL, Navlink, "a area"},
	{"href", oneURL, Embed, "link image use feimage script mpath pattern lineargradient radialgradient filter textpath"},
	{"href", oneURL, Navlink, ""},
	{"xlink:href", oneURL, Navlink, "a"},
	{"xlink:href", oneURL, Embed, ""},
	{"src", oneURL, Embed, ""},
	{"srcset", sourceSet, Embed, ""},
	{"imagesrcset", sourceSet, Embed, ""},
	{"data-srcset", sourceSet, Embed, ""},
	{"data-lazy-srcset", sourceSet, Embed, ""},
	{"data-src", oneURL, Embed, ""},
	{"data-lazy-src", oneURL, Embed, ""},
	{"data-original", oneURL, Embed, "img iframe source video audio"},
	{"data", oneURL, Embed, "object"},
	{"codebase", oneURL, Embed, "object applet"},
	{"classid", oneURL, Embed, "object"},
	{"code", oneURL, Embed, "applet"},
	{"archive", oneURL, Embed, "applet object"},
	{"poster", oneURL, Embed, ""},
	{"background", oneURL, Embed, ""},
	{"lowsrc", oneURL, Embed, ""},
	{"dynsrc", oneURL, Embed, ""},
	{"icon", oneURL, Embed, "menuitem command"},
	{"manifest", oneURL, Embed, "html"},
	{"profile", oneURL, Navlink, "head"},
	{"longdesc", oneURL, Navlink, ""},
	{"cite", oneURL, Navlink, "blockquote q del ins"},
	{"ping", spacedURLs, Navlink, "a area"},
	{"formaction", oneURL, Navlink, "button input"},
	{"style", styleText, Embed, ""},
	{"srcdoc", document, Embed, "iframe"},
}

// Names that are looked at otherwise than by a rule.
var (
	otherTags       = []string{"base", "meta", "form", "style", "title", "textarea", "xmp", "plaintext"}
	otherAttributes = []string{"http-equiv", "content", "property", "name", "itemprop", "action", "method", "rel"}
)

var tagNames, attributeNames, ruleOf = func() (tags, attrs map[string]string, of map[string][]taggedRule) {
	tags, attrs, of = map[string]string{}, map[string]string{}, map[string][]taggedRule{}
	for _, r := range rules {
		attrs[r.attr] = r.attr
		t := taggedRule{rule: r, contexts: map[string]string{}}
		for _, tag := range strings.Fields(r.tags) {
			tags[tag] = tag
		}
		of[r.attr] = append(of[r.attr], t)
	}
	for _, n := range otherTags {
		tags[n] = n
	}
	for _, n := range otherAttributes {
		attrs[n] = n
	}
	for _, n := range []string{"frame", "embed", "track", "input", "body", "table", "td", "th", "tr"} {
		tags[n] = n
	}
	for attr, rs := range of {
		for _, r := range rs {
			r.contexts[""] = "*/@" + attr
			for tag := range tags {
				r.contexts[tag] = tag + "/@" + attr
			}
		}
	}
	return tags, attrs, of
}()

// taggedRule is a rule with the contexts of its links made in advance, by tag.
type taggedRule struct {
	rule
	contexts map[string]string
}

func (r rule) holds(tag string) bool {
	for rest := r.tags; ; {
		var t string
		if t, rest, _ = strings.Cut(rest, " "); t == tag && t != "" {
			return true
		}
		if rest == "" {
			return r.tags == ""
		}
	}
}

// element takes the links out of a start tag.
func (x *Extractor) element(e *element, depth int) {
	switch e.name {
	case "base":
		return
	case "meta":
		x.meta(e)
	case "form":
		method := e.get("method")
		if action := e.get("action"); action != nil && (len(method) == 0 || bytes.EqualFold(trim(method), []byte("get"))) {
			x.add(unescape(action), Navlink, "form/@action")
		}
	}
	for _, a := range e.attrs {
		for _, r := range ruleOf[a.name] {
			if r.holds(e.name) {
				if e.name == "link" && a.name == "href" && !partOfPage(e.get("rel")) {
					r.hop = Navlink
				}
				x.value(r.rule, unescape(a.value), r.contexts[e.name], depth)
				break
			}
		}
	}
}

// pageParts are the words of a link element's rel that make what it names a part of the page; a canonical, next or
// alternate page is another page, and in the scope only if its URL is.
var pageParts = []string{"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon",
	"fluid-icon", "image_src", "manifest", "preload", "modulepreload", "import"}

// partOfPage reports whether a link element with that rel names a part of its page.
func partOfPage(rel []byte) bool {
	for word := range bytes.FieldsSeq(rel) {
		for _, part := range pageParts {
			if len(word) == len(part) && hasPrefixFold(word, part) {
				return true
			}
		}
	}
	return false
}

func (x *Extractor) value(r rule, v []byte, context string, depth int) {
	switch r.kind {
	case oneURL:
		x.add(v, r.hop, context)
	case spacedURLs:
		for _, u := range bytes.Fields(v) {
			x.add(u, r.hop, context)
		}
	case sourceSet:
		x.srcset(v, context)
	case styleText:
		x.css(v, context)
	case document:
		if depth < maxNesting {
			x.html(v, depth+1)
		}
	}
}

// srcset reads image candidates: a URL, then descriptors up to a comma outside parentheses.
func (x *Extractor) srcset(v []byte, context string) {
	for i := 0; i < len(v); {
		for i < len(v) && (isSpace(v[i]) || v[i] == ',') {
			i++
		}
		start := i
		for i < len(v) && !isSpace(v[i]) {
			i++
		}
		url := v[start:i]
		if trimmed := bytes.TrimRight(url, ","); len(trimmed) < len(url) {
			x.add(trimmed, Embed, context)
			continue
		}
		x.add(url, Embed, context)
		for depth := 0; i < len(v) && (v[i] != ',' || depth > 0); i++ {
			switch v[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
	}
}

// meta reads a refresh, and the images, players and addresses of Open Graph and its like.
func (x *Extractor) meta(e *element) {
	content := e.get("content")
	if content == nil {
		return
	}
	if bytes.EqualFold(trim(e.get("http-equiv")), []byte("refresh")) {
		x.refresh(unescape(content), "meta/@refresh")
		return
	}
	for _, key := range []string{"property", "name", "itemprop"} {
		v := string(bytes.ToLower(trim(e.get(key))))
		switch v {
		case "og:image", "og:image:url", "og:image:secure_url", "og:video", "og:video:url", "og:video:secure_url", "og:audio",
			"twitter:image", "twitter:image:src", "twitter:player", "image", "thumbnailurl", "msapplication-tileimage", "msapplication-config":
			x.add(unescape(content), Embed, "meta/@content")
			return
		case "og:url", "twitter:url":
			x.add(unescape(content), Navlink, "meta/@content")
			return
		}
	}
}

// refresh reads "5; url=next.html".
func (x *Extractor) refresh(v []byte, context string) {
	v = trim(v)
	i := 0
	for i < len(v) && (v[i] >= '0' && v[i] <= '9' || v[i] == '.') {
		i++
	}
	if i == 0 {
		return
	}
	rest := trim(v[i:])
	if len(rest) == 0 || rest[0] != ';' && rest[0] != ',' {
		return
	}
	rest = trim(rest[1:])
	if hasPrefixFold(rest, "url") {
		if after := trim(rest[3:]); len(after) > 0 && after[0] == '=' {
			rest = trim(after[1:])
		}
	}
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		q := rest[0]
		rest = rest[1:]
		if j := bytes.IndexByte(rest, q); j >= 0 {
			rest = rest[:j]
		}
	}
	x.add(rest, Redirect, context)
}
