//go:build e2e

package systemtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestQuickStart follows README's first cluster in five minutes as it stands there: its cluster.toml, its commands,
// and what they show.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	program, err := Program()
	check(t, err)
	net, err := NewNetwork(t.Context(), 1)
	check(t, err)
	t.Cleanup(func() { check(t, net.Close()) })
	f := &follower{t: t}
	m, err := NewMachine("reader", filepath.Join(t.TempDir(), "reader"), program, net.Enter(1))
	check(t, err)
	t.Cleanup(m.Close)
	f.machines = map[string]*Machine{"": m}
	for _, s := range sections(t, "README.md") {
		if s.Heading != "A first cluster in five minutes" {
			continue
		}
		check(t, os.WriteFile(filepath.Join(m.Dir, "cluster.toml"), []byte(m.Path(s.block(t, "toml").Text)), 0o644))
		check(t, os.WriteFile(filepath.Join(m.Dir, "iana.warc.gz"), twoCaptures(t), 0o644))
		steps, err := s.block(t, "console").Steps()
		check(t, err)
		for _, step := range steps {
			f.step(step)
		}
		return
	}
	t.Fatal("README.md has no quick start")
}

// twoCaptures returns a WARC file with the captures that README shows of its own.
func twoCaptures(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	info := gzip.NewWriter(&file)
	_, err := fmt.Fprintf(info, "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000009>\r\n"+
		"WARC-Date: 2014-01-26T20:06:20Z\r\nWARC-Filename: iana.warc.gz\r\nContent-Type: application/warc-fields\r\nContent-Length: 17\r\n\r\n"+
		"software: a test\n\r\n\r\n")
	check(t, err)
	check(t, info.Close())
	for i, page := range []struct{ date, kind, url string }{
		{"2014-01-26T20:06:24Z", "text/html", "http://www.iana.org/"},
		{"2014-01-26T20:08:26Z", "application/octet-stream", "http://www.iana.org/_css/2013.1/fonts/Inconsolata.otf"},
	} {
		body := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n%01000d", page.kind, i)
		member := gzip.NewWriter(&file)
		_, err := fmt.Fprintf(member, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\n"+
			"WARC-Date: %s\r\nWARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			i, page.date, page.url, len(body), body)
		check(t, err)
		check(t, member.Close())
	}
	return file.Bytes()
}
