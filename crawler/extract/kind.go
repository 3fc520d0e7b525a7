package extract

import (
	"bytes"
	"fmt"
	"strings"
)

// Types is a set of formats that links are looked for in.
type Types uint32

// Formats. Style sheets and scripts within HTML are looked into if their own format is in the set.
const (
	HTTP Types = 1 << iota
	HTML
	CSS
	JS
	JSON
	XML
	Feed
	Sitemap
	RobotsTxt
	PDF
	SVG
	M3U8
	DASH
	Office

	AllTypes Types = 1<<iota - 1
)

var typeNames = [...]string{"http", "html", "css", "js", "json", "xml", "feed", "sitemap", "robots", "pdf", "svg",
	"m3u8", "dash", "office"}

// ParseTypes reads names of formats, as String writes them.
func ParseTypes(names []string) (Types, error) {
	var t Types
next:
	for _, name := range names {
		for i, n := range typeNames {
			if n == name {
				t |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown extractor %q: want one of %s", name, strings.Join(typeNames[:], ", "))
	}
	return t, nil
}

// String names the formats, with commas between them.
func (t Types) String() string {
	var names []string
	for i, n := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

type documentKind int

const (
	kindOther   documentKind = iota // nothing to find
	kindUnknown                     // not declared, and no body to look at
	kindHTML
	kindXHTML
	kindSVG
	kindCSS
	kindJS
	kindJSON
	kindWebManifest
	kindJSONFeed
	kindLD
	kindXML
	kindFeed
	kindSitemap
	kindSitemapText
	kindPacked
	kindRobots
	kindPDF
	kindM3U8
	kindDASH
	kindOffice
	kinds // how many there are
)

// types is the format that has to be switched on for a kind.
func (k documentKind) types() Types {
	return [kinds]Types{kindHTML: HTML, kindXHTML: HTML, kindSVG: SVG, kindCSS: CSS, kindJS: JS, kindJSON: JSON,
		kindWebManifest: JSON, kindJSONFeed: Feed, kindLD: JSON, kindXML: XML, kindFeed: Feed,
		kindSitemap: Sitemap, kindSitemapText: Sitemap, kindPacked: Sitemap, kindRobots: RobotsTxt, kindPDF: PDF,
		kindM3U8: M3U8, kindDASH: DASH, kindOffice: Office}[k]
}

// kindByType are the media types that say it all. XML's own types have the root element say more.
var kindByType = map[string]documentKind{
	"text/html": kindHTML, "application/xhtml+xml": kindXHTML, "application/vnd.wap.xhtml+xml": kindXHTML,
	"text/vnd.wap.wml": kindXHTML, "image/svg+xml": kindSVG, "text/css": kindCSS,
	"text/javascript": kindJS, "application/javascript": kindJS, "application/x-javascript": kindJS,
	"application/ecmascript": kindJS,
	"text/ecmascript":        kindJS, "text/x-javascript": kindJS, "text/jscript": kindJS, "text/x-ecmascript": kindJS,
	"application/x-ecmascript": kindJS,
	"application/json":         kindJSON, "text/json": kindJSON, "application/x-json": kindJSON,
	"application/manifest+json": kindWebManifest,
	"application/feed+json":     kindJSONFeed, "application/ld+json": kindLD,
	"application/rss+xml": kindFeed, "application/atom+xml": kindFeed, "application/rdf+xml": kindFeed,
	"application/dash+xml": kindDASH, "video/vnd.mpeg.dash.mpd": kindDASH,
	"application/vnd.apple.mpegurl": kindM3U8, "application/x-mpegurl": kindM3U8, "audio/mpegurl": kindM3U8,
	"audio/x-mpegurl":     kindM3U8,
	"application/mpegurl": kindM3U8, "application/vnd.apple.mpegurl.audio": kindM3U8,
	"application/pdf": kindPDF, "application/x-pdf": kindPDF,
	"application/gzip": kindPacked, "application/x-gzip": kindPacked,
}

// kindByExtension is asked where the media type says nothing.
var kindByExtension = map[string]documentKind{
	"html": kindHTML, "htm": kindHTML, "xhtml": kindXHTML, "svg": kindSVG, "css": kindCSS, "js": kindJS, "mjs": kindJS,
	"json":        kindJSON,
	"webmanifest": kindWebManifest, "rss": kindFeed, "atom": kindFeed, "rdf": kindFeed, "xml": kindXML, "pdf": kindPDF,
	"m3u8": kindM3U8,
	"m3u":  kindM3U8, "mpd": kindDASH, "gz": kindPacked,
	"docx": kindOffice, "xlsx": kindOffice, "pptx": kindOffice, "docm": kindOffice, "xlsm": kindOffice,
	"pptm": kindOffice, "dotx": kindOffice,
	"ppsx": kindOffice, "odt": kindOffice, "ods": kindOffice, "odp": kindOffice, "odg": kindOffice,
}

// kindOf determines the kind of a document by its media type, or, if that is vague, by its URL and its beginning.
func kindOf(doc *Document) documentKind {
	mt := MediaType(doc.ContentType)
	name, extension := fileName(doc.URL)
	if k := sniffed(doc, name, extension); k != kindOther {
		return k
	}
	if k := kindByType[mt]; k == kindHTML { // most of what there is
		if !bytes.HasPrefix(doc.Body, []byte("<?xml")) {
			return k
		}
		if x := xmlKind(doc.Body[:min(len(doc.Body), 1024)]); x == kindFeed || x == kindSitemap || x == kindDASH {
			return x // many servers call a feed a page
		}
		return k
	}
	head := beginning(doc.Body)
	if name == "robots.txt" && strings.Count(doc.URL, "/") == 3 && (len(head) == 0 || head[0] != '<') {
		return kindRobots
	}
	switch k := kindByType[mt]; {
	case k == kindJSON:
		return jsonKind(name, extension, head)
	case k == kindPacked:
		return packedKind(doc, name, extension, head)
	case k != 0:
		return k
	case mt == "text/xml" || mt == "application/xml" || strings.HasSuffix(mt, "+xml"):
		return xmlKind(head)
	case strings.HasSuffix(mt, "+json"):
		return kindJSON
	case strings.HasPrefix(mt, "application/vnd.openxmlformats-officedocument.") ||
		strings.HasPrefix(mt, "application/vnd.oasis.opendocument.") ||
		strings.HasPrefix(mt, "application/vnd.ms-") && strings.Contains(mt, ".macroenabled."):
		return kindOffice
	case mt != "" && mt != "text/plain" && mt != "application/octet-stream" && mt != "binary/octet-stream" &&
		mt != "application/zip" &&
		mt != "application/x-zip-compressed" && mt != "unknown/unknown":
		return kindOther
	}
	return undeclared(doc, mt, name, extension, head)
}

// beginning returns as much of a document as is needed to recognise it, from its first character on.
func beginning(body []byte) []byte {
	return bytes.TrimLeft(body[:min(len(body), 1024)], "\xef\xbb\xbf \t\r\n")
}

// sniffed knows a sitemap by its beginning, whatever its server calls it: where a robots.txt or a sitemap lists it, or
// it is named like one.
func sniffed(doc *Document, name, extension string) documentKind {
	if len(doc.Body) < 3 || !listed(doc.Manifest, name, extension) {
		return kindOther
	}
	if doc.Body[0] == 0x1f && doc.Body[1] == 0x8b {
		return kindPacked
	}
	head := beginning(doc.Body)
	if len(head) > 0 && head[0] == '<' && xmlKind(head) == kindSitemap {
		return kindSitemap
	}
	if packedType(doc.ContentType, extension) && isHTTP(head) {
		return kindSitemapText // it was packed once, for its transfer
	}
	return kindOther
}

// listed tells whether a document may be a sitemap by how it was found, or by its name.
func listed(manifest bool, name, extension string) bool {
	return manifest || extension == "gz" && (strings.HasSuffix(name, ".xml.gz") || strings.HasSuffix(name, ".txt.gz") ||
		strings.Contains(name, "sitemap"))
}

// packedType tells whether a document is said to be packed.
func packedType(contentType, extension string) bool {
	return extension == "gz" || kindByType[MediaType(contentType)] == kindPacked
}

// mayBeSitemap tells whether only the beginning of a document can say that it is no sitemap.
func mayBeSitemap(contentType, url string, manifest bool) bool {
	name, extension := fileName(url)
	if !listed(manifest, name, extension) {
		return false
	}
	major, _, _ := strings.Cut(MediaType(contentType), "/")
	return major != "image" && major != "video" && major != "audio" && major != "font"
}

// undeclared tells a document whose media type says little or nothing.
func undeclared(doc *Document, mt, name, extension string, head []byte) documentKind {
	switch k := kindByExtension[extension]; {
	case k == kindPacked:
		return packedKind(doc, name, extension, head)
	case k == kindJSON:
		return jsonKind(name, extension, head)
	case k == kindHTML && mt != "", k == kindXHTML && mt != "":
		return kindOther // served to be shown as text, or saved
	case k == kindXML:
		return xmlKind(head)
	case k != 0:
		return k
	}
	switch {
	case mt == "text/plain" && (doc.Manifest || strings.Contains(name, "sitemap") && extension == "txt"):
		return kindSitemapText
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return kindPDF
	case bytes.HasPrefix(head, []byte("#EXTM3U")):
		return kindM3U8
	case mt != "":
		return kindOther
	case len(head) == 0:
		return kindUnknown
	case head[0] == '<':
		if k := xmlKind(head); k != kindXML || bytes.HasPrefix(head, []byte("<?xml")) {
			return k
		}
		if lower := bytes.ToLower(head); head[1%len(head)] == '!' || bytes.Contains(lower, []byte("<html")) ||
			bytes.Contains(lower, []byte("<body")) {
			return kindHTML
		}
	}
	return kindOther
}

// jsonKind tells an app's manifest and a feed from other JSON.
func jsonKind(name, extension string, head []byte) documentKind {
	switch {
	case extension == "webmanifest", name == "manifest.json", name == "site.webmanifest":
		return kindWebManifest
	case bytes.Contains(head, []byte("jsonfeed.org/version")):
		return kindJSONFeed
	}
	return kindJSON
}

// packedKind tells a packed sitemap from other packed files.
func packedKind(doc *Document, name, extension string, head []byte) documentKind {
	switch {
	case !listed(doc.Manifest, name, extension):
		return kindOther
	case len(head) > 0 && head[0] == '<': // it was packed once, for its transfer
		return xmlKind(head)
	}
	return kindPacked
}

// xmlKind tells by the root element.
func xmlKind(head []byte) documentKind {
	s := xmlScanner{b: head}
	for range 16 {
		switch s.next() {
		case xmlStart:
			switch string(localName(s.name)) {
			case "html", "HTML", "wml":
				return kindXHTML
			case "svg":
				return kindSVG
			case "rss", "feed", "RDF":
				return kindFeed
			case "urlset", "sitemapindex":
				return kindSitemap
			case "MPD":
				return kindDASH
			}
			return kindXML
		case xmlEnd, xmlDone:
			return kindXML
		}
	}
	return kindXML
}

// fileName is the last segment of a URL's path in lower case, and its extension.
func fileName(url string) (name, extension string) {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	name = url[strings.LastIndexByte(url, '/')+1:]
	if len(name) > 255 {
		return "", ""
	}
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		extension = name[i+1:]
	}
	return name, extension
}

// MediaType is the type of a Content-Type header in lower case, without parameters; of several, the first.
func MediaType(contentType string) string {
	if i := strings.IndexAny(contentType, ";,"); i >= 0 {
		contentType = contentType[:i]
	}
	return strings.ToLower(strings.TrimSpace(contentType))
}
