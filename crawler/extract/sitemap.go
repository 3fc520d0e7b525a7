package extract

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
)

// sitemap reads a sitemap or an index of sitemaps, with the extensions for images, videos and languages.
func (x *Extractor) sitemap(b []byte) {
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
func (x *Extractor) sitemapText(b []byte) {
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		if line = trim(line); isHTTP(line) {
			x.add(line, Manifest, manifestEntry)
		}
	}
}

// Bounds of a packed sitemap.
const (
	sitemapWindow   = 1 << 20
	maxSitemapBytes = 50 << 20 // unpacked, by the sitemaps' protocol
)

// packedSitemap unpacks a sitemap window by window; each is read up to the last whole entry in it.
func (x *Extractor) packedSitemap(b []byte) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return
	}
	if cap(x.stream) < sitemapWindow {
		x.stream = make([]byte, sitemapWindow)
	}
	window, kept := x.stream[:sitemapWindow], 0
	for total := 0; total < maxSitemapBytes; {
		n, err := io.ReadFull(z, window[kept:])
		total += n
		all := window[:kept+n]
		if err != nil {
			x.sitemapPart(all)
			return
		}
		cut := lastEntry(all)
		x.sitemapPart(all[:cut])
		kept = copy(window, all[cut:])
	}
}

func (x *Extractor) sitemapPart(b []byte) {
	if bytes.IndexByte(b, '<') >= 0 {
		x.sitemap(b)
	} else {
		x.sitemapText(b)
	}
}

// lastEntry is where the last whole entry of a sitemap ends; len(b) if there is none.
func lastEntry(b []byte) int {
	for _, end := range []string{"</url>", "</sitemap>", "\n"} {
		if i := bytes.LastIndex(b, []byte(end)); i >= 0 {
			return i + len(end)
		}
	}
	return len(b)
}

// robotsTxt reads the sitemaps that a robots.txt names.
func (x *Extractor) robotsTxt(b []byte) {
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
