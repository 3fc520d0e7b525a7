package front

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/node/config"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// writePair writes a certificate for the name, signed by itself, and its key.
func writePair(t *testing.T, dir, name string) (secure config.Secure, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secure = config.Secure{Certificate: filepath.Join(dir, "node.pem"), CertificateKey: filepath.Join(dir, "node.key")}
	text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, text := range map[string][]byte{secure.Certificate: text, secure.CertificateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return secure, text
}

// abroad makes connections look as if they came from another machine, to one of this machine's addresses.
type abroad struct {
	net.Listener
	from string
}

type foreign struct {
	net.Conn
	from string
}

func (l abroad) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return foreign{c, l.from}, nil
}

func (c foreign) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}

// served serves the handler as the node does, to callers who seem to come from the address.
func served(t *testing.T, s config.Secure, from string, h http.Handler) (address string) {
	t.Helper()
	pair, err := loadCertificate(s, quiet())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	outer := listenSecurely(s, abroad{l, from}, pair, quiet())
	go func() { done <- serve(ctx, outer, forwarded(s, h), usualPatience()) }()
	t.Cleanup(func() { cancel(); <-done })
	return l.Addr().String()
}

func whoAsks() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+" "+r.Header.Get("X-Forwarded-Proto"))
	})
}

// The port speaks HTTPS with others, and plain HTTP with this machine and trusted proxies; only these are believed whom
// a request is from.
func TestWhoMaySpeakPlainly(t *testing.T) {
	withPair, text := writePair(t, t.TempDir(), "archive.example.org")
	proxies := []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}
	both := withPair
	both.TrustedProxies = proxies
	proxyOnly := config.Secure{TrustedProxies: proxies}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	for name, tt := range map[string]struct {
		secure    config.Secure
		from      string
		scheme    string
		forwarded string
		want      string // empty: not let in
	}{
		"a stranger, plain, certificate": {withPair, "203.0.113.9:4000", "http", "", ""},
		"a stranger, TLS":                {withPair, "203.0.113.9:4000", "https", "", "203.0.113.9:4000 "},
		"a stranger who pretends":        {withPair, "203.0.113.9:4000", "https", "198.51.100.1", "203.0.113.9:4000 "},
		"a stranger, plain, proxies":     {proxyOnly, "203.0.113.9:4000", "http", "", ""},
		"a stranger, TLS, proxies":       {proxyOnly, "203.0.113.9:4000", "https", "", ""},
		"the proxy, plain":               {proxyOnly, "192.0.2.10:4000", "http", "6.6.6.6, 198.51.100.1", "198.51.100.1:0 https"},
		"the proxy behind itself":        {proxyOnly, "192.0.2.10:4000", "http", "198.51.100.1, 192.0.2.10", "198.51.100.1:0 https"},
		"the proxy names a port":         {proxyOnly, "192.0.2.10:4000", "http", "198.51.100.1:50123", "198.51.100.1:0 https"},
		"the proxy names IPv6":           {proxyOnly, "192.0.2.10:4000", "http", "6.6.6.6, [2001:db8::7]", "[2001:db8::7]:0 https"},
		"the proxy names IPv6 and port":  {proxyOnly, "192.0.2.10:4000", "http", "[2001:db8::7]:50123", "[2001:db8::7]:0 https"},
		"the proxy names mapped IPv4":    {proxyOnly, "192.0.2.10:4000", "http", "::ffff:198.51.100.1", "198.51.100.1:0 https"},
		"the proxy knows nobody":         {proxyOnly, "192.0.2.10:4000", "http", "198.51.100.1, unknown", "unknown https"},
		"the proxy behind one that does": {proxyOnly, "192.0.2.10:4000", "http", "unknown, 192.0.2.10", "unknown https"},
		"the proxy, of nobody":           {proxyOnly, "192.0.2.10:4000", "http", ",", "unknown https"},
		"the proxy, TLS":                 {both, "192.0.2.10:4000", "https", "198.51.100.1", "198.51.100.1:0 https"},
		"the proxy, plain, certificate":  {both, "192.0.2.10:4000", "http", "198.51.100.1", "198.51.100.1:0 https"},
		"this machine, plain":            {withPair, "127.0.0.1:4000", "http", "198.51.100.1", "127.0.0.1:4000 "},
		"this machine, TLS":              {withPair, "127.0.0.1:4000", "https", "", "127.0.0.1:4000 "},
	} {
		t.Run(name, func(t *testing.T) {
			address := served(t, tt.secure, tt.from, whoAsks())
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.scheme+"://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.forwarded != "" {
				request.Header.Set("X-Forwarded-For", tt.forwarded)
				request.Header.Set("X-Forwarded-Proto", "https")
			}
			answer, err := client.Do(request)
			if err != nil {
				if tt.want != "" {
					t.Error(err)
				}
				return
			}
			defer func() { _ = answer.Body.Close() }()
			got, err := io.ReadAll(answer.Body)
			if tt.want == "" && answer.StatusCode == http.StatusBadRequest {
				return // told that the port speaks HTTPS
			}
			if err != nil || string(got) != tt.want || tt.want == "" {
				t.Errorf("%d %q, %v, want %q", answer.StatusCode, got, err, tt.want)
			}
		})
	}
}

// A certificate is used when its files are replaced; half of a replacement, or what is none, leaves the one before.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	secure, _ := writePair(t, dir, "first.example.org")
	c, err := loadCertificate(secure, quiet())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c.now = func() time.Time { now = now.Add(2 * certificateLook); return now }
	shows := func(want string) {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err != nil || leaf.Subject.CommonName != want {
			t.Errorf("%v, %v, want %s", leaf.Subject, err, want)
		}
	}
	shows("first.example.org")
	replace := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), now, now); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	writePair(t, other, "second.example.org")
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	replace("node.pem", read("node.pem")) // the key comes later
	shows("first.example.org")
	replace("node.key", read("node.key"))
	shows("second.example.org")
	replace("node.pem", []byte("nonsense"))
	shows("second.example.org")
	if _, err := loadCertificate(secure, quiet()); !errors.Is(err, config.ErrConfig) {
		t.Errorf("started with nonsense: %v", err)
	}
}
