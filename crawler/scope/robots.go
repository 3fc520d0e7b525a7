package scope

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits on a robots.txt (RFC 9309 asks for at least 500 KiB).
const (
	MaxRobots     = 512 << 10
	maxRules      = 20_000
	maxRuleLength = 4 << 10
)

// Robots is what a robots.txt says to us. The zero value allows everything.
type Robots struct {
	denyAll bool
	rules   []robotsRule
	delay   time.Duration
}

type robotsRule struct {
	pattern string
	allow   bool
}

// DenyAll is the rule of a site whose robots.txt cannot be had.
func DenyAll() *Robots { return &Robots{denyAll: true} }

// ParseRobots reads a robots.txt by RFC 9309 for the crawler of that product name: the rules of all groups that
// name it, or of all groups for "*" where none does. What is not understood is passed over.
func ParseRobots(body []byte, product string) *Robots {
	body = body[:min(len(body), MaxRobots)]
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	product = strings.ToLower(product)
	own, others := &Robots{}, &Robots{}
	named, forUs, forAll, inRules := false, false, false, true
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
		case "user-agent", "useragent", "user agent":
			if inRules {
				forUs, forAll, inRules = false, false, false
			}
			agent := strings.ToLower(productToken(value))
			forUs = forUs || agent == product
			forAll = forAll || strings.HasPrefix(strings.TrimSpace(value), "*")
			named = named || forUs
		case "allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "crawl-delay", "crawldelay":
			inRules = true
			if forUs {
				own.rule(key, value)
			}
			if forAll {
				others.rule(key, value)
			}
		}
	}
	if named {
		return own
	}
	return others
}

func robotsLine(line []byte) (key, value string, ok bool) {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	k, v, ok := strings.Cut(string(bytes.TrimSpace(line)), ":")
	if !ok {
		return "", "", false
	}
	return strings.ToLower(strings.TrimSpace(k)), strings.TrimSpace(v), true
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

func (r *Robots) rule(key, value string) {
	if strings.HasPrefix(key, "crawl") {
		seconds, err := strconv.ParseFloat(value, 64)
		if err == nil && seconds > 0 && !math.IsInf(seconds, 0) {
			r.delay = time.Duration(min(seconds, 1e6) * float64(time.Second))
		}
		return
	}
	if value == "" || len(value) > maxRuleLength || len(r.rules) >= maxRules {
		return
	}
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	for strings.Contains(value, "**") {
		value = strings.ReplaceAll(value, "**", "*")
	}
	r.rules = append(r.rules, robotsRule{pattern: canonicalPath(value), allow: key == "allow"})
}

// Delay is the Crawl-delay, 0 if there is none.
func (r *Robots) Delay() time.Duration { return r.delay }

// Allowed tells whether a path, with its query, may be fetched: the longest rule that matches decides, and
// of equals the one that allows.
func (r *Robots) Allowed(path string) bool {
	if strings.HasPrefix(path, "/robots.txt") && (len(path) == len("/robots.txt") || path[len("/robots.txt")] == '?') {
		return true
	}
	if r.denyAll {
		return false
	}
	if len(r.rules) == 0 {
		return true
	}
	path = canonicalPath(path)
	allowed, longest := true, -1
	for _, rule := range r.rules {
		if n := len(rule.pattern); (n > longest || n == longest && rule.allow) && matches(rule.pattern, path) {
			allowed, longest = rule.allow, n
		}
	}
	return allowed
}

// matches tells whether a pattern, in which * stands for any characters and a last $ for the end, matches the start of path.
// It takes time in proportion to both lengths multiplied at worst.
func matches(pattern, path string) bool {
	anchored := strings.HasSuffix(pattern, "$")
	if anchored {
		pattern = pattern[:len(pattern)-1]
	} else {
		pattern += "*"
	}
	p, s, star, mark := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			if p == len(pattern)-1 {
				return true
			}
			star, mark = p, s
			p++
		case p < len(pattern) && pattern[p] == path[s]:
			p++
			s++
		case star >= 0:
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// canonicalPath writes escapes one way: bytes beyond ASCII escaped, escaped letters, digits and -._~ plain, hex digits in capitals.
func canonicalPath(path string) string {
	plain := true
	for i := range len(path) {
		if path[i] == '%' || path[i] > 0x7e || path[i] <= ' ' {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path)+16)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			hi, lo := unhex(path[i+1]), unhex(path[i+2])
			if hi >= 0 && lo >= 0 {
				if d := byte(hi<<4 | lo); unreserved(d) {
					b = append(b, d)
				} else {
					b = append(b, '%', hex[hi], hex[lo])
				}
				i += 2
				continue
			}
		}
		if c > 0x7e || c <= ' ' {
			b = append(b, '%', hex[c>>4], hex[c&15])
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
