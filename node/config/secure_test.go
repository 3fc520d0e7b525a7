package config

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func configWith(t *testing.T, lines string) (Config, error) {
	t.Helper()
	f, err := Parse("cluster.toml", "cluster = \"c\"\ndata = \""+t.TempDir()+"\"\n"+lines+
		"\n[[replica]]\nname = \"r\"\nkind = \"bitarchive\"\n[[node]]\nname = \"n\"\nreplica = \"r\"\n")
	if err != nil {
		return Config{}, err
	}
	return f.Node("n")
}

// Plain HTTP on an address that others can reach is refused, with the lines that help.
func TestPlainHTTPIsForThisMachine(t *testing.T) {
	for _, lines := range []string{`api = "0.0.0.0:7481"`, `access = "[::]:7482"`, `api = ":7481"`, `api = "192.0.2.1:7481"`, `access = "archive.example.org:7482"`, `api = "[::ffff:192.0.2.1]:7481"`} {
		_, err := configWith(t, lines)
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", lines, err)
			continue
		}
		for _, line := range []string{"certificate = ", "certificate-key = ", "trusted-proxies = [", "127.0.0.1:748", "in clear"} {
			if !strings.Contains(err.Error(), line) {
				t.Errorf("%s: the refusal lacks %s:\n%v", lines, line, err)
			}
		}
		for _, more := range []string{"\ncertificate = \"/c.pem\"\ncertificate-key = \"/c.key\"", "\ntrusted-proxies = [\"192.0.2.10\", \"2001:db8::/32\"]"} {
			if _, err := configWith(t, lines+more); err != nil {
				t.Errorf("%s%s: %v", lines, more, err)
			}
		}
	}
	for _, lines := range []string{`certificate = "/c.pem"`, `trusted-proxies = ["proxy.example.org"]`, `trusted-proxies = ["fe80::1%eth0"]`} {
		if _, err := configWith(t, lines); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", lines, err)
		}
	}
	for _, lines := range []string{`api = "127.0.21.1:7481"`, `api = "[::1]:7481"`, `api = "localhost:7481"`} {
		if _, err := configWith(t, lines); err != nil {
			t.Errorf("%s: %v", lines, err)
		}
	}
}

// A proxy may be named by its mapped address: what comes from it is not mapped.
func TestMappedProxiesAreTrusted(t *testing.T) {
	for _, text := range []string{"::ffff:192.0.2.10", "::ffff:192.0.2.0/120"} {
		list, err := parseProxies([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		s := Secure{TrustedProxies: list}
		if !s.Trusts(netip.MustParseAddr("192.0.2.10")) || s.Trusts(netip.MustParseAddr("192.0.3.10")) {
			t.Errorf("%s is read as %v", text, list)
		}
	}
}

// TestWideProxiesAreRefused names networks so wide that strangers are in them.
func TestWideProxiesAreRefused(t *testing.T) {
	for _, text := range []string{"0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/7", "2000::/3", "2001::/15", "::ffff:0.0.0.0/96", "::ffff:0.0.0.0/90",
		"::ffff:10.0.0.0/103"} {
		list, err := parseProxies([]string{"192.0.2.10", text})
		if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "192.0.2.10") {
			t.Errorf("%s is read as %v, %v", text, list, err)
		}
	}
	for _, text := range []string{"10.0.0.0/8", "fd00::/16", "::ffff:10.0.0.0/104", "192.0.2.10", "2001:db8::1"} {
		if _, err := parseProxies([]string{text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
