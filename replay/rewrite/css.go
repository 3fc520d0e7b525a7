package rewrite

import (
	"bytes"
	"io"
	"strings"

	"holdfast/cdx"
)

// CSS copies a style sheet and rewrites the URLs in url(), @import and image-set(). It returns the first error of
// reading or writing; damage in the style sheet is none.
func CSS(w io.Writer, r io.Reader, l *Links) error {
	c := &css{scan: newScan(w, r, 16<<10, maxSheet), links: l}
	c.run()
	return c.finish()
}

// style returns the style of one element rewritten; false if it stays as it is.
func style(text string, l *Links) (string, bool) {
	if !strings.ContainsAny(text, "(@") {
		return "", false
	}
	var b strings.Builder
	c := &css{scan: scanText(&b, []byte(text)), links: l}
	c.run()
	if c.finish() != nil || b.String() == text {
		return "", false
	}
	return b.String(), true
}

// css rewrites a style sheet. It reads as much of CSS as tells a URL from other text (CSS Syntax Level 3).
type css struct {
	*scan
	links    *Links
	entities bool // text of XML: & begins a reference

	word      []byte // the name being read, in lower case, at most maxWord bytes
	importing bool   // after @import, until its URL or a semicolon
	naming    bool   // after @namespace, until the semicolon: its URL is a name
	open      []byte // of each open parenthesis, whether strings in it are URLs (1)
}

const (
	maxWord = 24
	maxOpen = 32 // parentheses that are told apart

	maxSheet = 2 * cdx.MaxURL // bytes of a style sheet in memory
)

func (c *css) run() {
	for {
		b, ok := c.next()
		if !ok {
			return
		}
		switch b {
		case '/':
			c.comment()
		case '"', '\'':
			c.quoted(b)
		case '(':
			c.opened()
		case ')':
			c.open = c.open[:max(0, len(c.open)-1)]
		case '\\':
			c.next()
		default:
			c.name(b)
			continue
		}
		c.word = c.word[:0]
	}
}

// opened reads what follows an opening parenthesis.
func (c *css) opened() {
	word := string(c.word)
	if word == "url" {
		c.url()
		return
	}
	if len(c.open) == maxOpen {
		c.open = c.open[:copy(c.open, c.open[1:])]
	}
	images := byte(0)
	if word == "image-set" || word == "-webkit-image-set" {
		images = 1
	}
	c.open = append(c.open, images)
}

// name follows the name that is being read.
func (c *css) name(b byte) {
	switch {
	case b == '@', b == '-', b == '_', b >= 0x80, 'a' <= b|0x20 && b|0x20 <= 'z', '0' <= b && b <= '9':
		if len(c.word) < maxWord {
			c.word = append(c.word, lower(b))
		}
		return
	case b == ';' || b == '{' || b == '}':
		c.importing, c.naming, c.open = false, false, c.open[:0]
	case isSpace(b):
		c.rule()
	}
	c.word = c.word[:0]
}

// rule remembers whether the name that ends is that of a rule with a URL.
func (c *css) rule() {
	switch string(c.word) {
	case "@import":
		c.importing = true
	case "@namespace":
		c.naming = true
	}
}

// comment goes past a comment, if the slash that was read begins one.
func (c *css) comment() {
	c.rule()
	if next, ok := c.peek(0); ok && next == '*' {
		c.pos++
		c.past("*/")
	}
}

// quoted goes past a string. After @import and in image-set() it is a URL.
func (c *css) quoted(quote byte) {
	c.rule()
	modifier := "im_"
	if c.importing {
		modifier = "cs_"
	} else if len(c.open) == 0 || c.open[len(c.open)-1] == 0 {
		modifier = ""
	}
	c.importing = false
	if modifier == "" || c.naming || !c.collect(func(b byte) bool { return b == quote || b == '\n' }) {
		c.restOfString(quote)
		return
	}
	if c.buf[c.pos-1] == quote {
		c.put(c.mark, c.pos-1, modifier)
	}
	c.mark = -1
}

// restOfString goes past the end of a string.
func (c *css) restOfString(quote byte) {
	for {
		switch b, ok := c.next(); {
		case !ok || b == quote || b == '\n':
			return
		case b == '\\':
			c.next()
		}
	}
}

// collect reads up to and with a byte that ends a URL, from the mark that it sets. It reports false, and the mark is
// gone, if the text ends before or the URL is longer than any. Escaped bytes end none.
func (c *css) collect(ends func(byte) bool) bool {
	c.mark = c.pos
	for c.pos-c.mark < cdx.MaxURL {
		b, ok := c.next()
		if ok && b == '\\' {
			_, ok = c.next()
		} else if ok && ends(b) {
			return true
		}
		if !ok {
			break
		}
	}
	c.mark = -1
	return false
}

// url goes past the content of url(…).
func (c *css) url() {
	modifier := "im_"
	if c.importing {
		modifier, c.importing = "cs_", false
	}
	first, ok := c.peek(0)
	for ok && isSpace(first) {
		c.pos++
		first, ok = c.peek(0)
	}
	if !ok || c.naming {
		return // the rest passes as other text does
	}
	if first == '"' || first == '\'' {
		c.pos++
		if !c.collect(func(b byte) bool { return b == first || b == '\n' }) {
			c.restOfString(first)
			return
		}
		if c.buf[c.pos-1] == first {
			c.put(c.mark, c.pos-1, modifier)
		}
		c.mark = -1
		return
	}
	if !c.collect(func(b byte) bool { return b == ')' }) {
		return
	}
	text := bytes.TrimRight(c.buf[c.mark:c.pos-1], " \t\r\n\f")
	if !bytes.ContainsAny(text, "\"'(") {
		from, to := c.mark, c.mark+len(text)
		for _, quote := range []string{"&quot;", "&#34;", "&apos;", "&#39;"} {
			n := len(quote)
			if c.entities && to-from > 2*n && string(c.buf[from:from+n]) == quote && string(c.buf[to-n:to]) == quote {
				from, to = from+n, to-n
			}
		}
		c.put(from, to, modifier)
	}
	c.mark = -1
}

// put puts a rewritten reference in place of bytes of the window, if it must not stay.
func (c *css) put(from, to int, modifier string) {
	text := string(c.buf[from:to])
	if c.entities {
		text = unescape(text)
	}
	where, ok := c.links.Rewrite(asUTF8(unescapeCSS(text)), modifier)
	if !ok {
		return
	}
	where = cssSafe(where)
	if c.entities {
		where = strings.ReplaceAll(where, "&", "&amp;")
	}
	c.replace(from, to, where)
}

// cssSafe escapes what could end a URL in a style sheet or the element around it.
func cssSafe(url string) string {
	if !strings.ContainsAny(url, "'\"()\\ <\n") {
		return url
	}
	return strings.NewReplacer("'", "%27", `"`, "%22", "(", "%28", ")", "%29", `\`, "%5C", " ", "%20", "<", "%3C", "\n",
		"").Replace(url)
}
