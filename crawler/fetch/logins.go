package fetch

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/harvest"
)

// Limits on what Logins remembers.
const (
	maxLoginServers = 10_000
	maxRealms       = 16
)

// Logins answers challenges with a job's credentials, and remembers which server asked for what, so that later
// requests carry the login from the start. It is safe for concurrent use.
type Logins struct {
	mu      sync.Mutex
	creds   []harvest.Credential
	others  func(host string) []harvest.Credential
	servers map[[2]string][]*realm // by scheme and authority
}

// realm is a part of a server that asked for a login.
type realm struct {
	cred   harvest.Credential
	ch     Challenge
	prefix string // of the paths it is sent for
	count  int    // uses of the nonce
	last   string // the header sent last
	misses int    // how often it was answered with 401 since it was last accepted
	failed bool   // the login is not accepted
}

// maxMisses is how often in a row a server may want another answer, as its nonces age.
const maxMisses = 3

// NewLogins takes the setting credentials, and where others are found, unless that is nil.
func NewLogins(creds []harvest.Credential, others func(host string) []harvest.Credential) *Logins {
	if others == nil {
		others = func(string) []harvest.Credential { return nil }
	}
	return &Logins{creds: slices.Clone(creds), others: others, servers: map[[2]string][]*realm{}}
}

// covering yields the credentials for a host. The caller holds mu.
func (l *Logins) covering(host string) iter.Seq[harvest.Credential] {
	return func(yield func(harvest.Credential) bool) {
		for _, list := range [2][]harvest.Credential{l.creds, l.others(host)} {
			for _, c := range list {
				if covers(c.Domain, host) && !yield(c) {
					return
				}
			}
		}
	}
}

// Set changes the credentials; what was learnt with other credentials is forgotten.
func (l *Logins) Set(creds []harvest.Credential) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.creds = slices.Clone(creds)
	clear(l.servers)
}

// Authorization is the header that a request is to carry at once; "" for none.
func (l *Logins) Authorization(t Target, method string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.servers) == 0 {
		return ""
	}
	var best *realm
	for _, r := range l.servers[[2]string{t.Scheme, t.Authority}] {
		if !r.failed && strings.HasPrefix(pathOnly(t.Path), r.prefix) &&
			(best == nil || len(r.prefix) > len(best.prefix)) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	best.count++
	header, err := Authorization(best.cred, best.ch, cmp.Or(method, "GET"), t.Path, best.count)
	if err != nil {
		return ""
	}
	best.last = header
	return header
}

// Challenged looks at the response to a request that carried the header sent, and reports whether to ask again and
// with which Authorization: if the response is 401, and there is a credential for it that was not refused before.
// Call it for each 401, and for each response to a request that carried a header.
func (l *Logins) Challenged(t Target, h Head, sent string) bool {
	if h.Status != 401 {
		l.letIn(t, sent)
		return false
	}
	challenges := Challenges(h)
	slices.SortStableFunc(challenges, func(a, b Challenge) int { return cmp.Compare(b.strength(), a.strength()) })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ch := range challenges {
		for cred := range l.covering(t.Host) {
			if _, err := Authorization(cred, ch, "GET", t.Path, 1); err != nil {
				continue
			}
			if l.enter(t, cred, ch, sent) {
				return true
			}
		}
	}
	return false
}

// letIn notes that a header was good.
func (l *Logins) letIn(t Target, sent string) {
	if sent == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.servers[[2]string{t.Scheme, t.Authority}] {
		if r.last == sent {
			r.misses = 0
		}
	}
}

// strength orders challenges: the strongest digest first, passwords in the clear last.
func (c Challenge) strength() int {
	if c.Scheme != "digest" {
		return 0
	}
	_, _, rank := digestHash(c.param("algorithm"))
	return rank
}

// enter remembers a challenge, and tells whether it is worth an answer.
func (l *Logins) enter(t Target, cred harvest.Credential, ch Challenge, sent string) bool {
	key := [2]string{t.Scheme, t.Authority}
	prefix := pathOnly(t.Path)
	prefix = prefix[:strings.LastIndexByte(prefix, '/')+1]
	if ch.Scheme == "digest" {
		prefix = "/" // RFC 7616: without a domain parameter, the whole server
	}
	list := l.servers[key]
	for _, r := range list {
		if r.ch.Realm() != ch.Realm() || r.ch.Scheme != ch.Scheme || r.cred.User != cred.User ||
			r.cred.Domain != cred.Domain {
			continue
		}
		if sent != "" && ch.Scheme == schemeOf(sent) {
			r.misses++
			fresh := r.ch.param("nonce") == ch.param("nonce") || r.last == sent && r.count <= 1
			r.failed = r.failed || ch.Scheme == "basic" || !ch.Stale() && fresh || r.misses > maxMisses
		}
		if r.failed {
			return false
		}
		if ch.Scheme == "digest" && r.ch.param("nonce") != ch.param("nonce") {
			r.ch, r.count = ch, 0
		}
		r.prefix = commonPrefix(r.prefix, prefix)
		return true
	}
	if len(list) >= maxRealms {
		return false
	}
	for old := range maps.Keys(l.servers) {
		if len(l.servers) < maxLoginServers {
			break
		}
		delete(l.servers, old)
	}
	l.servers[key] = append(list, &realm{cred: cred, ch: ch, prefix: prefix})
	return true
}

func schemeOf(header string) string {
	scheme, _, _ := strings.Cut(header, " ")
	return strings.ToLower(scheme)
}

// commonPrefix is the folder that holds both.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:strings.LastIndexByte(a[:n], '/')+1]
}

// covers tells whether a credential's domain is the host, or above it.
func covers(domain, host string) bool {
	domain, host = strings.ToLower(strings.Trim(domain, ".")), strings.ToLower(strings.TrimSuffix(host, "."))
	return domain != "" && (domain == host || within(host, domain))
}

// Forms are the form logins to be sent before anything else of a host is fetched.
func (l *Logins) Forms(host string) []harvest.Credential {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []harvest.Credential
	for c := range l.covering(host) {
		if c.Kind == "form" {
			out = append(out, c)
		}
	}
	return out
}

// FormRequest is the request of a form login: its target, method and form. What is recorded of it has no values.
func FormRequest(cred harvest.Credential) (Request, error) {
	t, err := ParseTarget(cred.URL)
	if err != nil {
		return Request{}, fmt.Errorf("form login of %s: %w", cred.Domain, err)
	}
	r := Request{Target: t, Method: cmp.Or(cred.Method, "POST")}
	for _, name := range slices.Sorted(maps.Keys(cred.Fields)) {
		r.Form = append(r.Form, Field{name, cred.Fields[name]})
	}
	return r, nil
}
