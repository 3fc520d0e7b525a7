// Package domain says what one domain is, for limits, statistics and what archivists keep alike, and reads lists of
// domains and of seeds.
//
// The list of public suffixes is part of the program and changes with its versions: what is agreed on must not depend
// on it, so it is asked before something is proposed.
package domain

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"holdfast/harvest"
)

// ErrName reports a text that is not the name of a domain. It comes with harvest.ErrInvalid.
var ErrName = errors.New("not a domain")

// Of returns the registered domain of a host, as it is written in a URL in normal form; for an address, or if there is
// none, the host itself.
func Of(host string) string {
	host = strings.TrimSuffix(host, ".")
	if host == "" || host[0] == '[' || host[len(host)-1] >= '0' && host[len(host)-1] <= '9' {
		return host
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return d
}

// Parse reads the name of a domain as people write it, and returns it as it is kept: in small letters, in ASCII
// (punycode). The error says what the text is instead, and is ErrName.
func Parse(text string) (string, error) {
	given := strings.TrimSpace(text)
	if why := unlike(given); why != "" {
		return "", wrong(given, why)
	}
	name, err := profile.ToASCII(strings.TrimSuffix(given, "."))
	if err != nil {
		return "", wrong(given, "a name has letters, digits and dashes, with dots between its parts, and at most 253 "+
			"bytes")
	}
	if isAddress(name) {
		return "", wrong(given, "this is an address; addresses have no domain")
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", wrong(given, "this is a suffix, below which domains are registered")
	}
	if registered := Of(name); registered != name {
		return "", wrong(given, "this is a host of the domain "+registered)
	}
	return name, nil
}

// profile maps names as browsers do before they look them up.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(true),
	idna.VerifyDNSLength(true))

// unlike says what a text is that cannot be a name, or "".
func unlike(text string) string {
	switch {
	case text == "":
		return "it is empty"
	case !utf8.ValidString(text):
		return "it is not UTF-8; is it Latin-1?"
	case strings.Contains(text, "://"):
		return "this is a URL; want the domain alone"
	case isAddress(strings.Trim(text, "[]")):
		return "this is an address; addresses have no domain"
	case strings.ContainsAny(text, "/?#\\"):
		return "this is a URL or a path; want the domain alone"
	case strings.Contains(text, "@"):
		return "this is an e-mail address; want the domain alone"
	case strings.Contains(text, ":"):
		return "a domain has no port"
	case strings.ContainsAny(text, " \t,;"):
		return "there is more than one word; want one domain on a line"
	}
	return ""
}

// isAddress reports whether a text is an IP address, or ends with a number, as which URLs read all such names.
func isAddress(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	last := text[strings.LastIndexByte(strings.TrimSuffix(text, "."), '.')+1:]
	return last != "" && strings.Trim(strings.TrimSuffix(last, "."), "0123456789") == ""
}

func wrong(given, why string) error {
	return fmt.Errorf("%w: %w: %.100q: %s", harvest.ErrInvalid, ErrName, given, why)
}
