package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sealedMark begins the text that replaces a secret in settings: the mark, the secret's name, and a bracket.
const sealedMark = "[sealed "

// Secrets are the secrets of a job by the names under which its settings refer to them.
type Secrets map[string]string

// ErrNoSecret reports settings that refer to a secret that is not there.
var ErrNoSecret = errors.New("a secret of the job is missing")

// Part returns the job with a reference in the place of each secret, and the secrets. The job that is returned can be
// stored and shown; Join puts the secrets back. A job without secrets is returned as it is, with no secrets.
func (j Job) Part() (Job, Secrets, error) {
	secrets := Secrets{}
	parted, err := j.eachSecret(secrets.take)
	if err != nil {
		return Job{}, nil, err
	}
	return parted, secrets, nil
}

// SecretOf is the name of a secret with the id of what it is sealed in. A text that was put together from several
// others, such as a template and what is laid over it, refers to secrets by such names: see ReferTo.
func SecretOf(sealed, name string) string { return sealed + ":" + name }

// referTo returns what replaces references by references to the same secrets by their full names.
func referTo(sealed string) func(name, value string) (string, error) {
	return func(_, value string) (string, error) {
		if name, there := reference(value); there && sealed != "" {
			return sealedMark + SecretOf(sealed, name) + "]", nil
		}
		return value, nil
	}
}

// ReferTo returns the settings with each reference to a secret naming what it is sealed in, too. The settings are those
// of one template or of one configuration; what is sealed is the same for all of them.
func (s Settings) ReferTo(sealed string) (Settings, error) { return s.eachSecret(referTo(sealed)) }

// ReferTo returns the new values with each reference to a secret naming what it is sealed in, too.
func (p Patch) ReferTo(sealed string) (Patch, error) {
	laid, out := Settings{}, maps.Clone(p)
	if err := laid.Lay(p); err != nil {
		return nil, err
	}
	laid, err := laid.ReferTo(sealed)
	if err != nil {
		return nil, err
	}
	changed := map[string]any{"credentials": laid.Credentials, "proxies": laid.Proxies, "headers": laid.Headers,
		"first_cookies": laid.FirstCookies, "sheets": laid.Sheets}
	for name := range out {
		value, may := changed[name]
		if !may || string(out[name]) == "null" {
			continue
		}
		if out[name], err = plainJSON(value); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
	}
	return out, nil
}

// take keeps a secret and returns the reference that takes its place.
func (s Secrets) take(name, value string) (string, error) {
	if standsIn(value) {
		return value, nil
	}
	s[name] = value
	return sealedMark + name + "]", nil
}

// eachSecret returns the job with each secret replaced, in its settings and in the logins of its domains.
func (j Job) eachSecret(replace func(name, value string) (string, error)) (_ Job, err error) {
	if j.Settings, err = j.Settings.eachSecret(replace); err == nil {
		j.Domains, err = j.Domains.eachSecret(replace)
	}
	return j, err
}

// Join returns the job with its secrets where its settings refer to them. ErrNoSecret: one that it refers to is not
// among them.
func (j Job) Join(secrets Secrets) (Job, error) {
	joined, err := j.eachSecret(func(_, value string) (string, error) {
		name, there := reference(value)
		if !there {
			return value, nil
		}
		secret, there := secrets[name]
		if !there {
			return "", fmt.Errorf("%w: %s", ErrNoSecret, name)
		}
		return secret, nil
	})
	if err != nil {
		return Job{}, err
	}
	return joined, nil
}

// Sealed names the secrets that were separated from the job, by their place in its settings, with the site of a
// login.
func (j Job) Sealed() (names []string) {
	_, _ = j.eachSecret(func(_, value string) (string, error) { // it returns no error of its own
		name, there := reference(value)
		if !there {
			return value, nil
		}
		if in, rest, cut := strings.Cut(name, ":"); cut && !strings.Contains(in, ".") { // as SecretOf has made it
			name = rest
		}
		if i, err := strconv.Atoi(part(name, 1)); err == nil && part(name, 0) == "credentials" &&
			i < len(j.Settings.Credentials) {
			name += " (" + j.Settings.Credentials[i].Domain + ")"
		}
		names = append(names, name)
		return value, nil
	})
	return names
}

