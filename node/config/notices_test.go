package config

import (
	"errors"
	"strings"
	"testing"
)

// Settings of mail that cannot work, or would send a password in clear, are refused with what is wanted.
func TestNoticeSettings(t *testing.T) {
	const from = "smtp = \"mail.example.org:587\"\nsmtp-from = \"holdfast@example.org\"\n"
	const login = "smtp-user = \"holdfast\"\nsmtp-password-file = \"/etc/p\"\n"
	for lines, want := range map[string]string{
		from + login:         "",
		from:                 "",
		"smtp-tls = \"ssl\"": "smtp-tls",
		"smtp = \"mail.example.org\"\nsmtp-from = \"a@b.cd\"":                            "want host:port",
		"smtp = \":25\"\nsmtp-from = \"a@b.cd\"":                                         "want host:port",
		"smtp = \"mail.example.org:25\"":                                                 "smtp-from",
		"smtp = \"mail.example.org:25\"\nsmtp-from = \"Archive <a@b.cd>\"":               "smtp-from",
		from + "smtp-user = \"x\"":                                                       "set both",
		from + "smtp-password-file = \"/p\"":                                             "set both",
		from + "smtp-user = \"x\"\nsmtp-password-file = \"p\"":                           "path from the root",
		from + login + "smtp-tls = \"none\"":                                             "in clear",
		"smtp = \"127.0.0.1:25\"\nsmtp-from = \"a@b.cd\"\nsmtp-tls = \"none\"\n" + login: "",
		"heartbeat-url = \"https://monitor.example.org/ping/SECRET\"":                    "",
		"heartbeat-url = \"ftp://monitor.example.org/\"":                                 "heartbeat-url",
		"heartbeat-url = \"https://a:SECRET@monitor.example.org/\"":                      "heartbeat-url",
	} {
		c, err := configWith(t, lines)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("a secret is in %v", err)
		}
		var shown strings.Builder
		if err == nil {
			if err := c.Write(&shown); err != nil || strings.Contains(shown.String(), "SECRET") {
				t.Errorf("%v, shown as %s", err, shown.String())
			}
		}
	}
}
