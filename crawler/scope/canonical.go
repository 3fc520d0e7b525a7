package scope

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/harvest"
)

// Canonicalizer writes URIs that mean the same page alike, by rules that are applied in order. The rules are
// Heritrix's, and do exactly what those do. It is safe for concurrent use.
type Canonicalizer struct {
	rules []func(string) string
}

type namedRule struct {
	name  string
	apply func(string) string
}

func canonicalRules() []namedRule {
	return []namedRule{
		{"lowercase", strings.ToLower},
		{"strip_userinfo", stripUserinfo},
		{"strip_www", func(u string) string { return stripWWW(u, false) }},
		{"strip_www_n", func(u string) string { return stripWWW(u, true) }},
		{"strip_session_ids", stripSessionIDs},
		{"strip_session_cfids", stripSessionCFIDs},
		{"fixup_query", fixupQuery},
		{"strip_extra_slashes", stripExtraSlashes},
	}
}

// NewCanonicalizer prepares rules by their names, or regex:EXPRESSION=>REPLACEMENT, where the expression has to match
// the whole URI and $1 stands for its first group. The error wraps harvest.ErrInvalid.
func NewCanonicalizer(names []string) (*Canonicalizer, error) {
	c := &Canonicalizer{}
	known := canonicalRules()
next:
	for i, name := range names {
		for _, k := range known {
			if k.name == name {
				c.rules = append(c.rules, k.apply)
				continue next
			}
		}
		expression, ok := strings.CutPrefix(name, "regex:")
		if !ok {
			all := make([]string, len(known))
			for j, k := range known {
				all[j] = k.name
			}
			return nil, fmt.Errorf("%w: canonicalization[%d]: given %s, allowed: %s or regex:EXPRESSION=>REPLACEMENT%s",
				harvest.ErrInvalid, i, strconv.Quote(name), strings.Join(all, ", "), harvest.DidYouMean(name,
					slices.Values(all)))
		}
		rule, err := regexRule(expression)
		if err != nil {
			return nil, fmt.Errorf("%w: canonicalization[%d]: given %s, allowed: regex:EXPRESSION=>REPLACEMENT (%w)",
				harvest.ErrInvalid, i, strconv.Quote(name), err)
		}
		c.rules = append(c.rules, rule)
	}
	return c, nil
}

// Canonical is the form of a URI by which it counts as seen. It shares the URI's memory where nothing has to change.
func (c *Canonicalizer) Canonical(url string) string {
	for _, rule := range c.rules {
		url = rule(url)
	}
	return url
}

// afterScheme is where the rest of a URI of one of these schemes begins, or -1; case does not count.
func afterScheme(url string, schemes ...string) int {
	for _, s := range schemes {
		if len(url) >= len(s)+3 && strings.EqualFold(url[:len(s)], s) && url[len(s):len(s)+3] == "://" {
			return len(s) + 3
		}
	}
	return -1
}

// stripUserinfo cuts off everything up to the last @ that no slash precedes.
func stripUserinfo(url string) string {
	at := afterScheme(url, "http", "https", "ftp", "ftps")
	if at < 0 {
		return url
	}
	end := strings.IndexByte(url[at:], '/')
	if end < 0 {
		end = len(url) - at
	}
	if i := strings.LastIndexByte(url[at:at+end], '@'); i > 0 {
		return url[:at] + url[at+i+1:]
	}
	return url
}

// stripWWW cuts off www., or wwwN., but not from the root page of a host, so that a site that has only one of the
// names is not missed.
func stripWWW(url string, numbered bool) string {
	at := afterScheme(url, "http", "https")
	if at < 0 || len(url) < at+4 || !strings.EqualFold(url[at:at+3], "www") {
		return url
	}
	i := at + 3
	for numbered && i < len(url) && url[i] >= '0' && url[i] <= '9' {
		i++
	}
	if i >= len(url) || url[i] != '.' {
		return url
	}
	i++
	if slash := strings.IndexByte(url[i:], '/'); slash < 0 || i+slash+1 >= len(url) {
		return url
	}
	return url[:at] + url[i:]
}

// stripSessionIDs cuts out the last jsessionid or phpsessid, then the last sid, each of 32 letters and digits, then the
// last ASP session id; each where it ends the URI or & follows, which goes with it.
func stripSessionIDs(url string) string {
	if strings.IndexByte(url, '=') < 0 {
		return url
	}
	url = stripToken(url, "jsessionid=", "phpsessid=")
	url = stripToken(url, "sid=")
	return stripASPSession(url)
}

// lastFold finds the last occurrence of an ASCII text that begins before end, whatever its case.
func lastFold(s, text string, end int) int {
	for i := min(end, len(s)-len(text)+1) - 1; i >= 0; i-- {
		if s[i]|0x20 == text[0] && strings.EqualFold(s[i:i+len(text)], text) {
			return i
		}
	}
	return -1
}

