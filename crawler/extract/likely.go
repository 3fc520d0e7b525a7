package extract

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Lengths of strings that may be URLs.
const (
	minLikely  = 3
	maxLikely  = 2048
	maxSegment = 128
)

// Classes of characters in strings that may be URLs.
const (
	lNever   = iota // in no URL, or a sign that the string is a part of a program
	lWord           // in every part
	lPath           // in a path, but it does not make one
	lDot            // . and /
	lQuery          // in a query only
	lForeign        // beyond ASCII
)

var likelyClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case isLetter(byte(c)), isDigit(byte(c)), c == '_', c == '-':
			t[c] = lWord
		case c == '.', c == '/':
			t[c] = lDot
		case bytes.IndexByte([]byte("%~+@!,"), byte(c)) >= 0:
			t[c] = lPath
		case bytes.IndexByte([]byte("?#=&;:()'*"), byte(c)) >= 0:
			t[c] = lQuery
		case c >= utf8.RuneSelf:
			t[c] = lForeign
		}
	}
	return t
}()

// likelyURL reports whether a string that need not be a URL very likely is one: an absolute http(s) URL, one without
// its scheme, a path from the root, or a relative path to a file of a kind found on the web. It rejects what programs
// are full of: media types, parts to be joined, patterns, dates, routes with parameters.
func likelyURL(c []byte) bool {
	if len(c) < minLikely || len(c) > maxLikely {
		return false
	}
	dot, spaces := false, false
	for _, b := range c {
		switch likelyClass[b] {
		case lNever:
			if b != ' ' {
				return false
			}
			spaces = true
		case lDot:
			dot = true
		}
	}
	if !dot || spaces && !spacedDocument(c) {
		return false
	}
	switch {
	case isHTTP(c):
		return likelyAuthority(c[bytes.IndexByte(c, '/')+2:], false)
	case c[0] == '/' && c[1] == '/':
		return likelyAuthority(c[2:], true)
	}
	return likelyPath(c)
}

// namedByPeople are the files whose names people make, with spaces.
var namedByPeople = []string{".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".odp", ".rtf",
	".csv", ".epub", ".zip", ".jpg", ".jpeg", ".png", ".mp3", ".mp4"}

// spacedDocument reports whether a text with spaces is the path of a document from the root, from a folder, or with a
// host: prose ends otherwise.
func spacedDocument(c []byte) bool {
	if c[0] != '/' && !bytes.HasPrefix(c, []byte("./")) && !bytes.HasPrefix(c, []byte("../")) && !isHTTP(c) ||
		bytes.Contains(c, []byte("  ")) || bytes.Contains(c, []byte(". ")) || bytes.Contains(c, []byte(" /")) ||
		bytes.Contains(c, []byte("/ ")) {
		return false
	}
	name := c[bytes.LastIndexByte(c, '/')+1:]
	i := bytes.LastIndexByte(name, '.')
	return i > 0 && slices.ContainsFunc(namedByPeople, func(e string) bool {
		return len(name)-i == len(e) &&
			hasPrefixFold(name[i:], e)
	})
}

// isHTTP reports whether a reference begins with http:// or https://.
func isHTTP(c []byte) bool {
	return len(c) > 7 && c[0]|0x20 == 'h' && (hasPrefixFold(c, "http://") || hasPrefixFold(c, "https://"))
}

// likelyAuthority looks at an absolute URL without its scheme.
func likelyAuthority(c []byte, strict bool) bool {
	end := bytes.IndexAny(c, "/?#")
	if end < 0 {
		end = len(c)
	}
	host := c[:end]
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		for _, d := range host[i+1:] {
			if !isDigit(d) {
				return false
			}
		}
		if host = host[:i]; !strict && bytes.Equal(host, []byte("localhost")) {
			return true
		}
	}
	if len(host) < 4 || host[0] == '.' || host[len(host)-1] == '.' || bytes.IndexByte(host, '.') < 0 {
		return false
	}
	for _, b := range host {
		if k := likelyClass[b]; k != lWord && k != lForeign && b != '.' {
			return false
		}
	}
	return !joined(c[end:])
}

