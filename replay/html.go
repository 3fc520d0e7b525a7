package replay

import (
	"bytes"
	"errors"
	"html"
	"io"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/text/encoding"
)

// maxToken bounds a tag, comment or script that is looked at; from a longer one
// on the page passes as it is.
const maxToken = 8 << 20

// htmlRewriter copies a page and rewrites what would lead out of the archive.
// It splices values into the bytes as they are, so that every other byte, in
// whatever ASCII-compatible charset, passes unchanged.
type htmlRewriter struct {
	out     io.Writer
	links   *links
	charset encoding.Encoding // of the page; nil: UTF-8
	banner  string            // HTML put at the start of the body; empty: none
	depth   int               // of srcdoc within srcdoc
	err     error             // first write error
}

// run rewrites until the page ends. Damage in the page is no error.
func (h *htmlRewriter) run(in io.Reader) error {
	z := xhtml.NewTokenizer(in)
	z.SetMaxBuf(maxToken)
	element := ""
	for h.err == nil {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case xhtml.ErrorToken:
			h.write(raw)
			return h.end(z, in)
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			tag := bytes.Clone(raw)
			name, _ := z.TagName()
			element = string(name)
			if element == "noscript" {
				z.NextIsNotRawText()
			}
			h.tag(element, tag)
			if element == "body" {
				h.putBanner()
			}
			continue
		case xhtml.TextToken:
			if element == "style" {
				h.check(rewriteCSS(h.out, bytes.NewReader(raw), h.links))
			} else {
				h.write(raw)
			}
		case xhtml.EndTagToken:
			h.write(raw)
		default:
			h.write(raw)
			continue
		}
		element = ""
	}
	return h.err
}

// end copies the rest that the tokenizer left, after a token too long for it.
func (h *htmlRewriter) end(z *xhtml.Tokenizer, in io.Reader) error {
	err := z.Err()
	if errors.Is(err, xhtml.ErrBufferExceeded) {
		h.write(z.Buffered())
		if h.err == nil {
			_, h.err = io.Copy(h.out, in)
		}
		return h.err
	}
	if err != io.EOF {
		h.check(err)
	}
	h.putBanner()
	return h.err
}

func (h *htmlRewriter) putBanner() {
	if h.banner != "" {
		h.write([]byte(h.banner))
		h.banner = ""
	}
}

func (h *htmlRewriter) write(p []byte) {
	if h.err == nil && len(p) > 0 {
		_, h.err = h.out.Write(p)
	}
}

func (h *htmlRewriter) check(err error) {
	if h.err == nil {
		h.err = err
	}
}

// tag writes a start tag, its attributes rewritten.
func (h *htmlRewriter) tag(element string, raw []byte) {
	attrs := scanAttributes(raw)
	done := 0
	for i := range attrs {
		a := &attrs[i]
		name, value, changed := h.attribute(element, a, attrs)
		if !changed {
			continue
		}
		h.write(raw[done:a.nameStart])
		h.write([]byte(name + "="))
		quote := byte('"')
		if a.quote == '\'' {
			quote = '\''
		}
		h.write([]byte(string(quote) + value + string(quote)))
		done = a.end
		if a.quote == 0 && done < len(raw) && raw[done] == '/' {
			h.write([]byte(" "))
		}
	}
	h.write(raw[done:])
	if element == "base" {
		if href, ok := find(attrs, "href"); ok {
			if to, ok := resolve(h.links.base, h.decode(href)); ok {
				h.links.base = to
			}
		}
	}
}

// attribute returns the new name and the new value, escaped, of an attribute that must change.
func (h *htmlRewriter) attribute(element string, a *attr, all []attr) (name, value string, changed bool) {
	name = string(a.rawName)
	switch a.name {
	case "integrity", "ping", "manifest", "http-equiv":
		if a.name == "manifest" && element != "html" || a.name == "http-equiv" && !isPolicy(a.value) {
			return name, "", false
		}
		return "data-archived-" + name, escapeBytes(a.value), true
	case "style":
		text := unescape(string(a.value))
		if to := rewriteStyle(text, h.links); to != text {
			return name, html.EscapeString(to), true
		}
		return name, "", false
	case "srcset", "imagesrcset", "data-srcset":
		to, ok := h.srcset(h.decode(a.value))
		return name, html.EscapeString(to), ok
	case "srcdoc":
		if element == "iframe" && h.depth < 2 {
			to, ok := h.document(unescape(string(a.value)))
			return name, html.EscapeString(to), ok
		}
		return name, "", false
	case "content":
		if equiv, _ := find(all, "http-equiv"); element == "meta" &&
			strings.EqualFold(strings.TrimSpace(string(equiv)), "refresh") {
			to, ok := h.refresh(h.decode(a.value))
			return name, html.EscapeString(to), ok
		}
		return name, "", false
	}
	modifier, isURL := urlAttribute(element, a.name, all)
	if !isURL {
		return name, "", false
	}
	to, ok := h.links.rewrite(h.decode(a.value), modifier)
	return name, html.EscapeString(to), ok
}

// isPolicy reports whether a meta element would set a policy that is not ours to keep.
func isPolicy(equiv []byte) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(string(equiv))), "content-security-policy")
}

