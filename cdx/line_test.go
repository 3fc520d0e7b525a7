package cdx

import (
	"errors"
	"testing"
)

func TestLines(t *testing.T) {
	c := Capture{Key: "org,example)/a?b=c", Timestamp: "20260102030405", URL: "http://www.example.org/a?b=c",
		MIME: "text/html", Status: 301, Digest: "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
		Redirect: "http://example.org/\"é\"", Length: 1042, Offset: 784, File: "x-00001.warc.gz"}
	cdxj := `org,example)/a?b=c 20260102030405 {"url": "http://www.example.org/a?b=c", "mime": "text/html", "status": "301", ` +
		`"digest": "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", "redirect": "http://example.org/\"\u00e9\"", "length": "1042", "offset": "784", "filename": "x-00001.warc.gz"}`
	cdx11 := `org,example)/a?b=c 20260102030405 http://www.example.org/a?b=c text/html 301 B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A http://example.org/"é" - 1042 784 x-00001.warc.gz`
	cdx9 := `org,example)/a?b=c 20260102030405 http://www.example.org/a?b=c text/html 301 B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A http://example.org/"é" 784 x-00001.warc.gz`
	withoutLength := c
	withoutLength.Length = 0
	for _, tt := range []struct {
		name, got, want string
		back            Capture
	}{
		{"cdxj", string(c.AppendCDXJ(nil)), cdxj, c},
		{"cdx11", string(c.AppendCDX11(nil)), cdx11, c},
		{"cdx9", string(c.AppendCDX9(nil)), cdx9, withoutLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %s\nwant %s", tt.got, tt.want)
			}
			if back, err := ParseLine(tt.got + "\r\n"); err != nil || back != tt.back {
				t.Errorf("back: %+v, %v", back, err)
			}
		})
	}
}

func TestLinesOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       Capture
	}{
		{"numbers in JSON", `com,example)/ 20140102030405678 {"url":"http://example.com/","status":200,"offset":12,"length":"7","open":{"x":1},"mimetype":"text/html"}`,
			Capture{Key: "com,example)/", Timestamp: "20140102030405", URL: "http://example.com/", Status: 200, Offset: 12, Length: 7, MIME: "text/html"}},
		{"7 columns", `com,example)/ 20140102030405 http://example.com/ warc/revisit - B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A 900`,
			Capture{Key: "com,example)/", Timestamp: "20140102030405", URL: "http://example.com/", MIME: "warc/revisit", Digest: "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", Length: 900}},
		{"10 columns", `com,example)/ 20140102030405 http://example.com/ text/html 200 ABC - - 333 f.arc.gz`,
			Capture{Key: "com,example)/", Timestamp: "20140102030405", URL: "http://example.com/", MIME: "text/html", Status: 200, Digest: "ABC", Offset: 333, File: "f.arc.gz"}},
		{"14 columns", `com,example)/ 20140102030405 http://example.com/ warc/revisit 200 ABC - - 11 333 f.warc.gz 55 66 g.warc.gz`,
			Capture{Key: "com,example)/", Timestamp: "20140102030405", URL: "http://example.com/", MIME: "warc/revisit", Status: 200, Digest: "ABC", Length: 11, Offset: 333, File: "f.warc.gz"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ParseLine(tt.line); err != nil || got != tt.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if _, err := ParseLine(Legend11); !errors.Is(err, ErrLegend) {
		t.Errorf("legend: %v", err)
	}
	for _, bad := range []string{"", "x", "com,example)/ 2014 http://a/ b c d e", "k 20140102030405 {", "k 20140102030405 a b",
		`k 20140102030405 {"offset":"-5"}`, `k 20140102030405 {"status":"70000"}`} {
		if _, err := ParseLine(bad); !errors.Is(err, ErrLine) {
			t.Errorf("ParseLine(%q): %v, want ErrLine", bad, err)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(`com,example)/ 20140102030405678 {"url":"http://example.com/","status":200,"offset":12}`)
	f.Add(`com,example)/ 20140102030405 http://example.com/ text/html 200 ABC - - 11 333 f.warc.gz`)
	f.Add(Legend11)
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseLine(line)
		if err != nil {
			return
		}
		again, err := ParseLine(string(c.AppendCDXJ(nil)))
		if err != nil {
			t.Fatalf("%q: own line not read: %v", line, err)
		}
		if first, second := string(c.AppendCDXJ(nil)), string(again.AppendCDXJ(nil)); first != second {
			t.Fatalf("%q: %q became %q", line, first, second)
		}
	})
}