// cut takes url[from:to] out, with the & that follows.
func cut(url string, from, to int) string {
	if to < len(url) {
		to++
	}
	return url[:from] + url[to:]
}

func stripToken(url string, names ...string) string {
	last, end := 0, 0
	for _, name := range names {
		for i := lastFold(url, name, len(url)); i > last; i = lastFold(url, name, i) {
			if to := i + len(name) + 32; isToken(url, i+len(name), to, true) && (to == len(url) || url[to] == '&') {
				last, end = i, to
				break
			}
		}
	}
	if last == 0 {
		return url
	}
	return cut(url, last, end)
}

func isToken(s string, from, to int, digits bool) bool {
	if to > len(s) {
		return false
	}
	for _, c := range []byte(s[from:to]) {
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || digits && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

func stripASPSession(url string) string {
	const name = "aspsessionid"
	for i := lastFold(url, name, len(url)); i > 0; i = lastFold(url, name, i) {
		key := i + len(name)
		to := key + 8 + 1 + 24
		if to <= len(url) && url[key+8] == '=' && isToken(url, key, key+8, false) && isToken(url, key+9, to, false) &&
			(to == len(url) || url[to] == '&') {
			return cut(url, i, to)
		}
	}
	return url
}

// stripSessionCFIDs cuts out ColdFusion's cfid=…&cftoken=….
func stripSessionCFIDs(url string) string {
	for i := lastFold(url, "cfid=", len(url)); i > 0; i = lastFold(url, "cfid=", i) {
		id := i + len("cfid=")
		and := strings.IndexByte(url[id:], '&')
		if and < 1 || len(url) < id+and+1+len("cftoken=")+1 ||
			!strings.EqualFold(url[id+and+1:id+and+1+len("cftoken=")], "cftoken=") {
			continue
		}
		token := id + and + 1 + len("cftoken=")
		to := strings.IndexByte(url[token:], '&')
		if to == 0 {
			continue
		}
		if to < 0 {
			to = len(url) - token
		}
		return cut(url, i, token+to)
	}
	return url
}

// fixupQuery cuts off a ? that nothing follows, an & after the last ?, or else one at the end.
func fixupQuery(url string) string {
	i := strings.LastIndexByte(url, '?')
	switch {
	case i <= 0:
		return url
	case i == len(url)-1:
		return url[:i]
	case url[i+1] == '&' && len(url) == i+2:
		return url[:i]
	case url[i+1] == '&':
		return url[:i+1] + url[i+2:]
	case url[len(url)-1] == '&':
		return url[:len(url)-1]
	}
	return url
}

// stripExtraSlashes makes one slash of several in a row, in the query too.
func stripExtraSlashes(url string) string {
	var at int
	switch { // as Heritrix's rule, of small letters only
	case strings.HasPrefix(url, "http://"):
		at = len("http://")
	case strings.HasPrefix(url, "https://"):
		at = len("https://")
	default:
		return url
	}
	if !strings.Contains(url[at:], "//") {
		return url
	}
	b := make([]byte, 0, len(url))
	b = append(b, url[:at]...)
	for i := at; i < len(url); i++ {
		if url[i] == '/' && i > at && url[i-1] == '/' {
			continue
		}
		b = append(b, url[i])
	}
	return string(b)
}

// regexRule makes the rule of EXPRESSION=>REPLACEMENT.
func regexRule(text string) (func(string) string, error) {
	expression, format, ok := strings.Cut(text, "=>")
	if !ok || expression == "" {
		return nil, fmt.Errorf("=> is missing after the expression")
	}
	p, err := compilePattern(expression)
	if err != nil {
		return nil, err
	}
	template, err := javaTemplate(format, p.all)
	if err != nil {
		return nil, err
	}
	return func(url string) string {
		if p.literal != "" && !strings.Contains(url, p.literal) {
			return url
		}
		found := p.all.FindStringSubmatchIndex(url)
		if found == nil {
			return url
		}
		if out := p.all.ExpandString(nil, template, url, found); string(out) != url {
			return string(out)
		}
		return url
	}, nil
}

// javaTemplate turns a replacement as Java has it, $1 and \x for x itself, into one as Go has it.
func javaTemplate(format string, re *regexp.Regexp) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		switch c := format[i]; {
		case c == '\\' && i+1 < len(format):
			i++
			if format[i] == '$' {
				b.WriteByte('$')
			}
			b.WriteByte(format[i])
		case c == '$':
			n, digits := 0, 0
			for ; i+1 < len(format) && format[i+1] >= '0' && format[i+1] <= '9'; i++ {
				next := n*10 + int(format[i+1]-'0')
				if digits > 0 && next > re.NumSubexp() {
					break
				}
				n = next
				digits++
			}
			if digits == 0 || n > re.NumSubexp() {
				return "", fmt.Errorf("$ in the replacement stands for a group, $0 to $%d", re.NumSubexp())
			}
			fmt.Fprintf(&b, "${%d}", n)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
