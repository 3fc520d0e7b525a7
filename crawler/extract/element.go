package extract

import (
	"bytes"
	"strings"
)

// element takes the links out of a start tag; after is what follows it.
func (x *markup) element(e *element, after []byte, depth int) {
	switch e.name {
	case "base":
		return
	case "meta":
		x.meta(e)
	case "link":
		x.link(e)
	case "object", "applet":
		x.plugin(e)
	case "param":
		x.param(e)
		return
	case "form":
		x.beginForm(e)
	case "input", "button", "select", "option":
		if x.form.open && !x.guessing {
			x.form.control(x, e, after)
		}
		x.formAction(e)
	}
	for i := range e.attrs {
		a := &e.attrs[i]
		for j := range a.rules {
			if r := &a.rules[j]; r.holds(e.name) {
				x.value(r, e, a, depth)
				break
			}
		}
	}
}

// value takes the links out of an attribute.
func (x *markup) value(r *taggedRule, e *element, a *attribute, depth int) {
	if len(a.value) == 0 || r.kind == ofItsElement {
		return
	}
	v := unescape(a.value)
	switch r.kind {
	case oneURL:
		x.reference(v, r.hop, r.context(e, a))
	case urlOrStyle:
		switch {
		case !holdsURLFunction(v):
			x.reference(v, r.hop, r.context(e, a))
		case x.options.Types&CSS != 0:
			x.css(v)
		}
	case urlOrList:
		x.list(v, r.hop, r.context(e, a))
	case spacedURLs:
		for u := range bytes.FieldsSeq(v) {
			x.add(u, r.hop, r.context(e, a))
		}
	case sourceSet:
		x.srcset(v, r.context(e, a))
	case styleText:
		if x.options.Types&CSS != 0 && bytes.IndexByte(v, '(') >= 0 {
			x.css(v)
		}
	case document:
		if depth < x.options.Depth {
			x.html(v, depth+1)
		}
	case handler:
		x.script(v)
	case maybeURL:
		x.maybe(v, r, e, a)
	case pairs:
		x.pairs(v, r.context(e, a))
	}
}

// list takes the links out of a value that is one URL or several.
func (x *markup) list(v []byte, hop byte, context string) {
	v = trim(v)
	switch {
	case len(v) == 0:
	case v[0] == '[' || v[0] == '{':
		for part := range bytes.SplitSeq(v, []byte{'"'}) {
			if part = bytes.ReplaceAll(part, []byte(`\/`), []byte{'/'}); likelyURL(part) {
				x.add(part, hop, context)
			}
		}
	case bytes.IndexByte(v, ' ') < 0 && bytes.IndexByte(v, ',') < 0:
		x.reference(v, hop, context)
	case severalURLs(v):
		for part := range bytes.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r <= ' ' }) {
			if likelyURL(part) {
				x.add(part, hop, context)
			}
		}
	default:
		x.reference(v, hop, context)
	}
}

// severalURLs reports whether a value is a list of what looks like URLs of files, with commas between them. A URL
// itself may have commas.
func severalURLs(v []byte) bool {
	n := 0
	for part := range bytes.SplitSeq(v, []byte{','}) {
		part, _, _ = bytes.Cut(trim(part), []byte{' '})
		file, _, _ := bytes.Cut(part, []byte{'?'})
		if !likelyURL(part) || !fileExtension(file) {
			return false
		}
		n++
	}
	return n > 1
}

// holdsURLFunction tells a value of CSS with url() in it.
func holdsURLFunction(v []byte) bool {
	for i := range v {
		if hasPrefixFold(v[i:], "url(") && (i == 0 || !isNameByte(v[i-1]) && v[i-1] != '/') {
			return true
		}
	}
	return false
}

// reference is add for a value that may be a script instead of a URL.
func (x *markup) reference(v []byte, hop byte, context string) {
	v = trim(v)
	if len(v) > 11 && v[0]|0x20 == 'j' && hasPrefixFold(v, "javascript:") {
		x.script(unpercent(v[11:]))
		return
	}
	x.add(v, hop, context)
}

