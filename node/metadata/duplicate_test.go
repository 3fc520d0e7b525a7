package metadata

import (
	"strings"
	"testing"
)

func TestDuplicate(t *testing.T) {
	line := func(status, kind, notes string) string {
		return "2026-01-02T03:04:05.000Z   " + status + "        100 http://example.org/a%20b LL http://example.org/ " + kind +
			" #001 20260102030405678+12 sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - " + notes
	}
	for name, tt := range map[string]struct{ line, want string }{
		"a duplicate": {line("200", "TEXT/html", `duplicate:"7-1-x.warc.gz,1234,20250101000000000"`),
			`{"url": "http://example.org/a%20b", "mime": "text/html", "status": "200"`},
		"one without a date":        {line("200", "text/html", `duplicate:"7-1-x.warc.gz,1234"`), `"offset": "1234", "filename": "7-1-x.warc.gz"`},
		"the older word":            {line("200", "text/html", `deduplicate:"7-1-x.arc,0"`), `"offset": "0", "filename": "7-1-x.arc"`},
		"no place":                  {line("200", "text/html", "duplicate:digest"), ""},
		"not modified, and nowhere": {line("304", "text/html", "duplicate:server-not-modified"), ""},
		"new content":               {line("200", "text/html", "-"), ""},
		"never fetched":             {line("-6", "text/html", `duplicate:"7-1-x.warc.gz,1234"`), ""},
		"an offset below nothing":   {line("200", "text/html", `duplicate:"7-1-x.warc.gz,-4"`), ""},
		"no line":                   {"x", ""},
	} {
		c, ok := Duplicate([]byte(tt.line))
		got := string(c.AppendCDXJ(nil))
		if ok != (tt.want != "") || ok && (!strings.Contains(got, tt.want) || !strings.HasPrefix(got, "org,example)/a%20b 20260102030405 ")) {
			t.Errorf("%s: %t %s", name, ok, got)
		}
	}
}
