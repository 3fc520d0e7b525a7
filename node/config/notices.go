package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
)

// NoticeSettings are the Settings of what a node needs to send notices.
type NoticeSettings struct {
	SMTP             *string `toml:"smtp"`               // host:port of a mail server; none: this node sends no mail
	SMTPTLS          *string `toml:"smtp-tls"`           // tls, starttls or none
	SMTPFrom         *string `toml:"smtp-from"`          // sender of mails
	SMTPUser         *string `toml:"smtp-user"`          // login; none: without
	SMTPPasswordFile *string `toml:"smtp-password-file"` // file with its password
	HeartbeatURL     *string `toml:"heartbeat-url"`      // asked for each minute while all is well, by the leader
}

// Notices is what a node needs to send notices.
type Notices struct {
	SMTP         string // host:port; empty: this node sends no mail
	Security     string // tls, starttls or none
	From         string
	User         string
	PasswordFile string
	Heartbeat    string
}

func (n *Notices) resolve(s *NoticeSettings) {
	set(&n.SMTP, s.SMTP)
	set(&n.Security, s.SMTPTLS)
	set(&n.From, s.SMTPFrom)
	set(&n.User, s.SMTPUser)
	set(&n.PasswordFile, s.SMTPPasswordFile)
	set(&n.Heartbeat, s.HeartbeatURL)
}

// check returns what is wrong with the settings, or nil.
func (n *Notices) check() error {
	if ways := []string{"tls", "starttls", "none"}; !slices.Contains(ways, n.Security) {
		return errors.New(suggest("smtp-tls", n.Security, ways))
	}
	if (n.User == "") != (n.PasswordFile == "") {
		return errors.New("smtp-user and smtp-password-file: set both or neither")
	}
	if n.PasswordFile != "" && !filepath.IsAbs(n.PasswordFile) {
		return fmt.Errorf("smtp-password-file = %q: want a path from the root, as in \"/etc/holdfast/smtp-password\"",
			n.PasswordFile)
	}
	if n.SMTP != "" {
		if err := n.checkServer(); err != nil {
			return err
		}
	}
	if n.Heartbeat == "" {
		return nil
	}
	u, err := url.Parse(n.Heartbeat)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return errors.New("heartbeat-url: want a URL such as \"https://monitor.example.org/ping/archive\"")
	}
	return nil
}

func (n *Notices) checkServer() error {
	host, port, err := net.SplitHostPort(n.SMTP)
	if err != nil || host == "" || port == "0" || checkAddress(n.SMTP) != nil {
		return fmt.Errorf("smtp = %q: want host:port, as in \"mail.example.org:587\"", n.SMTP)
	}
	if a, err := mail.ParseAddress(n.From); err != nil || a.Address != n.From {
		return fmt.Errorf("smtp-from = %q: want the address that mails come from, as in \"holdfast@example.org\"",
			n.From)
	}
	if n.User != "" && n.Security == "none" && !onlyHere(host) {
		return fmt.Errorf("smtp-tls = \"none\": the password would be sent to %s in clear; want tls or starttls", host)
	}
	return nil
}

// shownURL is a URL without what may be secret in it.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// shownSecurity is how mail is protected, empty where none is sent.
func (n *Notices) shownSecurity() string {
	if n.SMTP == "" {
		return ""
	}
	return n.Security
}