// script looks for URLs in the strings of JavaScript.
func (x *markup) script(b []byte) {
	if x.options.Types&JS != 0 {
		x.js(b)
	}
}

// maybe looks at a value of the author's own making: it may be a URL, or JSON with URLs in it.
func (x *markup) maybe(v []byte, r *taggedRule, e *element, a *attribute) {
	if !x.options.Speculative || len(v) < 4 {
		return
	}
	v = trim(v)
	switch {
	case len(v) == 0:
	case v[0] == '{' || v[0] == '[':
		if x.options.Types&JSON != 0 {
			x.js(v)
		}
	case likelyURL(v):
		x.add(v, Speculative, r.context(e, a))
	}
}

// pairs looks at the values of name=value&name=value.
func (x *markup) pairs(v []byte, context string) {
	for pair := range bytes.SplitSeq(v, []byte{'&'}) {
		if _, value, ok := bytes.Cut(pair, []byte{'='}); ok {
			if value = unpercent(value); likelyURL(value) {
				x.add(value, Speculative, context)
			}
		}
	}
}

// srcset reads image candidates: a URL, then descriptors up to a comma outside parentheses.
func (x *markup) srcset(v []byte, context string) {
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

// relations are the words of rel that make the target a part of the page, and those whose target is not to be
// fetched. With any other word the target is another page, which is in the scope only if its URL is.
var relations = []struct {
	word    string
	hop     byte
	context string
}{
	{"stylesheet", Embed, "link[rel='stylesheet']/@href"},
	{"icon", Embed, "link[rel='icon']/@href"},
	{"apple-touch-icon", Embed, "link[rel='apple-touch-icon']/@href"},
	{"apple-touch-icon-precomposed", Embed, "link[rel='apple-touch-icon-precomposed']/@href"},
	{"apple-touch-startup-image", Embed, "link[rel='apple-touch-startup-image']/@href"},
	{"mask-icon", Embed, "link[rel='mask-icon']/@href"},
	{"fluid-icon", Embed, "link[rel='fluid-icon']/@href"},
	{"image_src", Embed, "link[rel='image_src']/@href"},
	{"manifest", Embed, "link[rel='manifest']/@href"},
	{"preload", Embed, "link[rel='preload']/@href"},
	{"modulepreload", Embed, "link[rel='modulepreload']/@href"},
	{"prefetch", Embed, "link[rel='prefetch']/@href"},
	{"prerender", Embed, "link[rel='prerender']/@href"},
	{"import", Embed, "link[rel='import']/@href"},
	{"pingback", 0, ""},
	{"dns-prefetch", 0, ""},
	{"preconnect", 0, ""},
}

// relation returns the hop and the context of a link with that rel; 0 if it is not to be fetched. A part of the page
// outranks another page, and that outranks a target that is not to be fetched.
func relation(rel []byte) (hop byte, context string) {
	page, words := false, 0
word:
	for word := range bytes.FieldsSeq(rel) {
		words++
		for i := range relations {
			if r := &relations[i]; equalFold(word, r.word) {
				if r.hop != 0 {
					return r.hop, r.context
				}
				continue word
			}
		}
		page = true
	}
	if page || words == 0 {
		return Navlink, "link/@href"
	}
	return 0, ""
}

func (x *markup) link(e *element) {
	href := e.get("href")
	if href == nil {
		return
	}
	if hop, context := relation(unescape(e.get("rel"))); hop != 0 {
		x.add(unescape(href), hop, context)
	}
}

// plugin takes the links out of an object or applet, which are relative to its codebase.
func (x *markup) plugin(e *element) {
	from := &x.base
	if v := e.get("codebase"); v != nil {
		v = trim(unescape(v))
		var codebase base
		if url, ok := x.base.resolve(v); ok && codebase.set(url) {
			from = &codebase
			x.add(v, Navlink, e.name+"/@codebase")
		}
	}
	for _, name := range []string{"data", "classid", "archive", "code"} {
		v := e.get(name)
		if v == nil || name == "code" && e.name == "object" || (name == "data" || name == "classid") &&
			e.name == "applet" {
			continue
		}
		v = unescape(v)
		switch name {
		case "archive":
			for u := range bytes.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r <= ' ' }) {
				x.addTo(from, u, Embed, e.name+"/@archive")
			}
		case "code":
			x.addTo(from, classFile(trim(v)), Embed, "applet/@code")
		default:
			x.addTo(from, v, Embed, e.name+"/@"+name)
		}
	}
}

