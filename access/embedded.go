package access

import (
	"strings"

	"holdfast/cdx"
)

// foreign reports whether a key is that of a URI without a host, such as urn:text:http://example.org/, the text of a
// page that a crawl recorded beside it.
func foreign(key string) bool {
	i := strings.IndexAny(key, ":),")
	return i > 0 && key[i] == ':' && (i+1 == len(key) || key[i+1] < '0' || key[i+1] > '9')
}

// embedded returns the key of what such a record is about: the page of a picture or text, the host of an address. What
// closes that closes the record.
func embedded(key string) (string, bool) {
	if !foreign(key) {
		return "", false
	}
	if host, ok := strings.CutPrefix(key, "dns:"); ok {
		inner, err := cdx.Key("http://" + host + "/")
		return inner, err == nil
	}
	for _, scheme := range []string{"http://", "https://"} {
		if i := strings.Index(key, scheme); i > 0 {
			inner, err := cdx.Key(key[i:])
			return inner, err == nil
		}
	}
	return "", false
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
