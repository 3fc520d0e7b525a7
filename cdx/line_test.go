package cdx

import "testing"

func TestLines(t *testing.T) {
	c := Capture{Key: "org,example)/a?b=c", Timestamp: "20260102030405", URL: "http://www.example.org/a?b=c",
		MIME: "text/html", Status: 301, Digest: "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
		Redirect: "http://example.org/\"é\"", Length: 1042, Offset: 784, File: "x-00001.warc.gz"}
	cdxj := `org,example)/a?b=c 20260102030405 {"url": "http://www.example.org/a?b=c", "mime": "text/html", "status": "301", ` +
		`"digest": "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", "redirect": "http://example.org/\"\u00e9\"", "length": "1042", "offset": "784", "filename": "x-00001.warc.gz"}`
	cdx11 := `org,example)/a?b=c 20260102030405 http://www.example.org/a?b=c text/html 301 B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A http://example.org/"é" - 1042 784 x-00001.warc.gz`
	cdx9 := `org,example)/a?b=c 20260102030405 http://www.example.org/a?b=c text/html 301 B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A http://example.org/"é" 784 x-00001.warc.gz`
	for _, tt := range []struct {
		name, got, want string
	}{
		{"cdxj", string(c.AppendCDXJ(nil)), cdxj},
		{"cdx11", string(c.AppendCDX11(nil)), cdx11},
		{"cdx9", string(c.AppendCDX9(nil)), cdx9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %s\nwant %s", tt.got, tt.want)
			}
		})
	}
}
