// Package harvest holds what an archive wants to have crawled: jobs, and the settings that say how.
//
// It is pure: values in, values out; no files, network or clock.
package harvest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"holdfast/cdx"
)

// ErrInvalid is wrapped by every error that says a job or a setting cannot be used as given.
var ErrInvalid = errors.New("not valid")

// Refused reports an order that cannot be carried out: the value given in one of its fields, and the values allowed
// there. It wraps ErrInvalid.
func Refused(field, given, allowed string) error {
	return invalid(field, strconv.Quote(given), allowed)
}

// Job is one crawl: what to start from and how to go about it.
type Job struct {
	Name     string   `json:"name"`
	Seeds    []string `json:"seeds"`
	Settings Settings `json:"settings"`
	Domains  *Domains `json:"domains,omitempty"` // of a job that archivists' definitions made, since level 4
}

// UnmarshalJSON reads a job; settings that are not given have their defaults,
// unknown keys are refused.
func (j *Job) UnmarshalJSON(data []byte) error {
	type plain Job
	p := plain{Settings: DefaultSettings()}
	if err := decodeStrict(data, "job", &p); err != nil {
		return err
	}
	*j = Job(p)
	return nil
}

// ErrNoContact reports a job of other people's sites without an operator's contact. It comes with ErrInvalid.
var ErrNoContact = errors.New("operator_contact: not given")

// Validate tells whether the job can be crawled: it has a usable name, seeds, valid settings and,
// where a seed is not on this machine, an operator's contact. A seed that is no URL, among others
// that are, is not an error: the crawl logs it.
func (j Job) Validate() error {
	if err := validName(j.Name); err != nil {
		return err
	}
	if len(j.Seeds) == 0 {
		return invalid("seeds", "none", "at least one URL")
	}
	if !slices.ContainsFunc(j.Seeds, isURL) {
		return invalid("seeds", fmt.Sprintf("%.100q", shownLogin(j.Seeds[0])), "a URL such as http://www.example.org/")
	}
	if err := errors.Join(j.Settings.Validate(), j.Domains.validate()); err != nil {
		return err
	}
	if j.Settings.OperatorContact != "" {
		return nil
	}
	for _, seed := range j.Seeds {
		if host := seedHost(seed); host != "" && !IsLoopback(host) {
			return fmt.Errorf("%w: %w: seed %.200q is not on this machine, so its owner must have"+
				" an e-mail address or an http(s) URL to turn to", ErrInvalid, ErrNoContact, shownLogin(seed))
		}
	}
	return nil
}

// isURL reports whether a seed is a URL that can be crawled. If only some seeds of a job are not, the crawl records
// that.
func isURL(seed string) bool {
	normal, err := cdx.Normalize(seed)
	return err == nil && (strings.HasPrefix(normal, "http://") || strings.HasPrefix(normal, "https://")) &&
		seedHost(normal) != ""
}

// IsLoopback reports whether host, a name or an address as written in a URL, can only mean this machine.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

func validName(name string) error {
	if name == "" || len(name) > 100 {
		return invalid("name", fmt.Sprintf("%q", name), "1 to 100 letters, digits, dots, dashes or underscores")
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return invalid("name", fmt.Sprintf("%q", name), "letters, digits, dots, dashes and underscores")
		}
	}
	return nil
}

// seedHost returns the host part of a seed, or "" if it has none.
func seedHost(seed string) string {
	s := strings.TrimSpace(seed)
	if i := strings.Index(s, "://"); i >= 0 {
		s = s[i+3:]
	}
	if i := strings.IndexAny(s, "/?#\\"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") {
		if i := strings.IndexByte(s, ']'); i > 0 {
			return s[1:i]
		}
		return ""
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return ""
	}
	return s
}

func invalid(field, given, allowed string) error {
	return fmt.Errorf("%w: %s: given %s, allowed: %s", ErrInvalid, field, given, allowed)
}