// likelyPath looks at a relative reference.
func likelyPath(c []byte) bool {
	path, query := c, []byte(nil)
	if i := bytes.IndexAny(c, "?#"); i >= 0 {
		path, query = c[:i], c[i:]
	}
	if len(path) < 2 || len(query) == 1 || joined(c) || bytes.Contains(path, []byte("//")) {
		return false
	}
	words, segment := 0, 0
	for _, b := range path {
		switch likelyClass[b] {
		case lQuery:
			return false
		case lWord, lForeign:
			words++
			segment++
		case lNever: // a space
			segment++
		case lDot:
			if b == '/' {
				segment = 0
			}
		}
		if segment > maxSegment {
			return false // not a name: data
		}
	}
	if words < 2 || bytes.Contains(path, []byte("...")) {
		return false
	}
	switch {
	case path[0] == '/', bytes.HasPrefix(path, []byte("./")), bytes.HasPrefix(path, []byte("../")):
		return !bytes.HasPrefix(path, []byte("/9j/")) && (isLetter(path[1]) || isDigit(path[1]) || path[1] == '_' ||
			path[1] == '.' || path[1] == '/' ||
			path[1] == '%' || path[1] == '~' || path[1] == '@' || path[1] >= utf8.RuneSelf)
	case likelyClass[path[0]] != lWord && path[0] != '~' && path[0] != '%' && path[0] < utf8.RuneSelf:
		return false
	case len(query) > 0 && query[0] == '?' && bytes.IndexByte(query, '=') > 1 && bytes.IndexByte(path, '/') > 0:
		return true
	}
	return fileExtension(path)
}

// joined reports whether a string looks like one that a program puts together with others.
func joined(c []byte) bool {
	if len(c) == 0 {
		return false
	}
	switch c[len(c)-1] {
	case '.', ',', ';', '+', ':', '=', '&', '?', '%', '(', '-', '_', '@':
		return true
	}
	return c[0] == ',' || c[0] == ';' || c[0] == '+' || c[0] == ':'
}

// webExtensions are the files that scripts name by relative paths.
var webExtensions = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range bytes.Fields([]byte(`
		html htm xhtml shtml phtml php php3 php4 php5 asp aspx ashx asmx jsp jspx do action cgi pl cfm css scss
		js mjs cjs json jsonp json5 geojson topojson webmanifest xml rss atom rdf xsl xslt dtd svg svgz wasm
		map png gif jpg jpeg jpe jfif webp avif bmp ico cur tif tiff apng heic mp3 mp4 m4a m4v m4s webm ogg oga
		ogv opus wav flac aac avi mov mpg mpeg flv f4v 3gp m3u8 mpd ts vtt srt swf mid midi woff woff2 ttf otf
		eot pdf ps doc docx xls xlsx ppt pptx odt ods odp rtf txt csv tsv md epub zip gz tgz rar 7z tar jar
		class exe dmg apk ics vcf kml kmz gpx glb gltf obj`)) {
		m[string(e)] = true
	}
	return m
}()

// fileExtension reports whether a relative path ends in the name of a file of the web.
func fileExtension(path []byte) bool {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	i := bytes.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i > 12 {
		return false
	}
	var lower [12]byte
	for j, c := range name[i+1:] {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[j] = c
	}
	if !webExtensions[string(lower[:len(name)-i-1])] {
		return false
	}
	// With nothing else before it, it may as well be an object and its property, or a title.
	return len(name) < len(path) || !propertyLike[string(lower[:len(name)-i-1])]
}

// propertyLike are extensions that are names of properties and methods, too.
var propertyLike = map[string]bool{"do": true, "action": true, "map": true, "class": true, "ts": true, "md": true,
	"pl": true, "ps": true, "obj": true, "exe": true, "txt": true}

// fixUp repairs a string that is almost a URL: with escaped ampersands, with an escaped scheme, or beginning with
// "www.". Otherwise it returns c.
func fixUp(c []byte) []byte {
	if bytes.Contains(c, []byte("&amp;")) {
		c = bytes.ReplaceAll(c, []byte("&amp;"), []byte("&"))
	}
	if len(c) < 8 {
		return c
	}
	if c[0]|0x20 == 'h' && (hasPrefixFold(c, "http%3a") || hasPrefixFold(c, "https%3a")) {
		return unpercent(c)
	}
	if c[0]|0x20 == 'w' && hasPrefixFold(c, "www.") {
		if host, _, _ := bytes.Cut(c, []byte{'/'}); bytes.Count(host, []byte{'.'}) >= 2 {
			return append([]byte("//"), c...)
		}
	}
	return c
}

// unpercent decodes %XX; what is not hex stays.
func unpercent(c []byte) []byte {
	if bytes.IndexByte(c, '%') < 0 {
		return c
	}
	out := make([]byte, 0, len(c))
	for i := 0; i < len(c); i++ {
		if c[i] == '%' && i+2 < len(c) && hexDigit(c[i+1]) >= 0 && hexDigit(c[i+2]) >= 0 {
			out = append(out, byte(hexDigit(c[i+1])<<4|hexDigit(c[i+2])))
			i += 2
			continue
		}
		out = append(out, c[i])
	}
	return out
}

// templateSafe reports whether a reference in a template is one as it stands, with nothing to be filled in.
func templateSafe(ref []byte) bool {
	return !bytes.ContainsAny(ref, "{}<>$[]|`") && !bytes.Contains(ref, []byte("%=")) &&
		!bytes.HasPrefix(ref, []byte("%"))
}
