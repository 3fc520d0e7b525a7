package extract

import "strings"

// Kinds of attributes, by their values.
type valueKind int

const (
	oneURL       valueKind = iota + 1
	spacedURLs             // several, with spaces between them
	sourceSet              // image candidates
	styleText              // declarations of CSS
	urlOrStyle             // a URL, or a value of CSS with url() in it
	urlOrList              // a URL, several with commas or spaces between them, or a list in JSON
	document               // HTML
	handler                // JavaScript
	maybeURL               // of the author's own: a URL, JSON, or anything else
	pairs                  // name=value&name=value, some of the values URLs
	ofItsElement           // looked at with its element, not alone
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
	{"href", ofItsElement, 0, "base link"},
	{"href", oneURL, Embed, "image use feimage script mpath pattern lineargradient radialgradient filter textpath"},
	{"href", oneURL, Navlink, ""},
	{"xlink:href", oneURL, Navlink, "a"},
	{"xlink:href", oneURL, Embed, ""},
	{"src", oneURL, Embed, ""},
	{"srcset", sourceSet, Embed, ""},
	{"imagesrcset", sourceSet, Embed, ""},
	{"data-src", urlOrList, Embed, ""},
	{"data-srcset", sourceSet, Embed, ""},
	{"data-src-small", oneURL, Embed, ""},
	{"data-src-medium", oneURL, Embed, ""},
	{"data-full-src", oneURL, Embed, ""},
	{"data-full-srcset", sourceSet, Embed, ""},
	{"data-lazy", oneURL, Embed, ""},
	{"data-lazy-src", oneURL, Embed, ""},
	{"data-lazy-srcset", sourceSet, Embed, ""},
	{"data-lazyload", oneURL, Embed, ""},
	{"data-original", oneURL, Embed, ""},
	{"data-original-set", sourceSet, Embed, ""},
	{"data-bg", urlOrStyle, Embed, ""},
	{"data-background", urlOrStyle, Embed, ""},
	{"data-background-image", urlOrStyle, Embed, ""},
	{"data-bgset", sourceSet, Embed, ""},
	{"data-poster", oneURL, Embed, ""},
	{"data", ofItsElement, 0, "object"},
	{"codebase", ofItsElement, 0, "object applet"},
	{"classid", ofItsElement, 0, "object"},
	{"code", ofItsElement, 0, "applet"},
	{"archive", ofItsElement, 0, "applet object"},
	{"pluginspage", oneURL, Navlink, ""},
	{"flashvars", pairs, Speculative, ""},
	{"poster", oneURL, Embed, ""},
	{"poster-portrait-src", oneURL, Embed, ""},
	{"poster-square-src", oneURL, Embed, ""},
	{"poster-landscape-src", oneURL, Embed, ""},
	{"publisher-logo-src", oneURL, Embed, ""},
	{"background", oneURL, Embed, ""},
	{"lowsrc", oneURL, Embed, ""},
	{"dynsrc", oneURL, Embed, ""},
	{"usemap", oneURL, Embed, ""},
	{"altimg", oneURL, Embed, "math"},
	{"icon", oneURL, Embed, "menuitem command"},
	{"manifest", oneURL, Embed, "html"},
	{"profile", oneURL, Navlink, "head"},
	{"longdesc", oneURL, Navlink, ""},
	{"cite", oneURL, Navlink, "blockquote q del ins"},
	{"ping", spacedURLs, Navlink, "a area"},
	{"action", ofItsElement, 0, "form"},
	{"formaction", ofItsElement, 0, "button input"},
	{"style", styleText, Embed, ""},
	{"fill", styleText, Embed, ""},
	{"stroke", styleText, Embed, ""},
	{"filter", styleText, Embed, ""},
	{"mask", styleText, Embed, ""},
	{"clip-path", styleText, Embed, ""},
	{"cursor", styleText, Embed, ""},
	{"marker-start", styleText, Embed, ""},
	{"marker-mid", styleText, Embed, ""},
	{"marker-end", styleText, Embed, ""},
	{"srcdoc", document, Embed, "iframe"},
	{"value", maybeURL, Speculative, "option input button"},
	{"data-*", maybeURL, Speculative, ""},
	{"on*", handler, Speculative, ""},
}

