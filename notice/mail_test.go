package notice

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"
)

var sentAt = time.Date(2026, 3, 1, 7, 30, 0, 0, time.UTC)

func (s *mailServer) client(security Security) *Mail {
	return &Mail{Server: s.Addr, Security: security, Sender: "holdfast@example.org", Roots: s.Roots, Timeout: 3 * time.Second}
}

// A mail arrives as it was written, in any language, with its id.
func TestMailArrives(t *testing.T) {
	t.Parallel()
	text := Text{Subject: "Arkiv: Noden æøå “x” er væk", Body: "Første linje: æøå\n.en punktum\nדוגמה\n" + strings.Repeat("lang ", 400) + "\n"}
	for security, b := range map[Security]behaviour{NoTLS: {}, TLS: {tls: true}, StartTLS: {startTLS: true}} {
		s := newMailServer(t, b)
		if err := s.client(security).Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, text); err != nil {
			t.Fatalf("%s: %v", security, err)
		}
		mails := s.Mails()
		if len(mails) != 1 {
			t.Fatalf("%s: %d mails", security, len(mails))
		}
		got, err := mail.ReadMessage(strings.NewReader(mails[0]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
		date, err2 := got.Header.Date()
		if err != nil || err2 != nil || subject != text.Subject || !date.Equal(sentAt) {
			t.Errorf("%q of %v, %v, %v", subject, date, err, err2)
		}
		if plain := strings.ReplaceAll(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n..", "\n."); strings.TrimSpace(plain) != strings.TrimSpace(text.Body) {
			t.Errorf("%q", plain)
		}
		for name, want := range map[string]string{"Message-ID": "<msg_1@c.holdfast>", "To": "<anna@example.org>", "From": "<holdfast@example.org>",
			"Auto-Submitted": "auto-generated"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
			}
		}
	}
}

// Whatever a server does but accept, the mail was not sent; and no secret is in what is said about it.
func TestMailIsRefused(t *testing.T) {
	t.Parallel()
	const password = "hunter2-correct-horse"
	for name, tt := range map[string]struct {
		behave   behaviour
		security Security
		user     string
	}{
		"the recipient":            {behaviour{refuse: "550 no such user"}, NoTLS, ""},
		"for the moment":           {behaviour{refuse: "451 come back later"}, NoTLS, ""},
		"after the text":           {behaviour{afterData: "554 spam"}, NoTLS, ""},
		"lost after the text":      {behaviour{afterData: "drop"}, NoTLS, ""},
		"says nothing":             {behaviour{silent: true}, NoTLS, ""},
		"does not greet":           {behaviour{greet: time.Hour}, NoTLS, ""},
		"wrong login":              {behaviour{startTLS: true, login: "holdfast another"}, StartTLS, "holdfast"},
		"wrong login, echoed":      {behaviour{startTLS: true, login: "holdfast another", echo: true}, StartTLS, "holdfast"},
		"no STARTTLS":              {behaviour{login: "holdfast " + password}, StartTLS, "holdfast"},
		"no TLS":                   {behaviour{}, TLS, ""},
		"TLS where STARTTLS is":    {behaviour{tls: true}, StartTLS, ""},
		"a login that nobody asks": {behaviour{startTLS: true}, StartTLS, "holdfast"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, tt.behave)
			m := s.client(tt.security)
			m.Timeout, m.User, m.Password = 500*time.Millisecond, tt.user, password
			err := m.Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, Text{"s", "b"})
			if !errors.Is(err, ErrMail) {
				t.Fatalf("%v", err)
			}
			if strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "aHVudGVyMi") || strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Errorf("the error says %q", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if !tt.behave.startTLS && strings.Contains(strings.Join(s.said, "\n"), "AUTH") {
				t.Errorf("the password was sent in clear: %q", s.said)
			}
		})
	}
}

// The right login lets a mail through, over TLS.
func TestMailWithLogin(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, behaviour{startTLS: true, login: "holdfast secret"})
	m := s.client(StartTLS)
	m.User, m.Password = "holdfast", "secret"
	if err := m.Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, Text{"s", "b"}); err != nil || len(s.Mails()) != 1 {
		t.Errorf("%v, %d mails", err, len(s.Mails()))
	}
	over := newMailServer(t, behaviour{tls: true, login: "holdfast secret"})
	o := over.client(TLS)
	o.User, o.Password = "holdfast", "secret"
	if err := o.Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, Text{"s", "b"}); err != nil || len(over.Mails()) != 1 {
		t.Errorf("over TLS: %v, %d mails", err, len(over.Mails()))
	}
	m.Roots = nil // a certificate that nobody vouches for
	if err := m.Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, Text{"s", "b"}); !errors.Is(err, ErrMail) || len(s.Mails()) != 1 {
		t.Errorf("%v, %d mails", err, len(s.Mails()))
	}
}

// A send ends with its context, whatever the server does.
func TestMailEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, behaviour{silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.client(NoTLS).Send(ctx, "anna@example.org", "msg_1@c.holdfast", sentAt, Text{"s", "b"}); !errors.Is(err, ErrMail) {
		t.Errorf("%v", err)
	}
	for _, to := range []string{"", "anna", "a@b.c, d@e.f", "a@b.c\r\nRCPT TO:<d@e.f>"} {
		if err := newMailServer(t, behaviour{}).client(NoTLS).Send(t.Context(), to, "x@y", sentAt, Text{"s", "b"}); !errors.Is(err, ErrMail) {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// What comes from elsewhere puts no header into a mail.
func TestSubjectIsNoHeader(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, behaviour{})
	text := Text{Subject: "x\r\nBcc: evil@example.org\r\n\r\nbody", Body: "b"}
	if err := s.client(NoTLS).Send(t.Context(), "anna@example.org", "msg_1@c.holdfast", sentAt, text); err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(strings.NewReader(s.Mails()[0]))
	if err != nil || got.Header.Get("Bcc") != "" || got.Header.Get("Message-ID") == "" {
		t.Errorf("%v, %v", got.Header, err)
	}
}
