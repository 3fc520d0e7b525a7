package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"container/list"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Limits of a Jar.
const (
	maxPerDomain    = 150     // cookies of one registered domain
	maxPerResponse  = 50      // Set-Cookie fields that are looked at
	maxCookieHeader = 8 << 10 // bytes of one Cookie header
	defaultCookies  = 30_000
	meanCookie      = 512 // bytes in an export: the size of all cookies together is bounded too
	jarVersion      = 1

	endOfYear9999 = 253_402_300_799 // seconds: JSON has no later time
)

// Jar keeps the cookies of one job by RFC 6265. It holds a bounded number; the domains that were not asked for
// longest make room. It is safe for concurrent use.
type Jar struct {
	mu      sync.Mutex
	max     int
	count   int
	bytes   int
	hidden  bool
	domains map[string]*list.Element // by registered domain, of *cookieDomain
	recent  *list.List               // the most recently used first
	changes uint64
}

type cookieDomain struct {
	name    string
	cookies []*cookie
}

// NewJar makes an empty jar for at most max cookies; 0 means 30 000.
func NewJar(max int) *Jar {
	if max <= 0 {
		max = defaultCookies
	}
	return &Jar{max: max, domains: map[string]*list.Element{}, recent: list.New()}
}

// registered is the key under which the cookies of a host are kept.
func registered(host string) string {
	if literal(host) {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// Cookie is the Cookie header for a request; "" for none.
func (j *Jar) Cookie(t Target, now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.count == 0 {
		return ""
	}
	host, path := cookieHost(t), pathOnly(t.Path)
	at := j.domains[registered(host)]
	if at == nil {
		return ""
	}
	j.recent.MoveToFront(at)
	var send []*cookie
	for _, c := range at.Value.(*cookieDomain).cookies {
		if !c.expired(now) && c.sent(t, host, path) {
			c.used = now
			send = append(send, c)
		}
	}
	slices.SortStableFunc(send, func(a, b *cookie) int {
		return cmp.Or(cmp.Compare(len(b.Path), len(a.Path)), a.Created.Compare(b.Created))
	})
	var b strings.Builder
	for _, c := range send {
		if b.Len()+len(c.Name)+len(c.Value)+3 > maxCookieHeader {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if c.Name != "" {
			b.WriteString(c.Name)
			b.WriteByte('=')
		}
		b.WriteString(c.Value)
	}
	return b.String()
}

// Store stores the cookies that a response of t sets.
func (j *Jar) Store(t Target, h Head, now time.Time) {
	n := 0
	h.each("Set-Cookie", func(line string) {
		if n++; n > maxPerResponse {
			return
		}
		if c, gone, ok := parseCookie(line, t, now); ok {
			j.put(&c, gone, t.Scheme == "https", now)
		}
	})
}

// put sets a cookie, or removes it. A cookie from an insecure site does not replace one for secure sites.
func (j *Jar) put(c *cookie, gone, secure bool, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := registered(c.Domain)
	at := j.domains[key]
	if at == nil {
		if gone {
			return
		}
		at = j.recent.PushFront(&cookieDomain{name: key})
		j.domains[key] = at
	}
	d := at.Value.(*cookieDomain)
	if !secure && slices.ContainsFunc(d.cookies, func(old *cookie) bool {
		return old.Secure && old.Name == c.Name && (old.Domain == c.Domain || within(old.Domain, c.Domain) ||
			within(c.Domain, old.Domain))
	}) {
		return
	}
	j.changes++
	c.used = now
	i := slices.IndexFunc(d.cookies, c.same)
	if i >= 0 {
		c.Created = d.cookies[i].Created
	}
	data, err := c.encode()
	gone = gone || err != nil
	c.encoded = len(data)
	switch {
	case i >= 0 && gone:
		j.remove(d, i)
	case i >= 0:
		j.bytes += c.encoded - d.cookies[i].encoded
		d.cookies[i] = c
	case !gone:
		if len(d.cookies) >= maxPerDomain {
			j.remove(d, worst(d.cookies, now))
		}
		d.cookies = append(d.cookies, c)
		j.count++
		j.bytes += c.encoded
	}
	if len(d.cookies) == 0 {
		j.recent.Remove(at)
		delete(j.domains, key)
	}
	for (j.count > j.max || j.bytes > j.max*meanCookie) && j.recent.Len() > 0 {
		j.forget(j.recent.Back())
	}
}

func (j *Jar) remove(d *cookieDomain, i int) {
	j.count--
	j.bytes -= d.cookies[i].encoded
	d.cookies = slices.Delete(d.cookies, i, i+1)
}

func (j *Jar) forget(at *list.Element) {
	d := j.recent.Remove(at).(*cookieDomain)
	for _, c := range d.cookies {
		j.count--
		j.bytes -= c.encoded
	}
	delete(j.domains, d.name)
}

// worst is the cookie to go first: one that expired, else the one not used longest.
func worst(cookies []*cookie, now time.Time) int {
	at := 0
	for i, c := range cookies {
		if c.expired(now) {
			return i
		}
		if c.used.Before(cookies[at].used) {
			at = i
		}
	}
	return at
}

// Len is the number of cookies.
func (j *Jar) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count
}

// Changes counts the cookies that were set and removed. As long as it is the same, so is an Export, except for
// cookies that expired.
func (j *Jar) Changes() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changes
}

// Hide says that the cookies let one in somewhere: their values are for no record from now on, whatever the settings
// become.
func (j *Jar) Hide() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.hidden {
		j.hidden = true
		j.changes++
	}
}

