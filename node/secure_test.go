package node

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/client"
	"holdfast/node/config"
	"holdfast/node/front"
)

// writePair writes a certificate for this machine, signed by itself, and its key.
func writePair(t *testing.T, dir string) (secure config.Secure, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"archive.example.org"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true}
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
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for path, text := range map[string][]byte{secure.Certificate: text, secure.CertificateKey: secret} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return secure, text
}

// The Go client trusts the certificates that it is given, and no others.
func TestClientTrustsACertificate(t *testing.T) {
	secure, text := writePair(t, t.TempDir())
	ports, err := front.Listen(t.Context(), front.Config{API: "127.0.0.1:0", Access: "127.0.0.1:0", Secure: secure, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for _, p := range []*front.Port{ports.API, ports.Access} {
		done.Go(func() {
			_ = p.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"items":[]}`)
			}))
		})
	}
	t.Cleanup(func() { cancel(); done.Wait() })
	address := ports.API.Addr().String()
	_, stranger := writePair(t, t.TempDir())
	for _, tt := range []struct {
		pem  []byte
		good bool
	}{{nil, false}, {stranger, false}, {text, true}} {
		client, err := client.New("https://"+address, "holdfast-x-y")
		if err != nil {
			t.Fatal(err)
		}
		if tt.pem != nil {
			if err := client.TrustOnly(tt.pem); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.Jobs().Settings(t.Context()); (err == nil) != tt.good {
			t.Errorf("%v, want success %v", err, tt.good)
		}
		client.Close()
	}
	client, err := client.New("https://"+address, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.TrustOnly([]byte("nonsense")); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("trusts nonsense: %v", err)
	}
}
