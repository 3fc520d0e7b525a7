// Package extract finds the links of a document: in HTTP headers, HTML, CSS, JavaScript, JSON, XML, feeds, sitemaps,
// robots.txt, PDF, SVG, playlists of media, and Office documents. doc/extractors.md lists every construct.
//
// The scanners read bytes once, front to back, keep no tree, and never fail: whatever a document holds, the links that
// can be seen in it come out. A link is what its format says is one; what merely looks like one (a string in a
// script, an attribute of the author's own) has the hop Speculative and can be switched off.
//
// A document is bytes in memory, as many as the caller is willing to hold: of a longer one, the beginning; a sitemap is
// read on from there. Packed formats are unpacked piece by piece, within bounds that hold however small the packed
// bytes are: of a PDF's object streams maxStream each and maxUnpacked together, of an Office document's parts likewise,
// of a packed sitemap a window at a time. No format needs its end, so that a beginning gives the links that are in it:
// PDF and Office documents are read by what stands in them, not by the table at their end.
package extract

import (
	"bytes"
	"io"
	"strconv"
)

// Hops by which a URI is found, as Heritrix writes them into a discovery path.
const (
	Redirect    = 'R'
	Embed       = 'E'
	Navlink     = 'L'
	Speculative = 'X' // a string that looks like a URL
	Manifest    = 'M' // listed by a robots.txt or a sitemap
	Submit      = 'S' // a form sent with its default values
	Inferred    = 'I' // not referred to, but known to be there
)

// Contexts of links that have no element and attribute to name, as Heritrix writes them.
const (
	location        = "Location:"
	scriptString    = "=JS_MISC"
	styleReference  = "=EMBED_MISC"
	navigation      = "=NAVLINK_MISC"
	manifestEntry   = "=MANIFEST_MISC"
	speculativeText = "=SPECULATIVE_MISC"
	inferredURL     = "=INFERRED_MISC"
)

// MaxLinks is how many links of one document are kept unless the options say otherwise; the rest is counted.
const MaxLinks = 6000

// MaxSitemap is how many links of a sitemap are kept at least: as many as one may list.
const MaxSitemap = 50000

// Options says which links to look for.
type Options struct {
	Speculative bool  // strings that look like URLs, too
	Forms       bool  // GET forms sent with their default values, too
	Types       Types // the formats that are looked into; 0 for all
	MaxLinks    int   // links kept of one document; 0 for MaxLinks
	// Depth bounds documents within documents (srcdoc, HTML in a feed, a template in a script); 0 for 3, less for none.
	Depth int
}

// Defaults is everything.
func Defaults() Options {
	return Options{Speculative: true, Forms: true, Types: AllTypes, MaxLinks: MaxLinks, Depth: 3}
}

// Link is a URI that a document refers to.
type Link struct {
	URL     string // absolute, normal form, http or https
	Hop     byte   // one of the hops above
	Context string // where it stood, as "a/@href"; no spaces
	Late    bool   // of a Refresh after a while: the page is to be read before
}

// Document is a fetched document.
type Document struct {
	URL             string
	Via             string    // the page it was found on, or "": a script's strings are relative to it
	Manifest        bool      // it was found by the hop Manifest: if it is text, it is a list of URLs
	ContentType     string    // the header's value
	Location        string    // the Location header's value, or ""
	ContentLocation string    // the Content-Location header's value, or ""
	Refresh         string    // the Refresh header's value, or ""
	Link            []string  // the Link headers' values
	RobotsTag       []string  // the X-Robots-Tag headers' values
	Robot           string    // the name by which documents address this crawl's robot; "": none
	Body            []byte    // the payload, content coding removed
	Rest            io.Reader // what follows Body, of a payload that is longer; else nil. It is read of sitemaps only
}

// Result is what an Extractor found.
type Result struct {
	Links       []Link        // in document order, each URL once; valid until the extractor's next document
	Dropped     int           // links beyond the bound
	Bad         []BadURI      // references of which no URL could be made, at most maxBad
	Base        string        // what references were relative to, the document's URL unless it says otherwise
	Charset     string        // the character set that was decoded, "" for UTF-8
	CharsetFrom CharsetSource // how it was found
	Declared    string        // the character set that the document declares where no header does, as written, or ""
	Robots      Robots        // the document's directives for robots; none of them has been applied
	Cut         bool          // the document is longer than what was read
	Title       string        // of an HTML page, at most maxTitle bytes of it
	xml         bool          // the declaration was XML's
}

// BadURI is a reference of which no URL could be made.
type BadURI struct {
	Text    string // its first maxURL bytes
	Problem string
}

// maxBad bounds how many references that are not URLs are reported per document.
const maxBad = 20

// Target is where a response redirects to, "" if nowhere.
func (r Result) Target() string {
	if len(r.Links) > 0 && r.Links[0].Hop == Redirect && r.Links[0].Context == location {
		return r.Links[0].URL
	}
	return ""
}

// Annotations returns the words for crawl.log: what was dropped, whether the document was read to its end, and which
// character set was used.
func (r Result) Annotations() []string {
	var out []string
	if r.Dropped > 0 {
		out = append(out, "dol:"+strconv.Itoa(r.Dropped))
	}
	if r.Cut {
		out = append(out, "extractTrunc")
	}
	if a := r.charsetAnnotation(); a != "" {
		out = append(out, a)
	}
	return out
}

