package fetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// Limits on one cookie, as RFC 6265bis has them.
const (
	maxCookie    = 4096 // bytes of name and value
	maxAttribute = 1024
	maxLifetime  = 400 * 24 * time.Hour
)

// cookie is one cookie of a Jar. Its JSON form is what Export writes.
type cookie struct {
	Name     string    `json:"name"`
	Value    string    `json:"value"`
	Domain   string    `json:"domain"`
	HostOnly bool      `json:"host_only,omitempty"`
	Path     string    `json:"path"`
	Secure   bool      `json:"secure,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // zero: with the job
	Created  time.Time `json:"created"`
	used     time.Time
	encoded  int // bytes that it takes in an export
}

func (c *cookie) expired(now time.Time) bool { return !c.Expires.IsZero() && !c.Expires.After(now) }

// exportedCookie is a cookie in an export.
type exportedCookie struct {
	cookie
	// Bytes are the name and the value of which one is no UTF-8, which JSON could not give back.
	Bytes [][]byte `json:"bytes,omitempty"`
}

// encode returns the cookie as it stands in an export, with one byte that parts it from the next.
func (c *cookie) encode() ([]byte, error) {
	as := exportedCookie{cookie: *c}
	if !utf8.ValidString(c.Name) || !utf8.ValidString(c.Value) {
		as.Bytes, as.Name, as.Value = [][]byte{[]byte(c.Name), []byte(c.Value)}, "", ""
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(as); err != nil {
		return nil, fmt.Errorf("encode cookie of %s: %w", c.Domain, err)
	}
	return out.Bytes(), nil
}

// decoded returns the cookie of an export.
func (as *exportedCookie) decoded() *cookie {
	c := as.cookie
	if len(as.Bytes) == 2 {
		c.Name, c.Value = string(as.Bytes[0]), string(as.Bytes[1])
	}
	return &c
}

// same tells whether b takes the place of c.
func (c *cookie) same(b *cookie) bool {
	return c.Name == b.Name && c.Domain == b.Domain && c.Path == b.Path
}

// sent tells whether the cookie goes to the target.
func (c *cookie) sent(t Target, host, path string) bool {
	return (!c.Secure || t.Scheme == "https") && (c.Domain == host || !c.HostOnly && within(host, c.Domain)) &&
		pathMatches(path, c.Path)
}

// within tells whether host is a subdomain of domain.
func within(host, domain string) bool {
	return len(host) > len(domain) && strings.HasSuffix(host, domain) && host[len(host)-len(domain)-1] == '.' &&
		!literal(host)
}

// literal tells whether a host is an address.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// pathMatches is RFC 6265's path-match.
func pathMatches(path, cookie string) bool {
	return strings.HasPrefix(path, cookie) && (len(path) == len(cookie) || strings.HasSuffix(cookie, "/") ||
		path[len(cookie)] == '/')
}

// defaultPath is the folder of a path.
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// parseCookie reads a Set-Cookie header that t sent, by RFC 6265, section 5.2. gone tells that the cookie is only to be
// removed.
func parseCookie(line string, t Target, now time.Time) (c cookie, gone, ok bool) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, found := strings.Cut(pair, "=")
	if !found {
		name, value = "", pair
	}
	host, path := cookieHost(t), pathOnly(t.Path)
	c = cookie{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Domain: host, HostOnly: true,
		Path: defaultPath(path), Created: now}
	if c.Name == "" && c.Value == "" || len(c.Name)+len(c.Value) > maxCookie || control(c.Name) || control(c.Value) ||
		len(host) > 255 || len(path) > maxAttribute {
		return cookie{}, false, false
	}
	aged, pathGiven := false, false
	for n := 0; attributes != "" && n < 32; n++ {
		var attribute string
		attribute, attributes, _ = strings.Cut(attributes, ";")
		key, v, _ := strings.Cut(attribute, "=")
		v = strings.TrimSpace(v)
		if len(v) > maxAttribute {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "domain":
			if v = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(v, "."), ".")); v != "" {
				c.Domain, c.HostOnly = v, false
			}
		case "path":
			if pathGiven = strings.HasPrefix(v, "/") && !control(v); pathGiven {
				c.Path = v
			}
		case "secure":
			c.Secure = true
		case "max-age":
			if seconds, is := age(v); is {
				aged = true
				c.Expires = now.Add(min(seconds, maxLifetime))
			}
		case "expires":
			if at, is := cookieTime(v); is && !aged {
				c.Expires = at
				if last := now.Add(maxLifetime); at.After(last) {
					c.Expires = last
				}
			}
		}
	}
	return c, c.expired(now), c.permitted(t, host, pathGiven)
}

// permitted judges whether the host may set the cookie.
func (c *cookie) permitted(t Target, host string, pathGiven bool) bool {
	if !c.HostOnly {
		if c.Domain != host && !within(host, c.Domain) {
			return false
		}
		if literal(host) {
			c.HostOnly = true
		} else if suffix, _ := publicsuffix.PublicSuffix(c.Domain); suffix == c.Domain {
			if c.Domain != host {
				return false // it would go to every site below
			}
			c.HostOnly = true
		}
	}
	if c.Secure && t.Scheme != "https" {
		return false
	}
	switch name := strings.ToLower(c.Name); {
	case strings.HasPrefix(name, "__secure-"):
		return c.Secure
	case strings.HasPrefix(name, "__host-"):
		return c.Secure && c.HostOnly && pathGiven && c.Path == "/"
	}
	return true
}

func cookieHost(t Target) string { return strings.ToLower(strings.TrimSuffix(t.Host, ".")) }

func pathOnly(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

func control(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f || s[i] == ';' {
			return true
		}
	}
	return false
}

// age reads Max-Age; an empty or negative value means that the cookie has expired.
func age(v string) (time.Duration, bool) {
	if rest, minus := strings.CutPrefix(v, "-"); minus {
		return -time.Second, digits(rest)
	}
	if !digits(v) {
		return 0, false
	}
	n := int64(0)
	for i := range len(v) {
		if n = n*10 + int64(v[i]-'0'); n > int64(maxLifetime/time.Second) {
			return maxLifetime, true
		}
	}
	return time.Duration(n) * time.Second, true
}

// cookieTime reads a date by RFC 6265, section 5.1.1: time, day, month and year, in whatever order and form.
func cookieTime(s string) (time.Time, bool) {
	hour, minute, second, day, month, year := -1, 0, 0, -1, -1, -1
	for _, word := range strings.FieldsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ':' || r > 0x7e)
	}) {
		n, length := leadingNumber(word)
		switch {
		case hour < 0 && strings.Count(word, ":") == 2:
			parts := strings.Split(word, ":")
			h, l1 := leadingNumber(parts[0])
			m, l2 := leadingNumber(parts[1])
			sec, l3 := leadingNumber(parts[2])
			if l1 > 0 && l1 < 3 && l2 > 0 && l2 < 3 && l3 > 0 && l3 < 3 {
				hour, minute, second = h, m, sec
			}
		case day < 0 && length > 0 && length <= 2:
			day = n
		case month < 0 && length == 0 && len(word) >= 3 && monthOf(word) >= 0:
			month = monthOf(word)
		case year < 0 && length >= 2 && length <= 4:
			year = n
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if hour < 0 || hour > 23 || minute > 59 || second > 59 || day < 1 || day > 31 || month < 0 || year < 1601 {
		return time.Time{}, false
	}
	at := time.Date(year, time.Month(month+1), day, hour, minute, second, 0, time.UTC)
	return at, at.Day() == day
}

func monthOf(word string) int {
	i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:3]))
	if i < 0 || i%3 != 0 {
		return -1
	}
	return i / 3
}

// leadingNumber reads the digits at the start of s and tells how many they are.
func leadingNumber(s string) (n, length int) {
	for length < len(s) && length < 9 && s[length] >= '0' && s[length] <= '9' {
		n = n*10 + int(s[length]-'0')
		length++
	}
	return n, length
}