// classFile is the file of a Java class: "a.b.C", "a.b.C.class" and "a/b/C.class" all name a/b/C.class.
func classFile(code []byte) []byte {
	code = bytes.TrimSuffix(code, []byte(".class"))
	if len(code) == 0 || bytes.HasPrefix(code, []byte("http")) {
		return code
	}
	return append(bytes.ReplaceAll(code, []byte{'.'}, []byte{'/'}), ".class"...)
}

// param reads a plugin's parameter: some names hold URLs, any other may.
func (x *markup) param(e *element) {
	value := e.get("value")
	if value == nil {
		return
	}
	v := unescape(value)
	switch name := strings.ToLower(string(trim(e.get("name")))); name {
	case "movie", "src", "filename", "url", "source", "data", "href", "image", "baseurl":
		x.add(v, Embed, "param/@value")
	case "flashvars":
		x.pairs(v, "param/@value")
	default:
		if likelyURL(v) {
			x.add(v, Speculative, "param/@value")
		}
	}
}

// meta reads a refresh, directives for robots, and the images, players and addresses of Open Graph and similar
// vocabularies.
func (x *markup) meta(e *element) {
	content := e.get("content")
	if content == nil {
		return
	}
	if equalFold(trim(e.get("http-equiv")), "refresh") {
		x.refresh(unescape(content), "meta")
		return
	}
	v := trim(unescape(content))
	for _, attr := range [...]string{"property", "name", "itemprop"} {
		key := trim(e.get(attr))
		if len(key) == 0 || len(key) > maxMeta {
			continue
		}
		var lower [maxMeta]byte
		for i, c := range key {
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			lower[i] = c
		}
		if string(lower[:len(key)]) == "robots" || isRobot(string(lower[:len(key)]), x.robot) {
			x.robots(v)
			return
		}
		if hop := metaHops[string(lower[:len(key)])]; hop != 0 {
			x.add(v, hop, "meta/@content")
			return
		}
	}
	if isHTTP(v) && likelyURL(v) {
		x.add(v, Speculative, "meta/@content")
	}
}

const maxMeta = 40

// metaHops are the names of meta elements whose content is a URL.
var metaHops = map[string]byte{
	"og:image": Embed, "og:image:url": Embed, "og:image:secure_url": Embed, "og:video": Embed, "og:video:url": Embed,
	"og:video:secure_url": Embed, "og:audio": Embed, "og:audio:url": Embed, "og:audio:secure_url": Embed,
	"twitter:image": Embed, "twitter:image:src": Embed, "twitter:image0": Embed, "twitter:player": Embed,
	"twitter:player:stream": Embed, "image": Embed, "thumbnail": Embed, "thumbnailurl": Embed,
	"contenturl": Embed, "embedurl": Embed, "logo": Embed, "msapplication-tileimage": Embed,
	"msapplication-config": Embed, "msapplication-square70x70logo": Embed,
	"msapplication-square150x150logo": Embed, "msapplication-square310x310logo": Embed,
	"msapplication-wide310x150logo": Embed, "og:url": Navlink, "og:see_also": Navlink, "twitter:url": Navlink,
	"url": Navlink, "sameas": Navlink, "mainentityofpage": Navlink, "msapplication-starturl": Navlink,
	"article:author": Speculative, "article:publisher": Speculative,
}