// Extractor finds links. It keeps its buffers from one document to the next; one goroutine may use it at a time.
type Extractor struct {
	*collector
	decoder   decoder
	unpacker  unpacker
	markup    markup
	feeds     feeds
	sitemaps  sitemaps
	documents documents
}

// New makes an Extractor with the options, or with Defaults.
func New(options ...Options) *Extractor {
	o := Defaults()
	if len(options) > 0 {
		o = options[0]
		if o.Types == 0 {
			o.Types = AllTypes
		}
		if o.MaxLinks <= 0 {
			o.MaxLinks = MaxLinks
		}
		if o.Depth == 0 {
			o.Depth = Defaults().Depth
		}
		o.Depth = min(o.Depth, maxNested-1)
	}
	all := newCollector(o)
	x := &Extractor{collector: all, decoder: decoder{collector: all}}
	x.markup = markup{collector: all, styles: styles{all}, scripts: scripts{all}}
	x.feeds = feeds{collector: all, markup: &x.markup}
	x.sitemaps = sitemaps{collector: all, decoder: &x.decoder, unpacker: &x.unpacker}
	x.documents = documents{collector: all, unpacker: &x.unpacker, markup: &x.markup}
	return x
}

// Links returns the links of a document.
func (x *Extractor) Links(doc Document) Result {
	x.markup.xml = false
	if !x.begin(&doc) {
		return Result{}
	}
	if x.options.Types&HTTP != 0 {
		x.headers(&doc)
	}
	if k := kindOf(&doc); k.types()&^x.options.Types == 0 {
		x.result.Cut = doc.Rest != nil && k != kindOther && k != kindUnknown && k != kindSitemap &&
			k != kindSitemapText && k != kindPacked
		x.body(k, &doc)
	}
	x.result.Links, x.result.Base = x.links, x.base.url
	x.release()
	return x.result
}

// Wants reports whether a document of that type and URL may hold links, so that its body is worth reading. It
// looks at the type and the URL's path alone; manifest as in Document.
func (x *Extractor) Wants(contentType, url string, manifest bool) bool {
	k := kindOf(&Document{URL: url, ContentType: contentType, Manifest: manifest})
	may := k.types()
	if mayBeSitemap(contentType, url, manifest) {
		may |= Sitemap
	}
	switch k {
	case kindUnknown:
		return true
	case kindXML: // its root element may say more
		may |= HTML | SVG | Feed | Sitemap | DASH
	case kindJSON:
		may |= Feed
	}
	return may&x.options.Types != 0
}

// body scans the payload. Text is decoded first.
func (x *Extractor) body(k documentKind, doc *Document) {
	switch k {
	case kindPDF:
		x.documents.pdf(doc.Body)
		return
	case kindOffice:
		x.documents.office(doc.Body)
		return
	case kindPacked:
		x.limit = max(x.limit, MaxSitemap)
		r := io.Reader(bytes.NewReader(doc.Body))
		if doc.Rest != nil {
			r = io.MultiReader(r, doc.Rest)
		}
		x.sitemaps.packedSitemap(r)
		return
	case kindSitemap, kindSitemapText:
		x.limit = max(x.limit, MaxSitemap)
		if doc.Rest != nil {
			x.result.xml = k == kindSitemap
			x.sitemaps.longSitemap(doc, k)
			return
		}
	case kindOther, kindUnknown:
		return
	}
	b := x.decoder.utf8(doc.Body, doc.ContentType, k)
	x.result.xml = k == kindXML || k == kindFeed || k == kindSitemap || k == kindDASH
	switch k {
	case kindHTML:
		x.markup.page(b)
	case kindXHTML, kindSVG:
		x.markup.xml = true
		x.markup.page(b)
	case kindCSS:
		x.markup.css(b)
	case kindJS, kindJSON:
		x.runsOn(doc.Via)
		x.markup.js(b)
	case kindWebManifest, kindJSONFeed:
		x.feeds.jsonDocument(b, k)
	case kindLD:
		x.markup.linkedData(b)
	case kindXML:
		x.feeds.genericXML(b)
	case kindFeed:
		x.feeds.feed(b)
	case kindSitemap:
		x.sitemaps.sitemap(b)
	case kindSitemapText:
		x.sitemaps.sitemapText(b)
	case kindRobots:
		x.sitemaps.robotsTxt(b)
	case kindM3U8:
		x.documents.playlist(b)
	case kindDASH:
		x.documents.dash(b)
	}
}

// maxKept is the size up to which a buffer is kept for the next document.
const maxKept = 1 << 20

// release frees the document, and the buffers that an unusually large document needed.
func (x *Extractor) release() {
	x.markup.release()
	for _, buffer := range []*[]byte{&x.decoder.decoded, &x.scratch, &x.unpacker.stream} {
		if cap(*buffer) > maxKept {
			*buffer = nil
		}
	}
	if len(x.links) > 4*MaxLinks {
		x.refs, x.urls = map[uint64]int32{}, map[string]int32{}
	}
}
