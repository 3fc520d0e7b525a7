package extract

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode/utf8"
)

// headers extracts the links of the HTTP headers, and their directives for robots.
func (x *collector) headers(doc *Document) {
	if doc.Location != "" {
		x.add(asSent(doc.Location), Redirect, location)
	}
	if doc.Refresh != "" {
		x.refresh(asSent(doc.Refresh), "Refresh:")
	}
	if doc.ContentLocation != "" {
		x.add(asSent(doc.ContentLocation), Inferred, inferredURL)
	}
	for _, v := range doc.Link {
		x.linkHeader(asSent(v))
	}
	for _, v := range doc.RobotsTag {
		x.robotsTag(v, doc.Robot)
	}
}

// asSent returns a header's value with URLs in it. If it is not UTF-8, its bytes beyond ASCII are kept: a browser
// requests these bytes.
func asSent(v string) []byte {
	if utf8.ValidString(v) {
		return []byte(v)
	}
	var out []byte
	for i := range len(v) {
		if v[i] < utf8.RuneSelf {
			out = append(out, v[i])
		} else {
			out = fmt.Appendf(out, "%%%02X", v[i])
		}
	}
	return out
}

// linkHeader reads `<next.html>; rel=next, <s.css>; rel="preload stylesheet"` (RFC 8288).
func (x *collector) linkHeader(v []byte) {
	for {
		open := bytes.IndexByte(v, '<')
		if open < 0 {
			return
		}
		length := bytes.IndexByte(v[open:], '>')
		if length < 0 {
			return
		}
		ref := v[open+1 : open+length]
		v = v[open+length+1:]
		var rel []byte
		rel, v = linkParameters(v)
		if hop, _ := relation(rel); hop != 0 {
			x.add(ref, hop, "Link:")
		}
	}
}

// linkParameters reads `; name=value` as often as it comes, and returns the value of rel and what follows.
func linkParameters(v []byte) (rel, rest []byte) {
	for {
		v = trim(v)
		if len(v) == 0 || v[0] != ';' {
			return rel, v
		}
		v = trim(v[1:])
		i := bytes.IndexAny(v, "=;,")
		if i < 0 {
			return rel, nil
		}
		name := trim(v[:i])
		v = v[i:]
		if v[0] != '=' {
			continue
		}
		v = trim(v[1:])
		var value []byte
		if len(v) > 0 && v[0] == '"' {
			end := bytes.IndexByte(v[1:], '"')
			if end < 0 {
				return rel, nil
			}
			value, v = v[1:end+1], v[end+2:]
		} else {
			end := bytes.IndexAny(v, ";,")
			if end < 0 {
				end = len(v)
			}
			value, v = v[:end], v[end:]
		}
		if rel == nil && len(name) == 3 && hasPrefixFold(name, "rel") {
			rel = value
		}
	}
}

// refresh reads "5; url=next.html".
func (x *collector) refresh(v []byte, context string) {
	v = trim(v)
	i := 0
	for i < len(v) && (v[i] >= '0' && v[i] <= '9' || v[i] == '.') {
		i++
	}
	if i == 0 {
		return
	}
	rest := trim(v[i:])
	if len(rest) == 0 || rest[0] != ';' && rest[0] != ',' {
		return
	}
	rest = trim(rest[1:])
	if hasPrefixFold(rest, "url") {
		if after := trim(rest[3:]); len(after) > 0 && after[0] == '=' {
			rest = trim(after[1:])
		}
	}
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		q := rest[0]
		rest = rest[1:]
		if j := bytes.IndexByte(rest, q); j >= 0 {
			rest = rest[:j]
		}
	}
	x.add(rest, Redirect, context)
	if late(v) {
		if at, there := x.refs[maphash.Bytes(x.seed, trim(rest))]; there && at >= 0 && x.links[at].Context == context {
			x.links[at].Late = true
		}
	}
}

// soon is the longest delay of a Refresh, in seconds, that only leads on.
const soon = 10

// late reports whether the delay that a Refresh begins with leaves time to read the page.
func late(v []byte) bool {
	n := 0
	for _, c := range v {
		if !isDigit(c) {
			break
		}
		if n = 10*n + int(c-'0'); n > soon {
			return true
		}
	}
	return false
}

// Robots is a set of the directives below, which a document gives to robots.
type Robots uint8

// Directives of a meta robots element or an X-Robots-Tag header. "none" is NoIndex and NoFollow.
const (
	NoIndex Robots = 1 << iota
	NoFollow
	NoArchive
	NoImageIndex
	NoSnippet
)

var directives = [...]struct {
	word string
	set  Robots
}{{"noindex", NoIndex}, {"nofollow", NoFollow}, {"none", NoIndex | NoFollow}, {"noarchive", NoArchive},
	{"noimageindex", NoImageIndex}, {"nosnippet", NoSnippet}}

// String names the directives, with commas between them.
func (r Robots) String() string {
	var words []string
	for _, d := range directives {
		if d.word != "none" && r&d.set != 0 {
			words = append(words, d.word)
		}
	}
	return strings.Join(words, ",")
}

// robotsTag reads an X-Robots-Tag header: directives with commas between them. What follows a name is for that robot
// alone, until the next name.
func (x *collector) robotsTag(v, robot string) {
	ours := true
	for part := range strings.SplitSeq(v, ",") {
		if name, rest, named := strings.Cut(part, ":"); named && namesRobot(strings.TrimSpace(name)) {
			ours, part = isRobot(strings.TrimSpace(name), robot), rest
		}
		if ours {
			x.robots([]byte(part))
		}
	}
}

// namesRobot tells the name of a robot from that of a directive with a value, and from a piece of a time.
func namesRobot(name string) bool {
	switch strings.ToLower(name) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return false
	}
	return !strings.ContainsAny(name, " \t")
}

// isRobot reports whether directives for the robot of that name concern this crawl.
func isRobot(name, robot string) bool { return robot != "" && strings.EqualFold(name, robot) }

// robots reads directives with commas between them.
func (x *collector) robots(v []byte) {
	for word := range bytes.SplitSeq(v, []byte{','}) {
		word = trim(word)
		for _, d := range directives {
			if len(word) == len(d.word) && hasPrefixFold(word, d.word) {
				x.result.Robots |= d.set
			}
		}
	}
}
