package notice

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer is a mail server on loopback that behaves well or badly.
type mailServer struct {
	Addr  string
	Roots *x509.CertPool

	behave behaviour
	cert   tls.Certificate
	mu     sync.Mutex
	mails  []string // that it has accepted
	said   []string // all commands
}

type behaviour struct {
	tls, startTLS bool
	login         string // wanted: user, space, password
	refuse        string // the answer to RCPT
	afterData     string // the answer to a mail; "drop": none, and the mail is kept
	greet         time.Duration
	silent        bool // after the greeting
	echo          bool // it repeats wrong logins in its answer
}

// newMailServer starts a server, which ends with the test.
func newMailServer(t *testing.T, b behaviour) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{Addr: l.Addr().String(), behave: b}
	s.cert, s.Roots = certificate(t)
	if b.tls {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{s.cert}})
	}
	ended := make(chan struct{})
	var conns sync.WaitGroup
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { s.serve(c) })
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
		conns.Wait()
	})
	return s
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shape := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, shape, shape, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// serve speaks with one client.
func (s *mailServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	say := func(line string) { _, _ = c.Write([]byte(line + "\r\n")) }
	if s.behave.greet > 0 { // longer than the client waits
		_, _ = r.ReadByte()
		return
	}
	say("220 test")
	if s.behave.silent {
		for {
			if _, err := r.ReadByte(); err != nil {
				return
			}
		}
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		s.note(&s.said, line)
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			_, encrypted := c.(*tls.Conn)
			say("250-test")
			if s.behave.startTLS && !encrypted {
				say("250-STARTTLS")
			}
			if s.behave.login != "" {
				say("250-AUTH PLAIN")
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go on")
			c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{s.cert}})
			r = bufio.NewReader(c)
		case "AUTH":
			_, text, _ := strings.Cut(rest, " ")
			given, _ := base64.StdEncoding.DecodeString(text)
			if strings.ReplaceAll(strings.TrimPrefix(string(given), "\x00"), "\x00", " ") != s.behave.login {
				if s.behave.echo {
					say("535 wrong: " + text + " " + string(given[1:]))
				} else {
					say("535 wrong")
				}
				continue
			}
			say("235 welcome")
		case "RCPT":
			if s.behave.refuse != "" {
				say(s.behave.refuse)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if strings.TrimSpace(line) == "." {
					break
				}
				b.WriteString(line)
			}
			s.note(&s.mails, b.String())
			if s.behave.afterData == "drop" {
				return
			}
			if s.behave.afterData != "" {
				say(s.behave.afterData)
				continue
			}
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *mailServer) note(to *[]string, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, line)
}

// Mails are what the server has received.
func (s *mailServer) Mails() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}
