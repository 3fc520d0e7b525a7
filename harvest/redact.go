package harvest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Redaction replaces a secret.
const Redaction = "[redacted]"

// Redacted returns the settings without what lets one in somewhere: what Part takes out of them. It shares nothing that
// it changed with s. For documents, logs and pages; a crawl cannot be run with it.
func (s Settings) Redacted() Settings {
	out, err := s.eachSecret(redact)
	if err != nil { // settings of a sheet that cannot be written as JSON: show none
		return Settings{}
	}
	return out
}

func redact(string, string) (string, error) { return Redaction, nil }

// redactedSetting redacts a sheet's setting. What cannot be read is redacted whole.
func redactedSetting(name string, raw json.RawMessage) json.RawMessage {
	out, err := eachInSheet(name, name, raw, redact)
	if err != nil {
		return json.RawMessage(`"` + Redaction + `"`)
	}
	return out
}

// whole refuses settings in which secrets are redacted: the redaction is not a value.
func (s Settings) whole() error {
	for _, h := range s.Headers {
		if name, value, _ := strings.Cut(h, ":"); standsIn(strings.TrimSpace(value)) {
			return left("headers: " + name)
		}
	}
	if standsIn(s.FirstCookies) {
		return left("first_cookies")
	}
	if err := wholeLogins(s.Credentials); err != nil {
		return err
	}
	for _, r := range s.Proxies {
		if loginStandsIn(r.Via) {
			return left("proxies: " + strings.Join(r.Hosts, " ") + ": via")
		}
	}
	return nil
}

// left refuses a redacted value.
func left(where string) error {
	return invalid(where, strconv.Quote(Redaction),
		"the value itself, which was left out where these settings were shown")
}

// wholeLogins refuses logins in which secrets are redacted.
func wholeLogins(all []Credential) error {
	for _, c := range all {
		switch {
		case standsIn(c.Password):
			return left("credentials: " + c.Domain + ": password")
		case loginStandsIn(c.URL):
			return left("credentials: " + c.Domain + ": url")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
			if standsIn(c.Fields[name]) {
				return left("credentials: " + c.Domain + ": fields: " + name)
			}
		}
	}
	return nil
}

// loginStandsIn reports whether a URL's user part replaces a secret.
func loginStandsIn(url string) (found bool) {
	_, _ = eachLogin(url, "", func(_, login string) (string, error) { // it returns no error of its own
		found = standsIn(login)
		return login, nil
	})
	return found
}
