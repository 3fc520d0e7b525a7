package harvest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"holdfast/cdx"
)

// SURTPrefix reads a SURT prefix as people write it, http://(org,example,)/path, into the form that URIs are compared with: in small letters,
// https as http. What no URI can begin with is an error that says what was meant, as is what is no SURT at all.
func SURTPrefix(given string) (string, error) {
	text := strings.ToLower(strings.TrimSpace(given))
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "http", text
	}
	if scheme == "https" {
		scheme = "http"
	}
	inside, ok := strings.CutPrefix(rest, "(")
	if !ok || scheme == "" || strings.ContainsAny(text, " \t\r\n") {
		if meant, err := cdx.SURT(strings.TrimSpace(given)); err == nil && strings.Contains(meant, "://(") {
			return "", fmt.Errorf("%.200q is not a SURT prefix; %s is one", given, meant)
		}
		return "", fmt.Errorf("%.200q is not a SURT prefix, as http://(org,example,)/path", given)
	}
	host, path, closed := strings.Cut(inside, ")")
	host, port, hasPort := strings.Cut(host, ":")
	if meant := orderedHost(host, closed || hasPort); meant != host {
		if hasPort {
			meant += ":" + port
		}
		if closed {
			meant += ")" + path
		}
		return "", fmt.Errorf("nothing begins with %.200q; %s://(%s is meant", given, scheme, meant)
	}
	return scheme + "://" + rest, nil
}

// orderedHost is a host as it stands in a SURT: the whole of it, or its beginning.
func orderedHost(host string, whole bool) string {
	if host == "" || strings.HasPrefix(host, "[") || strings.Trim(host, "0123456789.") == "" {
		return host // an address
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if strings.Contains(host, ".") && !strings.Contains(host, ",") {
		labels := strings.Split(strings.Trim(host, "."), ".")
		slices.Reverse(labels)
		return strings.Join(labels, ",") + ","
	}
	if whole && !strings.HasSuffix(host, ",") {
		return host + ","
	}
	return host
}
