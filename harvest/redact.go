package harvest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Redaction stands where a secret was.
const Redaction = "[redacted]"

// Redacted returns the settings without what lets one in somewhere: passwords, cookies, what forms send, passwords in the addresses
// of proxies and login pages, headers that carry a login; in sheets, too. It shares nothing that it changed with s. For documents, logs and
// pages; a crawl cannot be run with it.
func (s Settings) Redacted() Settings {
	s.Credentials = slices.Clone(s.Credentials)
	for i := range s.Credentials {
		s.Credentials[i] = s.Credentials[i].redacted()
	}
	s.Proxies = redactedRoutes(s.Proxies)
	s.Headers = redactedHeaders(s.Headers)
	if s.FirstCookies != "" {
		s.FirstCookies = Redaction
	}
	s.Sheets = slices.Clone(s.Sheets)
	for i, sheet := range s.Sheets {
		settings := make(map[string]json.RawMessage, len(sheet.Settings))
		for name, raw := range sheet.Settings {
			settings[name] = redactedSetting(name, raw)
		}
		if sheet.Settings != nil {
			s.Sheets[i].Settings = settings
		}
	}
	return s
}

func (c Credential) redacted() Credential {
	if c.Password != "" {
		c.Password = Redaction
	}
	c.URL = withoutPassword(c.URL)
	if len(c.Fields) > 0 {
		fields := make(map[string]string, len(c.Fields))
		for name := range c.Fields {
			fields[name] = Redaction
		}
		c.Fields = fields
	}
	return c
}

func redactedRoutes(routes []Route) []Route {
	routes = slices.Clone(routes)
	for i := range routes {
		routes[i].Via = withoutPassword(routes[i].Via)
	}
	return routes
}

// withoutPassword is a URL whose user part, where it has one, is redacted.
func withoutPassword(url string) string {
	start := strings.Index(url, "://")
	if start < 0 {
		start = 0
	} else {
		start += len("://")
	}
	end := len(url)
	if i := strings.IndexAny(url[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(url[start:end], '@'); i >= 0 {
		return url[:start] + Redaction + url[start+i:]
	}
	return url
}

// redactedHeaders redacts the values of headers whose names say that they carry a login.
func redactedHeaders(headers []string) []string {
	secret := []string{"authorization", "-auth-", "cookie", "token", "secret", "password", "-key-", "apikey", "credential", "session"}
	headers = slices.Clone(headers)
	for i, h := range headers {
		name, _, _ := strings.Cut(h, ":")
		lower := "-" + strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-") + "-"
		if slices.ContainsFunc(secret, func(word string) bool { return strings.Contains(lower, word) }) {
			headers[i] = name + ": " + Redaction
		}
	}
	return headers
}

// redactedSetting redacts a sheet's setting. What cannot be read is redacted whole.
func redactedSetting(name string, raw json.RawMessage) json.RawMessage {
	var part Settings
	switch name {
	case "headers", "credentials", "proxies":
	default:
		return raw
	}
	data, err := json.Marshal(map[string]json.RawMessage{name: raw})
	if err == nil {
		err = json.Unmarshal(data, &part)
	}
	if err != nil {
		return json.RawMessage(`"` + Redaction + `"`)
	}
	var value any
	switch part = part.Redacted(); name {
	case "headers":
		value = part.Headers
	case "credentials":
		value = part.Credentials
	default:
		value = part.Proxies
	}
	if data, err = json.Marshal(value); err != nil {
		return json.RawMessage(`"` + Redaction + `"`)
	}
	return data
}

// whole refuses settings from which secrets were left out: what stands in their place is none.
func (s Settings) whole() error {
	left := func(where string) error {
		return invalid(where, strconv.Quote(Redaction), "the value itself, which was left out where these settings were shown")
	}
	for _, h := range s.Headers {
		if name, value, _ := strings.Cut(h, ":"); strings.TrimSpace(value) == Redaction {
			return left("headers: " + name)
		}
	}
	if s.FirstCookies == Redaction {
		return left("first_cookies")
	}
	for _, c := range s.Credentials {
		switch {
		case c.Password == Redaction:
			return left("credentials: " + c.Domain + ": password")
		case strings.Contains(c.URL, Redaction+"@"):
			return left("credentials: " + c.Domain + ": url")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
			if c.Fields[name] == Redaction {
				return left("credentials: " + c.Domain + ": fields: " + name)
			}
		}
	}
	for _, r := range s.Proxies {
		if strings.Contains(r.Via, Redaction+"@") {
			return left("proxies: " + strings.Join(r.Hosts, " ") + ": via")
		}
	}
	return nil
}
