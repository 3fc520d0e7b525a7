// Package extract finds the links of a document: in HTTP headers, HTML and CSS.
//
// The scanners read bytes once, front to back, keep no tree, and never fail:
// whatever a document holds, the links that can be seen in it come out.
package extract

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Hops by which a URI is found, as Heritrix writes them into a discovery path.
const (
	Redirect = 'R'
	Embed    = 'E'
	Navlink  = 'L'
)

// Target is where a response redirects to, "" if nowhere.
func (r Result) Target() string {
	if len(r.Links) > 0 && r.Links[0].Hop == Redirect && r.Links[0].Context == location {
		return r.Links[0].URL
	}
	return ""
}

// location is the context of a link from a Location header.
const location = "Location:"

// MaxLinks is how many links of one document are kept; the rest is counted.
const MaxLinks = 6000

// Link is a URI that a document refers to.
type Link struct {
	URL     string // absolute, normal form, http or https
	Hop     byte   // Redirect, Embed or Navlink
	Context string // where it stood, as "a/@href"
}

// Document is what was fetched.
type Document struct {
	URL         string
	ContentType string // the header's value
	Location    string // the Location header's value, or ""
	Refresh     string // the Refresh header's value, or ""
	Body        []byte // the payload, content coding removed
}

// Extractor finds links. It keeps its buffers from one document to the next; one goroutine may use it at a time.
type Extractor struct {
	base    base
	links   []Link
	refs    map[string]int32 // reference as written -> index of its link, or -1
	urls    map[string]int32 // resolved -> index of its link
	dropped int
	charset string
}

// New makes an Extractor.
func New() *Extractor {
	return &Extractor{refs: map[string]int32{}, urls: map[string]int32{}}
}

// Result is what an Extractor found.
type Result struct {
	Links   []Link // in document order, each URL once; valid until the extractor's next document
	Dropped int    // links beyond MaxLinks
	Charset string // the character set that was decoded, "" for UTF-8
}

// Links returns the links of a document.
func (x *Extractor) Links(doc Document) Result {
	x.links = x.links[:0]
	clear(x.refs)
	clear(x.urls)
	x.dropped, x.charset = 0, ""
	if !x.base.set(doc.URL) {
		return Result{}
	}
	if doc.Location != "" {
		x.add([]byte(doc.Location), Redirect, location)
	}
	if doc.Refresh != "" {
		x.refresh([]byte(doc.Refresh), "Refresh:")
	}
	switch kind(doc.ContentType, doc.Body) {
	case kindHTML:
		x.html(x.utf8(doc.Body, doc.ContentType), 0)
	case kindCSS:
		x.css(x.utf8(doc.Body, doc.ContentType), "css")
	}
	return Result{Links: x.links, Dropped: x.dropped, Charset: x.charset}
}

type documentKind int

const (
	kindOther documentKind = iota
	kindHTML
	kindCSS
)

// kind tells by the declared type, and by a look at the body where nothing is declared.
func kind(contentType string, body []byte) documentKind {
	mt := MediaType(contentType)
	switch mt {
	case "text/html", "application/xhtml+xml", "image/svg+xml", "application/vnd.wap.xhtml+xml":
		return kindHTML
	case "text/css":
		return kindCSS
	case "":
		head := bytes.TrimLeft(body[:min(len(body), 512)], "\xef\xbb\xbf \t\r\n")
		if len(head) > 1 && head[0] == '<' && (head[1] == '!' || bytes.Contains(bytes.ToLower(head), []byte("<html"))) {
			return kindHTML
		}
	}
	return kindOther
}

// MediaType is the type of a Content-Type header in lower case, without parameters.
func MediaType(contentType string) string {
	mt, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(mt))
}

// utf8 returns the body in UTF-8, decoded from the character set that it, or its header, declares.
// A body that is valid UTF-8 is returned as it is.
func (x *Extractor) utf8(body []byte, contentType string) []byte {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	wide := len(body) >= 2 && (body[0] == 0xff && body[1] == 0xfe || body[0] == 0xfe && body[1] == 0xff)
	if !wide && utf8.Valid(body) {
		if _, params, err := mime.ParseMediaType(contentType); err != nil || !strings.HasPrefix(strings.ToLower(params["charset"]), "utf-16") {
			return body
		}
	}
	enc, name, _ := charset.DetermineEncoding(body[:min(len(body), 4096)], contentType)
	if name == "utf-8" || enc == nil {
		return body
	}
	decoded, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return body
	}
	x.charset = name
	return decoded
}

// add resolves a reference and keeps it, once per document. An embed outranks a navigational link.
func (x *Extractor) add(ref []byte, hop byte, context string) {
	ref = trim(ref)
	if len(ref) == 0 || ref[0] == '#' || len(ref) > maxURL {
		return
	}
	if i, ok := x.refs[string(ref)]; ok {
		x.promote(i, hop, context)
		return
	}
	url, ok := x.base.resolve(ref)
	if !ok {
		x.refs[string(ref)] = -1
		return
	}
	i, known := x.urls[url]
	switch {
	case known:
		x.promote(i, hop, context)
	case len(x.links) >= MaxLinks:
		x.dropped++
		return
	default:
		i = int32(len(x.links))
		x.links = append(x.links, Link{URL: url, Hop: hop, Context: context})
		x.urls[url] = i
	}
	x.refs[string(ref)] = i
}

func (x *Extractor) promote(i int32, hop byte, context string) {
	if i >= 0 && hop == Embed && x.links[i].Hop == Navlink {
		x.links[i].Hop, x.links[i].Context = hop, context
	}
}

// trim removes the white space and control characters that a browser ignores around a reference.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}
