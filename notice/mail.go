package notice

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/wneessen/go-mail"
)

// Security says how the connection to a mail server is protected.
type Security string

// The ways to protect a connection.
const (
	TLS      Security = "tls"      // from the beginning
	StartTLS Security = "starttls" // by STARTTLS, and not at all without it
	NoTLS    Security = "none"
)

// Mail sends notices by a mail server.
type Mail struct {
	Server   string // host:port
	Security Security
	Sender   string
	User     string // empty: no login
	Password string
	Roots    *x509.CertPool // whose certificates are trusted; nil: the machine's
	Timeout  time.Duration  // of a step; 0: 30 seconds
}

const mailTimeout = 30 * time.Second

// ErrMail reports that a mail server did not accept a notice.
var ErrMail = errors.New("mail was not accepted")

// Send sends a text to one address. The Message-ID is id in angle brackets. When Send returns nil, the server has
// accepted the mail; on error it may have, if the connection was lost after its last byte.
func (m *Mail) Send(ctx context.Context, to, id string, at time.Time, text Text) error {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(m.Sender), msg.To(to)); err != nil {
		return fmt.Errorf("%w: %w", ErrMail, err)
	}
	msg.Subject(text.Subject)
	msg.SetDateWithValue(at)
	msg.SetMessageIDWithValue(id)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(mail.TypeTextPlain, text.Body)
	line := &line{security: m.Security, config: m.config()}
	defer line.close() // the library leaves it open when the server is not as it should be
	client, err := m.client(line)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMail, err)
	}
	stop := context.AfterFunc(ctx, line.close)
	defer stop()
	if err = client.DialWithContext(ctx); err == nil {
		err = client.Send(msg)
		_ = client.Close() // what was accepted stays so, however the connection ends
	}
	if msg.IsDelivered() {
		return nil
	}
	if err == nil {
		err = errors.New("the server did not say so")
	}
	return fmt.Errorf("%w: %s", ErrMail, Redact(err.Error(), m.Password,
		base64.StdEncoding.EncodeToString([]byte(m.Password)),
		base64.StdEncoding.EncodeToString([]byte("\x00"+m.User+"\x00"+m.Password))))
}

// line is the connection to a mail server.
type line struct {
	security Security
	config   *tls.Config

	mu   sync.Mutex
	conn net.Conn
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	var err error
	if l.security == TLS {
		conn, err = (&tls.Dialer{Config: l.config}).DialContext(ctx, network, address)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	return conn, err
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

func (m *Mail) config() *tls.Config {
	host, _, _ := net.SplitHostPort(m.Server)
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: m.Roots}
}

func (m *Mail) client(l *line) (*mail.Client, error) {
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	options := []mail.Option{mail.WithPort(number), mail.WithTimeout(cmp.Or(m.Timeout, mailTimeout)),
		mail.WithoutNoop(), mail.WithoutRset(), mail.WithTLSConfig(l.config), mail.WithDialContextFunc(l.dial)}
	switch m.Security {
	case TLS: // by line; with this policy, the library sees that it is there
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	case StartTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	default:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if m.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.User),
			mail.WithPassword(m.Password))
	}
	return mail.NewClient(host, options...)
}
