package scope

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Limits on a robots.txt (RFC 9309 asks for at least 500 KiB).
const (
	MaxRobots = 512 << 10
	maxLine   = 16 << 10 // the rest of a line does not count
)

// Robots holds the rules of a robots.txt for this crawler. The zero value allows everything.
type Robots struct {
	denyAll bool
	rules   []robotsRule // longest first; of equals, those that allow come first
	delay   time.Duration
}

type robotsRule struct {
	pattern string
	allow   bool
}

// DenyAll is the rule of a site whose robots.txt could not be fetched.
func DenyAll() *Robots { return &Robots{denyAll: true} }

// ParseRobots reads a robots.txt by RFC 9309 for the crawler of that product name: the rules of all groups that name
// it, or of all groups for "*" if none does. Lines that it does not understand, and everything beyond MaxRobots, are
// ignored.
func ParseRobots(body []byte, product string) *Robots {
	return parseRobots(robotsText(body), strings.ToLower(product), false)
}

// parseOwnRobots reads a robots.txt given by an operator, whose rules need not be in a group.
func parseOwnRobots(text, product string) *Robots {
	return parseRobots([]byte(text), strings.ToLower(product), true)
}

// parsePaths makes of paths, as in a robots.txt, the Robots that allows all others.
func parsePaths(paths []string) *Robots {
	r := &Robots{}
	for _, p := range paths {
		r.rule(false, p)
	}
	r.order()
	return r
}

// robotsText is the text of a body in UTF-8: cut to size, without byte order mark.
func robotsText(body []byte) []byte {
	if len(body) >= MaxRobots { // it may go on: a line that is not whole says something else
		body = body[:MaxRobots]
		body = body[:max(bytes.LastIndexAny(body, "\r\n"), 0)]
	}
	little, big := bytes.HasPrefix(body, []byte{0xff, 0xfe}), bytes.HasPrefix(body, []byte{0xfe, 0xff})
	if !little && !big {
		return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	}
	units := make([]uint16, 0, len(body)/2)
	for i := 2; i+1 < len(body); i += 2 {
		unit := uint16(body[i])<<8 | uint16(body[i+1])
		if little {
			unit = unit>>8 | unit<<8
		}
		units = append(units, unit)
	}
	return []byte(string(utf16.Decode(units)))
}

// robotsGroup is the group that is being read.
type robotsGroup struct {
	ours, everyones bool // who the lines are for
	inRules         bool // the next user-agent line begins another group
}

func parseRobots(body []byte, product string, anyones bool) *Robots {
	own, others := &Robots{}, &Robots{}
	g := robotsGroup{inRules: true, everyones: anyones}
	named := false
	for len(body) > 0 {
		var line []byte
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			line, body = body, nil
		}
		key, value, ok := robotsLine(line)
		if !ok {
			continue
		}
		switch key {
		case "user-agent":
			if g.inRules {
				g = robotsGroup{}
			}
			g.ours = g.ours || strings.EqualFold(productToken(value), product)
			g.everyones = g.everyones || value == "*" || strings.HasPrefix(value, "* ") ||
				strings.HasPrefix(value, "*\t")
			named = named || g.ours
		case "allow", "disallow":
			g.inRules = true
			g.each(own, others, func(r *Robots) { r.rule(key == "allow", value) })
		case "crawl-delay": // obeyed as a rule of its group; Sitemap and Host stand outside of groups
			g.inRules = true
			g.each(own, others, func(r *Robots) { r.crawlDelay(value) })
		}
	}
	r := others
	if named {
		r = own
	}
	r.order()
	return r
}

func (g *robotsGroup) each(own, others *Robots, do func(*Robots)) {
	if g.ours {
		do(own)
	}
	if g.everyones {
		do(others)
	}
}

// robotsLine splits a line into its key (lower case, one of the known keys) and its value. The colon may be missing
// if there are two words.
func robotsLine(line []byte) (key, value string, ok bool) {
	line = line[:min(len(line), maxLine)]
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	text := strings.TrimSpace(string(line))
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
	}
	key, value, ok = strings.Cut(text, ":")
	if !ok {
		words := strings.Fields(text)
		if len(words) != 2 {
			return "", "", false
		}
		key, value = words[0], words[1]
	}
	key = strings.ToLower(strings.TrimSpace(key))
	switch key {
	case "user-agent", "useragent", "user agent":
		key = "user-agent"
	case "allow":
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		key = "disallow"
	case "crawl-delay", "crawldelay":
		key = "crawl-delay"
	default:
		return "", "", false
	}
	return key, strings.TrimSpace(value), true
}

// productToken is the letters, dashes and underscores that a user-agent line begins with.
func productToken(s string) string {
	for i := range len(s) {
		c := s[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_') {
			return s[:i]
		}
	}
	return s
}

func (r *Robots) crawlDelay(value string) {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && !math.IsInf(seconds, 0) {
		r.delay = time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
}

func (r *Robots) rule(allow bool, value string) {
	if value == "" {
		return
	}
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	for strings.Contains(value, "**") {
		value = strings.ReplaceAll(value, "**", "*")
	}
	r.rules = append(r.rules, robotsRule{pattern: canonicalPath(value, true), allow: allow})
}

func (r *Robots) order() {
	slices.SortStableFunc(r.rules, func(a, b robotsRule) int {
		if c := cmp.Compare(len(b.pattern), len(a.pattern)); c != 0 || a.allow == b.allow {
			return c
		}
		if a.allow {
			return -1
		}
		return 1
	})
}

// Delay returns the Crawl-delay, 0 if there is none.
func (r *Robots) Delay() time.Duration { return r.delay }

// Explain tells whether a path, with its query, may be fetched, and the line that says so, "" where none does: the
// longest rule that matches decides, and of equals the one that allows.
func (r *Robots) Explain(path string) (allowed bool, line string) {
	const robots = "/robots.txt"
	if strings.HasPrefix(path, robots) && (len(path) == len(robots) || path[len(robots)] == '?') {
		return true, ""
	}
	if r.denyAll {
		return false, "robots.txt could not be fetched"
	}
	rule := r.match(path)
	switch {
	case rule == nil:
		return true, ""
	case rule.allow:
		return true, "Allow: " + rule.pattern
	}
	return false, "Disallow: " + rule.pattern
}

func (r *Robots) match(path string) *robotsRule {
	if len(r.rules) == 0 {
		return nil
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	path = canonicalPath(path, false)
	for i := range r.rules {
		if robotsMatch(r.rules[i].pattern, path) {
			return &r.rules[i]
		}
	}
	return nil
}

// robotsMatch reports whether a pattern, in which * stands for any characters and a last $ for the end, matches the
// start of path. Its time grows with the sum of both lengths.
func robotsMatch(pattern, path string) bool {
	if rest, ok := strings.CutSuffix(pattern, "$"); ok {
		return glob(rest, path)
	}
	for {
		piece, rest, more := strings.Cut(pattern, "*")
		if !more {
			return strings.HasPrefix(path, piece)
		}
		if !strings.HasPrefix(path, piece) {
			return false
		}
		path, pattern = path[len(piece):], rest
		next, _, _ := strings.Cut(rest, "*")
		i := strings.Index(path, next)
		if i < 0 {
			return false
		}
		path = path[i:]
	}
}
