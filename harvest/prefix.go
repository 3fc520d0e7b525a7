package harvest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"holdfast/cdx"
)

// SURTPrefix reads a SURT prefix as people write it, http://(org,example,)/path, and returns the form that URIs are
// compared with: lower case, https as http. A prefix with which no URI can begin is an error with a suggestion; text
// that is no SURT at all is an error too.
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

// IsSURT tells whether what people wrote is meant as a SURT, and not as a URL or a host.
func IsSURT(text string) bool {
	text = strings.TrimSpace(text)
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	return strings.HasPrefix(text, "(")
}

// orderedHost is a host in SURT order: the whole of it, or its beginning.
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

// ScopePrefix reads a SURT prefix as SURTPrefix does, or makes one of a URL or host as Heritrix does: a host without
// a path also stands for what is below it, and the last part of a path is cut off, unless whole is true.
func ScopePrefix(given string, whole bool) (string, error) {
	text := strings.TrimSpace(given)
	if text == "" {
		return "", fmt.Errorf("%w: empty", cdx.ErrURL)
	}
	if IsSURT(text) {
		return SURTPrefix(text)
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	surt, err := cdx.SURT(text)
	if err != nil {
		return "", err
	}
	_, afterScheme, _ := strings.Cut(text, "://")
	if !strings.Contains(afterScheme, "/") {
		cut, _, _ := strings.Cut(surt, ")")
		return cut, nil
	}
	if whole {
		return surt, nil
	}
	return surt[:strings.LastIndexByte(surt, '/')+1], nil
}
