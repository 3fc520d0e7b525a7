package harvest

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Validate reports whether the settings are valid; the error names the setting, the given value and the allowed
// values. The crawl engine checks rules and expressions further.
func (s Settings) Validate() error {
	if err := s.inLimits(); err != nil {
		return err
	}
	for _, p := range s.SURTPrefixes {
		if len(p) < 2 || (p[0] != '+' && p[0] != '-') {
			return invalid("surt_prefixes", strconv.Quote(p), "+ or - and a SURT prefix, as +http://(org,example,")
		}
	}
	for _, t := range s.Traps {
		if _, err := regexp.Compile(t); err != nil {
			return invalid("traps", strconv.Quote(t), "a regular expression ("+err.Error()+")")
		}
	}
	if err := s.validateText(); err != nil {
		return err
	}
	if err := s.RetrySettings.validate(); err != nil {
		return err
	}
	if _, err := NewWindows(s.Windows); err != nil {
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
	if err := s.whole(); err != nil {
		return err
	}
	for _, c := range s.Credentials {
		if err := c.validate(); err != nil {
			return err
		}
	}
	for i := range s.Sheets {
		if err := s.Sheets[i].validate(s); err != nil {
			return err
		}
	}
	return s.validateRoutes()
}

// inLimits holds numbers and words against the reference.
func (s Settings) inLimits() error {
	for _, d := range described {
		if err := d.check(d.field(&s)); err != nil {
			return err
		}
	}
	return nil
}

// check holds a value against the limits of its setting.
func (r Setting) check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); !(f >= float64(r.Min) && f <= float64(r.Max)) {
			return invalid(r.Name, fmt.Sprint(f), fmt.Sprintf("%d to %d", r.Min, r.Max))
		}
	case reflect.Int, reflect.Int64:
		n := v.Int()
		if n >= r.Min && n <= r.Max {
			return nil
		}
		if v.Type() == reflect.TypeFor[Duration]() {
			return invalid(r.Name, Duration(n).String(), Duration(r.Min).String()+" to "+Duration(r.Max).String())
		}
		return invalid(r.Name, strconv.FormatInt(n, 10), fmt.Sprintf("%d to %d", r.Min, r.Max))
	case reflect.String:
		if len(r.Allowed) > 0 && !slices.Contains(r.Allowed, v.String()) {
			return invalid(r.Name, strconv.Quote(v.String()), words(r.Allowed))
		}
	case reflect.Slice:
		if len(r.Allowed) == 0 {
			return nil
		}
		for i := range v.Len() {
			if !slices.Contains(r.Allowed, v.Index(i).String()) {
				return invalid(r.Name, strconv.Quote(v.Index(i).String()), words(r.Allowed))
			}
		}
	}
	return nil
}

func words(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// maxQueueName bounds the length of a queue's name, which is stored with each URI in it.
const maxQueueName = 250

func (s Settings) validateText() error {
	if s.UserAgent == "" || !printable(s.UserAgent) {
		return invalid("user_agent", strconv.Quote(s.UserAgent), "printable ASCII text")
	}
	if productEnd(s.RobotsName) < len(s.RobotsName) {
		return invalid("robots_name", strconv.Quote(s.RobotsName),
			"letters, dashes and underscores, as RFC 9309 has it")
	}
	if !printable(s.QueueName) || len(s.QueueName) > maxQueueName {
		return invalid("queue_name", strconv.Quote(s.QueueName),
			"printable ASCII text of at most "+strconv.Itoa(maxQueueName)+" letters")
	}
	if !printable(s.Operator) {
		return invalid("operator", strconv.Quote(s.Operator), "printable ASCII text")
	}
	for _, h := range s.Headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") || !printable(h) || strings.TrimSpace(value) == "" {
			if secretHeader(name) || secretValue(strings.TrimSpace(value)) {
				h = name + ": " + Redaction
			}
			return invalid("headers", strconv.Quote(h), `a header, as "Accept-Language: da"`)
		}
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

func (c Credential) validate() error {
	switch {
	case c.Domain == "":
		return invalid("credentials", "no domain", "a host or domain")
	case strings.Contains(c.Domain, "@"):
		return invalid("credentials", "a domain with @", "a host or domain; user and password are given apart")
	case strings.ContainsAny(c.Domain, "/ \t\r\n") || strings.Count(c.Domain, ":") == 1: // more colons are IPv6's
		return invalid("credentials", strconv.Quote(c.Domain), "a host or domain, without scheme, port or path")
	case c.Kind != "basic" && c.Kind != "digest" && c.Kind != "form":
		return invalid("credentials", strconv.Quote(c.Kind), "kind basic, digest or form")
	case c.Kind == "form" && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return invalid("credentials", strconv.Quote(shownLogin(c.URL)), "the form's http(s) URL")
	case c.Kind == "form" && c.Method != "" && c.Method != "GET" && c.Method != "POST":
		return invalid("credentials", strconv.Quote(c.Method), "method GET or POST")
	case c.Kind != "form" && (c.User == "" || strings.ContainsAny(c.User, ":\r\n")):
		return invalid("credentials", strconv.Quote(c.User), "a user name without a colon")
	}
	return nil
}

func (s Settings) validateRoutes() error {
	for _, r := range s.Proxies {
		scheme, rest, ok := strings.Cut(r.Via, "://")
		if r.Via != "direct" && (!ok || scheme != "http" && scheme != "socks5" || !strings.Contains(rest, ":")) ||
			len(r.Hosts) == 0 {
			return invalid("proxies", strconv.Quote(shownLogin(r.Via)),
				`hosts, and via http://host:port, socks5://host:port or direct`)
		}
	}
	for _, r := range s.SourceAddresses {
		if _, err := netip.ParseAddr(r.Via); err != nil || len(r.Hosts) == 0 {
			return invalid("source_addresses", strconv.Quote(r.Via), "hosts, and via an IP address of this machine")
		}
	}
	return nil
}
