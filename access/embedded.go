package access

import (
	"strings"

	"holdfast/cdx"
)

// foreign reports whether a key is that of a URI without a host, such as urn:text:http://example.org/, the text of a
// page that a crawl recorded beside it. A host's colon has a port behind it: localhost:8080)/.
func foreign(key string) bool {
	i := strings.IndexAny(key, ":),")
	if i <= 0 || key[i] != ':' {
		return false
	}
	behind := strings.TrimLeft(key[i+1:], "0123456789")
	return len(behind) == len(key)-i-1 || !strings.HasPrefix(behind, ")")
}

// embedded returns the key of what such a record is about: the page of a picture or text, the host of an address. What
// closes that closes the record. A page's address may have others in it: the first one counts.
func embedded(key string) (string, bool) {
	if !foreign(key) {
		return "", false
	}
	if host, ok := strings.CutPrefix(key, "dns:"); ok {
		inner, err := cdx.Key("http://" + host + "/")
		return inner, err == nil
	}
	for from := 0; ; {
		n := strings.Index(key[from:], "://")
		if n < 0 {
			return "", false
		}
		at := from + n
		scheme := strings.TrimRight(key[:at], "abcdefghijklmnopqrstuvwxyz0123456789+-.")
		if len(scheme) > 0 && len(scheme) < at {
			inner, err := cdx.Key(key[len(scheme):])
			return inner, err == nil
		}
		from = at + len("://")
	}
}

// decideForeign decides about a record by what it is about, and by the rules that name its own key.
func (s *Sight) decideForeign(key, inner, timestamp string) Verdict {
	v := s.decide(s.policy.find(inner), inner, timestamp)
	at := s.policy.find(key)
	if at < 0 || s.policy.places[at].prefix == "" {
		return v
	}
	if own := s.decide(at, key, timestamp); strictness(own.Access) > strictness(v.Access) {
		return own
	}
	return v
}