// part returns a part of a secret's name, "" if there is none.
func part(name string, i int) string {
	if parts := strings.Split(name, "."); i < len(parts) {
		return parts[i]
	}
	return ""
}

// reference returns the name of the secret that a value stands for.
func reference(value string) (name string, there bool) {
	name, there = strings.CutPrefix(value, sealedMark)
	if !there || !strings.HasSuffix(name, "]") {
		return "", false
	}
	return strings.TrimSuffix(name, "]"), true
}

// standsIn reports whether a value replaces a secret that is not there.
func standsIn(value string) bool {
	_, there := reference(value)
	return there || value == Redaction
}

// eachSecret returns the settings with each secret replaced: passwords, cookies, values of forms, logins in the
// addresses of proxies and login pages, and headers whose names say that they carry a login, in sheets too. A
// secret's name is derived from its place, and is the same each time. The returned settings share no changed part
// with s.
func (s Settings) eachSecret(replace func(name, value string) (string, error)) (_ Settings, err error) {
	if s.Credentials, err = eachCredential(s.Credentials, "credentials.", replace); err != nil {
		return s, err
	}
	if s.Proxies, err = eachRoute(s.Proxies, "proxies.", replace); err != nil {
		return s, err
	}
	if s.Headers, err = eachHeader(s.Headers, "headers.", replace); err != nil {
		return s, err
	}
	if s.FirstCookies != "" {
		if s.FirstCookies, err = replace("first_cookies", s.FirstCookies); err != nil {
			return s, err
		}
	}
	s.Sheets = slices.Clone(s.Sheets)
	for i, sheet := range s.Sheets {
		if sheet.Settings == nil {
			continue
		}
		settings := make(map[string]json.RawMessage, len(sheet.Settings))
		for _, name := range slices.Sorted(maps.Keys(sheet.Settings)) {
			where := "sheets." + strconv.Itoa(i) + "." + name
			if settings[name], err = eachInSheet(name, where, sheet.Settings[name], replace); err != nil {
				return s, err
			}
		}
		s.Sheets[i].Settings = settings
	}
	return s, nil
}

// CheckSeeds refuses seeds with a password in their address. A crawl does not send it, but every log and record would
// show it.
func CheckSeeds(seeds []string) error {
	for _, seed := range seeds {
		found := false
		// it returns no error of its own
		_, _ = eachLogin(strings.TrimSpace(seed), "", func(_, login string) (string, error) {
			found = strings.Contains(login, ":")
			return login, nil
		})
		if found && strings.Contains(seed, "://") {
			return invalid("seeds", strconv.Quote(shownLogin(seed)),
				"addresses without a password; logins belong in credentials")
		}
	}
	return nil
}

// shownLogin is a URL as it may be shown: without its login.
func shownLogin(url string) string {
	url, _ = eachLogin(url, "", redact) // it returns no error of its own
	return url
}

func eachCredential(all []Credential, where string,
	replace func(name, value string) (string, error)) (_ []Credential, err error) {
	all = slices.Clone(all)
	for i := range all {
		c, at := &all[i], where+strconv.Itoa(i)
		if c.Password != "" {
			if c.Password, err = replace(at+".password", c.Password); err != nil {
				return nil, err
			}
		}
		if c.URL, err = eachLogin(c.URL, at+".url", replace); err != nil {
			return nil, err
		}
		if len(c.Fields) == 0 {
			continue
		}
		fields := make(map[string]string, len(c.Fields))
		for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
			if fields[name], err = replace(at+".fields."+name, c.Fields[name]); err != nil {
				return nil, err
			}
		}
		c.Fields = fields
	}
	return all, nil
}

func eachRoute(routes []Route, where string, replace func(name, value string) (string, error)) (_ []Route, err error) {
	routes = slices.Clone(routes)
	for i := range routes {
		if routes[i].Via, err = eachLogin(routes[i].Via, where+strconv.Itoa(i)+".via", replace); err != nil {
			return nil, err
		}
	}
	return routes, nil
}

