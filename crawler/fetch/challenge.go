package fetch

import (
	"strings"
)

// Limits on challenges.
const (
	maxChallenges = 16
	maxChallenge  = 8 << 10
)

// Challenge is one way in which a server asks for a login.
type Challenge struct {
	Scheme string // "basic", "digest" or another, in lower case
	params []Field
}

// param is a parameter's value; names are compared without case.
func (c Challenge) param(name string) string {
	for _, p := range c.params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Realm is the part of the server that the challenge is for.
func (c Challenge) Realm() string { return c.param("realm") }

// Stale tells that only the nonce was too old.
func (c Challenge) Stale() bool { return strings.EqualFold(c.param("stale"), "true") }

// Challenges are those of a response 401, in the order of their fields.
func Challenges(h Head) []Challenge {
	var out []Challenge
	h.each("WWW-Authenticate", func(v string) {
		if len(v) <= maxChallenge && len(out) < maxChallenges {
			out = parseChallenges(out, v)
		}
	})
	return out
}

// parseChallenges appends the challenges of one field, by RFC 9110, section 11.6.1: a field may have several.
func parseChallenges(out []Challenge, v string) []Challenge {
	var now *Challenge
	for {
		v = strings.TrimLeft(v, " \t,")
		word := v[:tokenEnd(v)]
		if word == "" {
			return out // what cannot be read ends it
		}
		rest := v[len(word):]
		after := strings.TrimLeft(rest, " \t")
		if now != nil && strings.HasPrefix(after, "=") {
			value, next, ok := paramValue(strings.TrimLeft(after[1:], " \t"))
			if !ok {
				return out
			}
			now.params = append(now.params, Field{strings.ToLower(word), value})
			v = next
			continue
		}
		if len(out) == maxChallenges {
			return out
		}
		out = append(out, Challenge{Scheme: strings.ToLower(word)})
		now = &out[len(out)-1]
		v = rest
		// One word alone may follow the scheme, as Negotiate has it; it may end in equals signs.
		if end := token68End(after); end > 0 {
			if left := strings.TrimLeft(after[end:], " \t"); left == "" || left[0] == ',' {
				if inner := tokenEnd(after); end > inner || left == "" && !strings.Contains(after[:end], "=") &&
					len(rest) > len(after) {
					v = left
				}
			}
		}
	}
}

func tokenEnd(s string) int {
	for i := range len(s) {
		if !token(s[i : i+1]) {
			return i
		}
	}
	return len(s)
}

// token68End is the end of a token68: letters, digits, -._~+/ and equals signs at its end.
func token68End(s string) int {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' ||
		strings.IndexByte("-._~+/", s[i]) >= 0) {
		i++
	}
	for i > 0 && i < len(s) && s[i] == '=' {
		i++
	}
	return i
}

// paramValue reads a token or a quoted string.
func paramValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, " \t,")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
