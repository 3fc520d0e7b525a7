package scope

import "strings"

// FNV-1a, 64 bit.
const (
	hashSeed  = 14695981039346656037
	hashPrime = 1099511628211
)

func hashText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return h
}

// patternHash stands for the form of a URI: its path with digits as one or, if the path is plain, its folder; and the
// names of its parameters in any order.
func patternHash(p *parts) uint64 {
	path, digits := p.path, false
	h := uint64(hashSeed)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= '0' && c <= '9' {
			digits = true
			if i > 0 && path[i-1] >= '0' && path[i-1] <= '9' {
				continue
			}
			c = '0'
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	if p.query == "" {
		if !digits {
			h = hashText(hashSeed^1, path[:strings.LastIndexByte(path, '/')+1])
		}
		return h
	}
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, _, _ := strings.Cut(pair, "=")
		h += hashText(hashSeed, name)
	}
	return h
}

func firstSegment(path string) uint64 {
	if len(path) < 2 {
		return 0
	}
	first, _, _ := strings.Cut(path[1:], "/")
	return hashText(hashSeed, first)
}

// queryHash stands for the parameters of a query in any order, and for their order; 0, 0 for a query of one.
func queryHash(p *parts) (set, order uint64) {
	if strings.IndexByte(p.query, '&') < 0 {
		return 0, 0
	}
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair != "" {
			h := hashText(hashSeed, pair)
			set += h * h
		}
	}
	return hashText(set, p.path), hashText(hashSeed, p.query)
}

// isSessionName tells the parameters that carry session ids.
func isSessionName(name string) bool {
	if len(name) > 20 {
		return len(name) == 20 && strings.EqualFold(name[:12], "aspsessionid")
	}
	var b [20]byte
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b[i] = c
	}
	switch string(b[:len(name)]) {
	case "jsessionid", "phpsessid", "phpsessionid", "sessionid", "session_id", "session-id", "session", "sessid",
		"sess", "sid", "oscsid", "zenid", "cfid", "cftoken", "s_id", "xtcsid", "mscsid", "bvsessionid":
		return true
	}
	return strings.HasPrefix(string(b[:len(name)]), "aspsessionid")
}

// isSessionValue tells a long run of letters and digits, digits among them.
func isSessionValue(v string) bool {
	digits := 0
	for i := range len(v) {
		switch c := v[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '-', c == '_', c == '.', c == '!':
		default:
			return false
		}
	}
	return len(v) >= 12 && digits >= 2
}

// sessionHash stands for a URI without its session ids, and for these; token is 0 if there are none.
func sessionHash(p *parts) (stripped, token uint64) {
	stripped, token = hashSeed^2, 0
	path := p.path
	if i := strings.IndexByte(path, ';'); i >= 0 {
		name, value, _ := strings.Cut(path[i+1:], "=")
		if value, _, _ = strings.Cut(value, "/"); isSessionName(name) && isSessionValue(value) {
			token = hashText(hashSeed, value)
			stripped = hashText(stripped, path[:i])
			path = path[i+len(";=")+len(name)+len(value):]
		}
	}
	if i := strings.Index(path, "/(S("); i >= 0 { // ASP.NET's
		if j := strings.Index(path[i:], "))/"); j >= 0 && isSessionValue(path[i+4:i+j]) {
			token = hashText(hashSeed, path[i+4:i+j])
			stripped = hashText(stripped, path[:i])
			path = path[i+j+2:]
		}
	}
	stripped = hashText(stripped, path)
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(pair, "=")
		if isSessionName(name) && isSessionValue(value) {
			token = hashText(token^hashSeed, value)
			continue
		}
		stripped = hashText(stripped, pair)
	}
	return stripped, token
}

// returning tells whether a path comes back to the same folder four times: a segment of three characters or more that
// is no number.
func returning(path string) bool {
	if strings.Count(path, "/") < 7 {
		return false
	}
	rest := path
	for n := 0; n < maxSegments; n++ {
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return false
		}
		segment, _, ok := strings.Cut(after, "/")
		if !ok {
			return false
		}
		rest = after
		if len(segment) >= 3 && !isNumber(segment) && occurrences(rest[len(segment):], segment) >= 3 {
			return true
		}
	}
	return false
}

// occurrences counts the whole segments, but the last of the path, that are equal to one, up to three.
func occurrences(rest, segment string) (n int) {
	for len(rest) > len(segment) && n < 3 {
		i := strings.Index(rest, segment)
		if i < 0 {
			return n
		}
		end := i + len(segment)
		if i > 0 && rest[i-1] == '/' && end < len(rest) && rest[end] == '/' {
			n++
		}
		rest = rest[end:]
	}
	return n
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// repeatedParameter tells whether a query has a parameter with the same value four times or more.
func repeatedParameter(query string) bool {
	if strings.Count(query, "&") < 3 {
		return false
	}
	looked := 0
	for rest := query; rest != "" && looked < 64; looked++ {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if eq := strings.IndexByte(pair, '='); eq < 1 || eq == len(pair)-1 {
			continue
		}
		n := 0
		for others := rest; others != "" && n < 3; {
			var other string
			if other, others, _ = strings.Cut(others, "&"); other == pair {
				n++
			}
		}
		if n >= 3 {
			return true
		}
	}
	return false
}