// urlAttribute tells which attributes hold a URL, and the modifier of its use.
func urlAttribute(element, name string, all []attr) (modifier string, ok bool) {
	switch name {
	case "href", "xlink:href":
		return hrefModifier(element, all), true
	case "src":
		return srcModifier(element), true
	case "data-src", "data-original", "background", "poster", "lowsrc", "dynsrc":
		return "im_", true
	case "action", "formaction", "longdesc":
		return "", true
	case "cite":
		return "", element == "blockquote" || element == "q" || element == "ins" || element == "del"
	case "data":
		return "oe_", element == "object"
	case "code", "codebase", "archive", "classid":
		return "oe_", element == "applet" || element == "object"
	}
	return "", false
}

func hrefModifier(element string, all []attr) string {
	switch element {
	case "link":
		return linkModifier(all)
	case "image", "use", "feimage":
		return "im_"
	case "script":
		return "js_"
	}
	return ""
}

func srcModifier(element string) string {
	switch element {
	case "script":
		return "js_"
	case "iframe":
		return "if_"
	case "frame":
		return "fr_"
	case "embed", "video", "audio", "source", "track":
		return "oe_"
	}
	return "im_"
}

// linkModifier returns the modifier for a link element, from its purpose.
func linkModifier(all []attr) string {
	rel, _ := find(all, "rel")
	as, _ := find(all, "as")
	for word := range strings.FieldsSeq(strings.ToLower(string(rel))) {
		switch word {
		case "stylesheet":
			return "cs_"
		case "icon", "apple-touch-icon", "mask-icon", "image_src":
			return "im_"
		case "modulepreload":
			return "js_"
		case "preload", "prefetch":
			switch strings.ToLower(string(as)) {
			case "style":
				return "cs_"
			case "script":
				return "js_"
			}
			return "oe_"
		}
	}
	return ""
}

// decode returns an attribute's value as a URL reference in UTF-8. Bytes of
// another charset become escapes in the query, where servers expect the page's
// charset, and letters in the path.
func (h *htmlRewriter) decode(value []byte) string {
	path, query, hasQuery := bytes.Cut(value, []byte("?"))
	s := string(path)
	if h.charset != nil && !isUTF8(path) {
		if utf8Path, err := h.charset.NewDecoder().Bytes(path); err == nil {
			s = string(utf8Path)
		}
	}
	if hasQuery {
		s += "?" + asUTF8(string(query))
	}
	return asUTF8(unescape(s))
}

// srcset rewrites the candidates of a srcset.
func (h *htmlRewriter) srcset(value string) (string, bool) {
	var b strings.Builder
	changed := false
	for rest := value; rest != ""; {
		start := strings.IndexFunc(rest, func(r rune) bool { return r > ' ' && r != ',' })
		if start < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:start])
		rest = rest[start:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' })
		if end < 0 {
			end = len(rest)
		}
		url := strings.TrimRight(rest[:end], ",")
		if to, ok := h.links.rewrite(url, "im_"); ok {
			b.WriteString(strings.ReplaceAll(to, ",", "%2C"))
			changed = true
		} else {
			b.WriteString(url)
		}
		if len(url) < end {
			b.WriteString(rest[len(url):end])
			rest = rest[end:]
			continue
		}
		rest = rest[end:]
		comma := strings.IndexByte(rest, ',')
		if comma < 0 {
			comma = len(rest)
		}
		b.WriteString(rest[:comma])
		rest = rest[comma:]
	}
	return b.String(), changed
}

// refresh rewrites the URL of <meta http-equiv=refresh content="5; url=…">.
func (h *htmlRewriter) refresh(content string) (string, bool) {
	at := strings.Index(strings.ToLower(content), "url")
	if at < 0 {
		return "", false
	}
	rest := strings.TrimLeft(content[at+3:], " \t\r\n")
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return "", false
	}
	to, ok := h.links.rewrite(strings.Trim(rest, " \t\r\n'\""), "")
	return content[:at] + "url=" + to, ok
}

// unescape undoes the character references of an attribute's value, where, unlike
// in text, &copy=1 and &copyright are no references.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for s != "" {
		at := strings.IndexByte(s, '&')
		if at < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:at])
		s = s[at:]
		n := 1
		for n < len(s) && (isAlnum(s[n]) || n == 1 && s[n] == '#') {
			n++
		}
		switch ref := s[:n]; {
		case n < len(s) && s[n] == ';':
			n++
			b.WriteString(html.UnescapeString(s[:n]))
		case strings.HasPrefix(ref, "&#"):
			b.WriteString(html.UnescapeString(ref))
		case n < len(s) && s[n] == '=' || html.UnescapeString(ref) != html.UnescapeString(ref+";"):
			b.WriteString(ref)
		default:
			b.WriteString(html.UnescapeString(ref))
		}
		s = s[n:]
	}
	return b.String()
}

func isAlnum(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// document rewrites the HTML in a srcdoc.
func (h *htmlRewriter) document(text string) (string, bool) {
	var b strings.Builder
	l := *h.links
	inner := &htmlRewriter{out: &b, links: &l, charset: h.charset, depth: h.depth + 1}
	if err := inner.run(strings.NewReader(text)); err != nil {
		return "", false
	}
	return b.String(), b.String() != text
}
