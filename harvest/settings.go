package harvest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// ScopeMode says which URIs, seen from the seeds, belong to a crawl.
type ScopeMode string

// The scopes, narrowest first.
const (
	ScopePath   ScopeMode = "path"   // below the folder of a seed's path, on its host and port
	ScopeHost   ScopeMode = "host"   // on a seed's host and port
	ScopeDomain ScopeMode = "domain" // on the registered domain of a seed, any subdomain
	ScopeAny    ScopeMode = "any"    // everywhere
)

// RobotsPolicy says what robots.txt means to a crawl.
type RobotsPolicy string

// The robots policies.
const (
	RobotsObey   RobotsPolicy = "obey"   // fetch, record and obey
	RobotsIgnore RobotsPolicy = "ignore" // do not fetch, do not obey
)

// Product is the name robots.txt knows this crawler by.
const Product = "holdfast"

// Settings say how a job is crawled. The JSON names are stable.
// DefaultSettings holds the defaults named here; the zero value is not valid.
type Settings struct {
	// Scope is which URIs belong to the crawl. Default host.
	Scope ScopeMode `json:"scope"`
	// SURTPrefixes widen or narrow the scope: "+http://(org,example," accepts, "-http://(org,example,)/private" rejects;
	// the last that matches wins over Scope. Default none.
	SURTPrefixes []string `json:"surt_prefixes,omitempty"`
	// MaxHops is the number of links followed from a seed, embeds and redirects not counted. Default 20.
	MaxHops int `json:"max_hops"`
	// MaxTransHops is how many embeds and redirects in a row are followed out of the scope. Default 2.
	MaxTransHops int `json:"max_trans_hops"`

	// DelayFactor times the duration of a fetch is the pause before the next from the same host. Default 5.
	DelayFactor float64 `json:"delay_factor"`
	// MinDelay is the least such pause. Default 3s.
	MinDelay Duration `json:"min_delay"`
	// MaxDelay is the longest such pause. Default 30s.
	MaxDelay Duration `json:"max_delay"`
	// MaxCrawlDelay is the longest Crawl-delay of a robots.txt that is respected in full. Default 5m.
	MaxCrawlDelay Duration `json:"max_crawl_delay"`
	// Workers is how many URIs are worked on at once. Default 25.
	Workers int `json:"workers"`

	// Robots is what robots.txt means. Default obey.
	Robots RobotsPolicy `json:"robots"`
	// AllowPrivate lets the crawl reach private, loopback and link-local addresses. Default false.
	AllowPrivate bool `json:"allow_private"`
	// Nameserver is asked for names instead of the machine's own name servers: an address and a port, as 192.0.2.1:53. Default none.
	Nameserver string `json:"nameserver,omitempty"`
	// UserAgent is sent with every request; {contact} stands for OperatorContact.
	// Default "Mozilla/5.0 (compatible; holdfast/1.0; +{contact})".
	UserAgent string `json:"user_agent"`
	// OperatorContact is an http(s) URL or e-mail address for site owners. Default none: only loopback is crawled.
	OperatorContact string `json:"operator_contact"`

	// MaxObjects ends the crawl after so many documents; 0 is no limit. Default 0.
	MaxObjects int64 `json:"max_objects"`
	// MaxBytes ends the crawl after so many bytes received; 0 is no limit. Default 0.
	MaxBytes int64 `json:"max_bytes"`
	// MaxTime ends the crawl after so long, pauses not counted; 0 is no limit. Default 0.
	MaxTime Duration `json:"max_time"`
	// MaxDocumentBytes is where a single response is cut off; 0 is no limit. Default 1 000 000 000.
	MaxDocumentBytes int64 `json:"max_document_bytes"`
	// FetchTimeout is where a single fetch is cut off. Default 20m.
	FetchTimeout Duration `json:"fetch_timeout"`
	// IdleTimeout is how long a server may take to connect, or say nothing. Default 20s.
	IdleTimeout Duration `json:"idle_timeout"`
	// MaxRetries is how often a failed fetch is tried again. Default 30.
	MaxRetries int `json:"max_retries"`
	// RetryDelay is the pause before that. Default 15m.
	RetryDelay Duration `json:"retry_delay"`

	// WARCBytes is the size at which a WARC file is finished and the next begun. Default 1 000 000 000.
	WARCBytes int64 `json:"warc_bytes"`
	// WARCLevel is the gzip level of WARC records, 1 (fast) to 9 (small). Default 2: a crawl's
	// whole CPU time is a quarter less than at level 6, its files are a tenth larger.
	WARCLevel int `json:"warc_level"`
}

// DefaultSettings are the settings of a crawl for which nothing was said.
func DefaultSettings() Settings {
	return Settings{
		Scope: ScopeHost, MaxHops: 20, MaxTransHops: 2,
		DelayFactor: 5, MinDelay: Duration(3 * time.Second), MaxDelay: Duration(30 * time.Second),
		MaxCrawlDelay: Duration(5 * time.Minute), Workers: 25,
		Robots: RobotsObey, UserAgent: "Mozilla/5.0 (compatible; holdfast/1.0; +{contact})",
		MaxDocumentBytes: 1_000_000_000, FetchTimeout: Duration(20 * time.Minute), IdleTimeout: Duration(20 * time.Second),
		MaxRetries: 30, RetryDelay: Duration(15 * time.Minute),
		WARCBytes: 1_000_000_000, WARCLevel: 2,
	}
}

