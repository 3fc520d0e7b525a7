package extract

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/transform"
)

// sitemaps reads sitemaps, and the robots.txt that names them.
type sitemaps struct {
	*collector
	decoder  *decoder
	unpacker *unpacker
}

// sitemap reads a sitemap or an index of sitemaps, with the extensions for images, videos and languages.
func (x *sitemaps) sitemap(b []byte) {
	s := xmlScanner{b: b}
	var name []byte
	for {
		switch s.next() {
		case xmlDone:
			return
		case xmlInstruction:
			x.instruction(s.text)
		case xmlStart:
			name = s.name
			if string(localName(name)) == "link" {
				x.add(s.get("href"), Manifest, manifestEntry)
			}
		case xmlEnd:
			name = nil
		case xmlText:
			switch string(localName(name)) {
			case "loc":
				if prefixed(name, "image") {
					x.add(s.plain(), Embed, "image:loc/text()")
				} else {
					x.add(s.plain(), Manifest, manifestEntry)
				}
			case "thumbnail_loc", "content_loc", "player_loc":
				x.add(s.plain(), Embed, "video:"+string(localName(name))+"/text()")
			}
		}
	}
}

// sitemapText reads a list of URLs, one a line.
func (x *sitemaps) sitemapText(b []byte) {
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		if line = trim(line); isHTTP(line) {
			x.add(line, Manifest, manifestEntry)
		}
	}
}

// Bounds of a sitemap that is read piece by piece.
const (
	sitemapWindow   = 1 << 20
	maxSitemapBytes = 50 << 20 // unpacked, by the sitemaps' protocol
)

// packedSitemap unpacks a sitemap window by window.
func (x *sitemaps) packedSitemap(r io.Reader) {
	if z, err := gzip.NewReader(r); err == nil {
		x.windows(z, x.sitemapPart)
	}
}

// longSitemap reads a sitemap that does not fit into the body of its document.
func (x *sitemaps) longSitemap(doc *Document, k documentKind) {
	enc, name := x.decoder.charset(doc.Body, doc.ContentType, k)
	r := io.MultiReader(bytes.NewReader(unmarked(doc.Body)), doc.Rest)
	if enc != nil && name != "utf-8" && name != "replacement" {
		r = transform.NewReader(r, enc.NewDecoder())
		x.result.Charset = name
		x.queriesIn(enc, name)
	}
	if k == kindSitemapText {
		x.windows(r, x.sitemapText)
	} else {
		x.windows(r, x.sitemap)
	}
}

// windows has a sitemap read window by window, each up to the last whole entry in it.
func (x *sitemaps) windows(r io.Reader, read func([]byte)) {
	if cap(x.unpacker.stream) < sitemapWindow {
		x.unpacker.stream = make([]byte, sitemapWindow)
	}
	window, kept := x.unpacker.stream[:sitemapWindow], 0
	for total := 0; total <= maxSitemapBytes; {
		n, err := io.ReadFull(r, window[kept:])
		total += n
		all := window[:kept+n]
		if err != nil {
			read(all)
			return
		}
		cut := lastEntry(all)
		read(all[:cut])
		kept = copy(window, all[cut:])
	}
	x.result.Cut = true
}

func (x *sitemaps) sitemapPart(b []byte) {
	if bytes.IndexByte(b, '<') >= 0 {
		x.sitemap(b)
	} else {
		x.sitemapText(b)
	}
}

// lastEntry returns where the last complete entry of a sitemap ends; len(b) if there is none.
func lastEntry(b []byte) int {
	for _, end := range []string{"</url>", "</sitemap>", ":url>", ":sitemap>", "\n"} {
		if i := bytes.LastIndex(b, []byte(end)); i >= 0 {
			return i + len(end)
		}
	}
	return len(b)
}

// robotsTxt reads the sitemaps that a robots.txt names.
func (x *sitemaps) robotsTxt(b []byte) {
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = trim(line)
		if len(line) < 8 || !hasPrefixFold(line, "sitemap") {
			continue
		}
		if line = trim(line[7:]); len(line) == 0 || line[0] != ':' {
			continue
		}
		if line = trim(line[1:]); len(line) > 0 {
			if i := bytes.IndexByte(line, '#'); i >= 0 {
				line = line[:i]
			}
			x.add(line, Manifest, manifestEntry)
		}
	}
}
