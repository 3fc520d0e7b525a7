package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// TLS describes a connection's TLS.
type TLS struct {
	Version string // as "tls/1.3"
	Cipher  string // by IANA's name: WARC-Cipher-Suite's value
	Problem string // why the certificate does not hold; "" where it does
}

// handshakeError reports a TLS handshake that failed.
type handshakeError struct {
	host  string
	cause error
}

func (e *handshakeError) Error() string { return fmt.Sprintf("TLS with %s: %v", e.host, e.cause) }
func (e *handshakeError) Unwrap() error { return e.cause }

// maxSessions is how many servers' sessions are kept, which spare half the work of the next handshake.
const maxSessions = 2000

// tlsConfig accepts the web as it is: an archive keeps what is served, whatever the certificate and however old the
// ciphers. Certificates are checked afterwards; the result is noted, and the fetch continues.
func tlsConfig() *tls.Config {
	cfg := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10,
		ClientSessionCache: tls.NewLRUClientSessionCache(maxSessions)}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		cfg.CipherSuites = append(cfg.CipherSuites, s.ID)
	}
	return cfg
}

// secure does the TLS handshake.
func (c *Client) secure(ctx context.Context, nc net.Conn, r *Request, protos []string) (*conn, error) {
	host := r.Target.Host
	cfg := c.tls.Clone()
	cfg.ServerName, cfg.NextProtos = strings.TrimSuffix(host, "."), protos
	ctx, cancel := context.WithTimeout(ctx, r.Idle)
	defer cancel()
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, &handshakeError{host, err}
	}
	state := tc.ConnectionState()
	out := &conn{Conn: tc, facts: &TLS{Version: tlsVersion(state.Version),
		Cipher: tls.CipherSuiteName(state.CipherSuite)}, unasked: protos[0] != protoH2,
		silent: state.NegotiatedProtocol == ""}
	if err := verify(state.PeerCertificates, cfg.ServerName); err != nil {
		out.facts.Problem = err.Error()
		out.notes = append(out.notes, "tlsUnverified:"+problemWord(err))
	}
	out.protocols = []string{protoHTTP1, out.facts.Version}
	if state.NegotiatedProtocol == protoH2 {
		out.protocols[0] = protoH2
		out.h2 = newH2(tc)
	}
	return out, nil
}

func tlsVersion(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "tls/1.0"
	case tls.VersionTLS11:
		return "tls/1.1"
	case tls.VersionTLS12:
		return "tls/1.2"
	}
	return "tls/1.3"
}

func verify(chain []*x509.Certificate, host string) error {
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	opts := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
	for _, cert := range chain[1:] {
		opts.Intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(opts)
	return err
}

// problemWord returns a word for the log that says what is wrong with a certificate.
func problemWord(err error) string {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return "unknownAuthority"
	case errors.As(err, &name):
		return "otherName"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "expired"
	}
	return "invalid"
}