// Hidden reports whether the cookies let one in somewhere.
func (j *Jar) Hidden() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hidden
}

// exported is the form of Export.
type exported struct {
	Version int              `json:"version"`
	Hidden  bool             `json:"hidden,omitempty"`
	Cookies []exportedCookie `json:"cookies"` // the domain not used longest first
}

// exportFrame is more than an export has beside its cookies, in bytes.
const exportFrame = 100

// MaxExport returns the bytes that an export has at most.
func (j *Jar) MaxExport() int { return j.max*meanCookie + exportFrame }

// Export returns all cookies, for Import.
func (j *Jar) Export() ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := bytes.NewBuffer(make([]byte, 0, j.bytes+exportFrame))
	fmt.Fprintf(out, `{"version":%d,"hidden":%t,"cookies":[`, jarVersion, j.hidden)
	for at, between := j.recent.Back(), ""; at != nil; at = at.Prev() {
		for _, c := range at.Value.(*cookieDomain).cookies {
			data, err := c.encode()
			if err != nil {
				return nil, fmt.Errorf("export cookies: %w", err)
			}
			out.WriteString(between)
			out.Write(data[:len(data)-1]) // without the line's end
			between = ","
		}
	}
	out.WriteString("]}")
	return out.Bytes(), nil
}

// Import adds the cookies that Export wrote and that have not expired.
func (j *Jar) Import(data []byte, now time.Time) error {
	var in exported
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("import cookies: %w", err)
	}
	if in.Version != jarVersion {
		return fmt.Errorf("import cookies: unknown version %d", in.Version)
	}
	if in.Hidden {
		j.Hide()
	}
	for i := range in.Cookies {
		if c := in.Cookies[i].decoded(); c.acceptable() && !c.expired(now) {
			j.put(c, false, true, now)
		}
	}
	return nil
}

// acceptable judges a cookie that no server sent.
func (c *cookie) acceptable() bool {
	return c.Name+c.Value != "" && len(c.Name)+len(c.Value) <= maxCookie && !control(c.Name) && !control(c.Value) &&
		c.Domain != "" && len(c.Domain) <= 255 &&
		strings.HasPrefix(c.Path, "/") && len(c.Path) <= maxAttribute && !control(c.Path)
}

// ImportText adds the cookies of a cookies.txt, Netscape's format, and tells how many it took.
func (j *Jar) ImportText(data []byte, now time.Time) (int, error) {
	sc := bufio.NewScanner(bytes.NewReader(data))
	taken := 0
	for number := 1; sc.Scan(); number++ {
		line := strings.TrimPrefix(sc.Text(), "#HttpOnly_")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		words := strings.Split(strings.TrimRight(line, "\r"), "\t")
		if len(words) != 7 {
			return taken, fmt.Errorf("cookies.txt: line %d: want 7 columns, found %d", number, len(words))
		}
		expires, err := strconv.ParseFloat(words[4], 64)
		if err != nil {
			return taken, fmt.Errorf("cookies.txt: line %d: column 5 is not a time of expiry in seconds", number)
		}
		domain := strings.ToLower(strings.TrimPrefix(words[0], "."))
		c := &cookie{Domain: domain, HostOnly: !strings.EqualFold(words[1], "TRUE"), Path: words[2],
			Secure: strings.EqualFold(words[3], "TRUE"), Name: words[5], Value: words[6], Created: now}
		if expires > 0 {
			c.Expires = time.Unix(int64(min(expires, endOfYear9999)), 0).UTC()
		}
		if c.acceptable() && !c.expired(now) {
			j.put(c, false, true, now)
			taken++
		}
	}
	if err := sc.Err(); err != nil {
		return taken, fmt.Errorf("cookies.txt: %w", err)
	}
	return taken, nil
}