// Names that are looked at otherwise than by a rule, and tags whose contexts are made in advance.
const (
	otherTags = "base meta form select option textarea button param style script title xmp plaintext " +
		"svg math frame iframe embed track input img source video audio body object applet portal " +
		"amp-img amp-anim amp-video amp-audio amp-iframe amp-list"
	otherAttributes = "http-equiv content property name itemprop method rel type checked selected " +
		"disabled multiple formmethod charset"
)

// attributeName describes an attribute.
type attributeName struct {
	name   string
	family bool // of a whole family of names, data-* or on*
	rules  []taggedRule
}

// taggedRule is a rule with the contexts of its links made in advance, by tag.
type taggedRule struct {
	rule
	contexts map[string]string
}

func (r *taggedRule) holds(tag string) bool {
	if r.tags == "" {
		return true
	}
	for rest := r.tags; rest != ""; {
		var t string
		if t, rest, _ = strings.Cut(rest, " "); t == tag && t != "" {
			return true
		}
	}
	return false
}

// names finds the description of an attribute name, in any case. Most names on most pages are unknown, and are
// dismissed by their length and first letter.
type names[T any] struct {
	known    map[string]T
	initials [maxName + 1]uint32 // by length: a bit for each first letter
}

const maxName = 24

func (n *names[T]) add(name string, v T) {
	n.known[name] = v
	n.initials[len(name)] |= 1 << (name[0] & 31)
}

// find does not allocate.
func (n *names[T]) find(name []byte) (v T) {
	if len(name) > maxName || len(name) == 0 || n.initials[len(name)]&(1<<(name[0]&31)) == 0 {
		return v
	}
	var lower [maxName]byte
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return n.known[string(lower[:len(name)])]
}

// attributeTable is the names of attributes, and the two families.
type attributeTable struct {
	names[*attributeName]
	data, on *attributeName
}

func (t *attributeTable) find(name []byte) *attributeName {
	if n := t.names.find(name); n != nil {
		return n
	}
	switch name[0] | 0x20 {
	case 'o':
		if len(name) > 3 && name[1]|0x20 == 'n' && isLetter(name[2]) {
			return t.on
		}
	case 'd':
		if len(name) > 5 && name[4] == '-' && hasPrefixFold(name, "data") {
			return t.data
		}
	}
	return nil
}

var tagNames, attributeNames = func() (tags *names[string], attrs *attributeTable) {
	tags = &names[string]{known: map[string]string{}}
	attrs = &attributeTable{names: names[*attributeName]{known: map[string]*attributeName{}}}
	for _, tag := range strings.Fields(otherTags) {
		tags.add(tag, tag)
	}
	for _, r := range rules {
		for _, tag := range strings.Fields(r.tags) {
			tags.add(tag, tag)
		}
	}
	for _, name := range strings.Fields(otherAttributes) {
		attrs.add(name, &attributeName{name: name})
	}
	for _, r := range rules {
		n := attrs.known[r.attr]
		if n == nil {
			n = &attributeName{name: r.attr}
			attrs.add(r.attr, n)
		}
		t := taggedRule{rule: r, contexts: map[string]string{}}
		for tag := range tags.known {
			t.contexts[tag] = tag + "/@" + r.attr
		}
		n.rules = append(n.rules, t)
	}
	attrs.data, attrs.on = attrs.known["data-*"], attrs.known["on*"]
	attrs.data.family, attrs.on.family = true, true
	return tags, attrs
}()

// context describes the place of a link in an attribute.
func (r *taggedRule) context(e *element, a *attribute) string {
	if e.name != "" && !a.family {
		return r.contexts[e.name]
	}
	return nameOf(e.written) + "/@" + nameOf(a.written)
}

// nameOf is a name in lower case, and "*" for one that no author writes.
func nameOf(written []byte) string {
	for _, c := range written {
		if !isNameByte(c) && c != ':' && c != '.' {
			return "*"
		}
	}
	return strings.ToLower(string(written[:min(len(written), 64)]))
}