// eachLogin replaces a URL's user part, where it has one.
func eachLogin(url, where string, replace func(name, value string) (string, error)) (string, error) {
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
	i := strings.LastIndexByte(url[start:end], '@')
	if i < 0 {
		return url, nil
	}
	login, err := replace(where, url[start:start+i])
	return url[:start] + login + url[start+i:], err
}

// eachHeader replaces the values of headers whose names say that they carry a login.
func eachHeader(headers []string, where string,
	replace func(name, value string) (string, error)) (_ []string, err error) {
	headers = slices.Clone(headers)
	for i, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		if value = strings.TrimSpace(value); !secretHeader(name) && !secretValue(value) {
			continue
		}
		if value, err = replace(where+strconv.Itoa(i), value); err != nil {
			return nil, err
		}
		headers[i] = name + ": " + value
	}
	return headers, nil
}

// SecretHeader reports whether a header line, as "Name: value", carries a login, by its name or its value. Such
// headers are sealed when a job is created, and are in no record.
func SecretHeader(line string) bool {
	name, value, _ := strings.Cut(line, ":")
	return secretHeader(name) || secretValue(strings.TrimSpace(value))
}

// HasLogins reports whether the settings, or their sheets, give a crawl access somewhere: by logins, cookies or
// headers.
func (s *Settings) HasLogins() bool {
	if len(s.Credentials) > 0 || s.FirstCookies != "" || slices.ContainsFunc(s.Headers, SecretHeader) {
		return true
	}
	for _, sheet := range s.Sheets {
		if _, there := sheet.Settings["credentials"]; there {
			return true
		}
		var headers []string
		if raw, there := sheet.Settings["headers"]; there &&
			(json.Unmarshal(raw, &headers) != nil || slices.ContainsFunc(headers, SecretHeader)) {
			return true
		}
	}
	return false
}

// secretHeader reports whether a header's name says that it carries a login.
func secretHeader(name string) bool {
	secret := []string{"authorization", "authentication", "auth-", "cookie", "token", "secret", "-pass-", "passwd",
		"password", "passphrase", "-pw-", "-pwd-",
		"-key-", "apikey", "credential", "session", "login", "signature", "-jwt-"}
	lower := "-" + strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-") + "-"
	return slices.ContainsFunc(secret, func(word string) bool { return strings.Contains(lower, word) })
}

// secretValue reports whether a header's value is a login whatever the header's name, or stands for one.
func secretValue(value string) bool {
	scheme, rest, _ := strings.Cut(value, " ")
	schemes := []string{"basic", "bearer", "digest", "negotiate", "ntlm", "token"}
	return standsIn(value) || rest != "" && slices.Contains(schemes, strings.ToLower(scheme))
}

// eachInSheet replaces the secrets of a sheet's setting. What cannot be read is one secret as a whole.
func eachInSheet(name, where string, raw json.RawMessage,
	replace func(name, value string) (string, error)) (_ json.RawMessage, err error) {
	var headers []string
	var credentials []Credential
	var routes []Route
	var value any
	where += "."
	switch name {
	case "headers":
		if json.Unmarshal(raw, &headers) == nil {
			value, err = eachHeader(headers, where, replace)
		}
	case "credentials":
		if json.Unmarshal(raw, &credentials) == nil {
			value, err = eachCredential(credentials, where, replace)
		}
	case "proxies":
		if json.Unmarshal(raw, &routes) == nil {
			value, err = eachRoute(routes, where, replace)
		}
	default:
		return raw, nil
	}
	if err == nil && value == nil {
		return eachWhole(where, raw, replace)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// eachWhole replaces a JSON value by a text, or a text that stands for such a value by that value.
func eachWhole(where string, raw json.RawMessage,
	replace func(name, value string) (string, error)) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil || !standsIn(text) {
		text = string(raw)
	}
	replaced, err := replace(strings.TrimSuffix(where, "."), text)
	if err != nil || !standsIn(replaced) {
		return json.RawMessage(replaced), err
	}
	return json.Marshal(replaced)
}