// ParseSettings reads settings from JSON: what is not given has its default, an unknown key is
// refused with the nearest known one.
func ParseSettings(data []byte) (Settings, error) {
	s := DefaultSettings()
	if err := s.UnmarshalJSON(data); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// UnmarshalJSON reads the keys that are given and leaves the other settings as they are.
func (s *Settings) UnmarshalJSON(data []byte) error {
	type plain Settings
	p := plain(*s)
	if err := decodeStrict(data, "settings", &p); err != nil {
		return err
	}
	*s = Settings(p)
	return nil
}

// Agent is the User-Agent header's value.
func (s Settings) Agent() string {
	contact := s.OperatorContact
	if contact == "" {
		contact = "local-test"
	}
	return strings.ReplaceAll(s.UserAgent, "{contact}", contact)
}

// From is the From header's value: the contact where that is an e-mail address, else "".
func (s Settings) From() string {
	if strings.Contains(s.OperatorContact, "@") && !strings.Contains(s.OperatorContact, "://") {
		return s.OperatorContact
	}
	return ""
}

// Validate tells whether the settings can be used; the error names the setting, what was given and what is allowed.
func (s Settings) Validate() error {
	switch s.Scope {
	case ScopePath, ScopeHost, ScopeDomain, ScopeAny:
	default:
		return invalid("scope", strconv.Quote(string(s.Scope)), "path, host, domain or any")
	}
	if s.Robots != RobotsObey && s.Robots != RobotsIgnore {
		return invalid("robots", strconv.Quote(string(s.Robots)), "obey or ignore")
	}
	for _, p := range s.SURTPrefixes {
		if len(p) < 2 || (p[0] != '+' && p[0] != '-') {
			return invalid("surt_prefixes", strconv.Quote(p), "+ or - and a SURT prefix, as +http://(org,example,")
		}
	}
	if err := s.validateText(); err != nil {
		return err
	}
	if s.Nameserver != "" {
		if at, err := netip.ParseAddrPort(s.Nameserver); err != nil || at.Port() == 0 {
			return invalid("nameserver", strconv.Quote(s.Nameserver), "an address and a port, as 192.0.2.1:53")
		}
	}
	if s.MinDelay > s.MaxDelay {
		return invalid("min_delay", s.MinDelay.String(), "at most max_delay ("+s.MaxDelay.String()+")")
	}
	return s.validateNumbers()
}

func (s Settings) validateNumbers() error {
	if !(s.DelayFactor >= 0 && s.DelayFactor <= 1000) {
		return invalid("delay_factor", fmt.Sprint(s.DelayFactor), "0 to 1000")
	}
	const day, huge = int64(24 * time.Hour), int64(1) << 60
	for _, r := range []struct {
		name          string
		value, lo, hi int64
		isTime        bool
	}{
		{"max_hops", int64(s.MaxHops), 0, 10_000, false},
		{"max_trans_hops", int64(s.MaxTransHops), 0, 1000, false},
		{"min_delay", int64(s.MinDelay), 0, day, true},
		{"max_delay", int64(s.MaxDelay), 0, day, true},
		{"max_crawl_delay", int64(s.MaxCrawlDelay), 0, day, true},
		{"workers", int64(s.Workers), 1, 10_000, false},
		{"max_objects", s.MaxObjects, 0, huge, false},
		{"max_bytes", s.MaxBytes, 0, huge, false},
		{"max_time", int64(s.MaxTime), 0, 3650 * day, true},
		{"max_document_bytes", s.MaxDocumentBytes, 0, huge, false},
		{"fetch_timeout", int64(s.FetchTimeout), int64(time.Millisecond), 30 * day, true},
		{"idle_timeout", int64(s.IdleTimeout), int64(time.Millisecond), day, true},
		{"max_retries", int64(s.MaxRetries), 0, 10_000, false},
		{"retry_delay", int64(s.RetryDelay), 0, 30 * day, true},
		{"warc_bytes", s.WARCBytes, 1 << 10, huge, false},
		{"warc_level", int64(s.WARCLevel), 1, 9, false},
	} {
		if r.value >= r.lo && r.value <= r.hi {
			continue
		}
		if r.isTime {
			return invalid(r.name, Duration(r.value).String(), Duration(r.lo).String()+" to "+Duration(r.hi).String())
		}
		return invalid(r.name, strconv.FormatInt(r.value, 10), fmt.Sprintf("%d to %d", r.lo, r.hi))
	}
	return nil
}

func (s Settings) validateText() error {
	if s.UserAgent == "" || !printable(s.UserAgent) {
		return invalid("user_agent", strconv.Quote(s.UserAgent), "printable ASCII text")
	}
	c := s.OperatorContact
	if c == "" {
		return nil
	}
	isURL := strings.HasPrefix(c, "http://") || strings.HasPrefix(c, "https://")
	at := strings.IndexByte(c, '@')
	isMail := at > 0 && at < len(c)-1 && !strings.Contains(c, "://")
	if !printable(c) || strings.Contains(c, " ") || !(isURL || isMail) {
		return invalid("operator_contact", strconv.Quote(c), "an http(s) URL or an e-mail address")
	}
	return nil
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
