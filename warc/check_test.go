package warc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/warc"
)

// TestCheck breaks one rule at a time.
func TestCheck(t *testing.T) {
	const date, id = "WARC-Date: 2020-01-02T03:04:05Z", "WARC-Record-ID: <urn:uuid:"
	http := "application/http; msgtype=response"
	good := page("http://a.example/", "hello")
	revisit := func(fields ...string) string {
		return record("revisit", "http://a.example/", http, "HTTP/1.1 200 OK\r\n\r\n", fields...)
	}
	profile := "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
	digest := "WARC-Payload-Digest: sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
	tests := []struct {
		name, file, want string
	}{
		{"nothing wrong", good, ""},
		{"date", strings.Replace(good, date, "WARC-Date: 2020-01-02", 1), "error date-format"},
		{"fraction in 1.0", strings.Replace(good, "05Z", "05.123Z", 1), "error date-format"},
		{"fraction in 1.1", strings.Replace(strings.Replace(good, "05Z", "05.123Z", 1), "WARC/1.0", "WARC/1.1", 1), ""},
		{"month 13", strings.Replace(good, "-01-", "-13-", 1), "error date-value"},
		{"no date", strings.Replace(good, date+"\r\n", "", 1), "error missing-warc-date"},
		{"ID without brackets", strings.Replace(strings.Replace(good, "<urn", "urn", 1), "0>", "0", 1), "error record-id-brackets"},
		{"ID of another kind", strings.Replace(good, id, "WARC-Record-ID: <urn:x:", 1), "warning record-id-not-uuid-urn"},
		{"ID twice", good + good, "error record-id-repeated"},
		{"field twice", strings.Replace(good, date, date+"\r\n"+date, 1), "error repeated-field"},
		{"unknown type", strings.Replace(good, "Type: response", "Type: answer", 1), "warning unknown-type"},
		{"type in capitals", strings.Replace(good, "Type: response", "Type: Response", 1), "warning type-case"},
		{"no URI", strings.Replace(good, "WARC-Target-URI: http://a.example/\r\n", "", 1), "error missing-warc-target-uri"},
		{"space in URI", strings.Replace(good, "a.example/", "a.example/a b", 1), "error target-uri-syntax"},
		{"IP address", strings.Replace(good, date, date+"\r\nWARC-IP-Address: localhost", 1), "error ip-address"},
		{"unknown version", strings.Replace(good, "WARC/1.0", "WARC/2.0", 1), "error unknown-version"},
		{"bare line end", strings.Replace(good, date+"\r\n", date+"\n", 1), "error lf-line-end"},
		{"no colon", strings.Replace(good, date, date+"\r\nno colon", 1), "error header-no-colon"},
		{"block digest", strings.Replace(good, date, date+"\r\nWARC-Block-Digest: sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", 1), "error block-digest"},
		{"payload digest", strings.Replace(good, date, date+"\r\n"+digest, 1), ""},
		{"wrong payload digest", strings.Replace(good, date, date+"\r\nWARC-Payload-Digest: md5:00000000000000000000000000000000", 1), "error payload-digest"},
		{"digest in nonsense", strings.Replace(good, date, date+"\r\nWARC-Block-Digest: sha1:!", 1), "error block-digest"},
		{"digest of another kind", strings.Replace(good, date, date+"\r\nWARC-Block-Digest: crc:1", 1), "warning digest-algorithm"},
		{"status line", record("response", "http://x/", http, "hello\r\n\r\n"), "error http-status-line"},
		{"request line", record("request", "http://x/", "application/http; msgtype=request", "hello\r\nHost: x\r\n\r\n"), "error http-request-line"},
		{"no host", record("request", "http://x/", "application/http; msgtype=request", "GET / HTTP/1.1\r\n\r\n"), "warning request-without-host"},
		{"message type", record("request", "http://x/", http, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "error msgtype-mismatch"},
		{"length of the body", strings.Replace(good, "Content-Length: 5", "Content-Length: 6", 1), "warning http-content-length"},
		{"not chunked", record("response", "http://x/", http, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello"), "warning chunked-not-chunked"},
		{"torn chunks", record("response", "http://x/", http, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"), "warning chunked-not-chunked"},
		{"digest without chunks", record("response", "http://x/", http, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", digest), ""},
		{"not gzip", record("response", "http://x/", http, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nhello"), "warning content-encoding"},
		{"endless HTTP header", record("response", "http://x/", http, "HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 1<<17)), "error http-header-limit"},
		{"revisit", revisit(profile, digest, "WARC-Refers-To-Target-URI: http://a.example/", date[:5]+"Refers-To-"+date[5:]), ""},
		{"revisit without profile", revisit(digest), "error missing-warc-profile"},
		{"revisit of unknown profile", revisit("WARC-Profile: http://example.com/"), "warning unknown-profile"},
		{"revisit of nothing", revisit(profile, digest), "warning revisit-refers-to-nothing"},
		{"revisit without digest", revisit(profile, "WARC-Refers-To: <urn:uuid:00000000-0000-4000-8000-000000000000>"), "error revisit-no-payload-digest"},
		{"half a reference", revisit(profile, digest, "WARC-Refers-To-Target-URI: http://a.example/"), "warning revisit-half-reference"},
		{"continuation", record("continuation", "http://x/", "text/plain", "x", "WARC-Segment-Number: 2"), "error missing-warc-segment-origin-id"},
		{"fields of no kind", record("metadata", "http://x/", "application/warc-fields", "a: b\r\nc"), "warning warc-fields-line"},
		{"blank lines", good + "\r\n", "error extra-blank-lines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			s, err := warc.CheckReader(strings.NewReader(info()+tt.file), "f.warc", func(f warc.Finding) {
				got = append(got, f.Severity.String()+" "+f.Code)
				if f.Record < 2 || f.Offset == 0 && f.Record != 1 {
					t.Errorf("finding without place: %v", f)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) || len(got) > 2 {
				t.Errorf("findings %q, want %q", got, tt.want)
			}
			if (s.Errors == 0) == slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, "error") }) {
				t.Errorf("%d errors with %q", s.Errors, got)
			}
		})
	}
}

func TestCheckRefusesOtherFiles(t *testing.T) {
	var where *warc.Error
	_, err := warc.CheckReader(strings.NewReader("hello"), "f", func(warc.Finding) {})
	if !errors.Is(err, warc.ErrNotArchive) || !errors.As(err, &where) {
		t.Errorf("error is %v", err)
	}
}

// TestCheckARC checks ARC files, good and with one fault each.
func TestCheckARC(t *testing.T) {
	const (
		fields1 = "URL IP-address Archive-date Content-type Archive-length\n"
		fields2 = "URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n"
		page    = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
	)
	file := func(version string, records ...string) string {
		text := fmt.Sprintf("filedesc://x.arc 0.0.0.0 20140216050221 text/plain %d\n%s", len(version), version)
		return text + "\n" + strings.Join(records, "")
	}
	one := func(line, block string) string { return fmt.Sprintf("%s %d\n%s\n", line, len(block), block) }
	v1, v2 := "1 0 InternetArchive\n"+fields1, "2 0 InternetArchive\n"+fields2
	good := one("http://a.example/ 192.0.2.1 20140216050222 text/html", page)
	for _, tt := range []struct{ name, file, want string }{
		{"good", file(v1, good, one("dns:a.example 192.0.2.1 20140216050223 text/dns", "A 1")), ""},
		{"good, version 2", file(v2, one("http://a.example/ 2001:db8::1 20140216050222 text/html 200 - - 99 x.arc", page)), ""},
		{"no address", file(v1, one("http://a.example/ - 20140216050222 text/html", page)), "warning arc-no-address"},
		{"all dashes", file(v2, one("http://a.example/ - - - - - - - x.arc", page)), "error arc-no-date"},
		{"dashed date", file(v1, one("http://a.example/ 192.0.2.1 - text/html", page)), "error arc-no-date"},
		{"long date", file(v1, one("http://a.example/ 192.0.2.1 20140216050222123 text/html", page)), "warning arc-date-length"},
		{"space in URL", file(v1, one("http://a.example/a b 192.0.2.1 20140216050222 text/html", page)), "error arc-url-syntax"},
		{"space in type", file(v1, one("http://a.example/ 192.0.2.1 20140216050222 text/html; x", page)), "error arc-line-fields"},
		{"other version's line", file(v2, good), "error arc-line-fields"},
		{"no version block", good, "warning arc-no-version-block"},
		{"odd version block", file("3 0 x\n"+fields1, good), "error arc-version-block"},
		{"other fields", file("1 0 x\n"+fields2, good), "error arc-version-block"},
		{"second version block", file(v1, good, file(v1)), "warning arc-version-block-again"},
		{"no HTTP", file(v1, one("http://a.example/ 192.0.2.1 20140216050222 text/html", "<p>hello")), "warning arc-not-http"},
		{"no line end", file(v1, strings.TrimSuffix(good, "\n")+good), "error record-trailer"},
		{"wrong length", file(v1, strings.Replace(good, fmt.Sprint(len(page)), fmt.Sprint(len(page)-3), 1)), "error record-trailer"},
		{"cut short", strings.TrimSuffix(file(v1, good), "hello\n"), "error truncated-block"},
		{"no length", file(v1, good, "http://a.example/ 192.0.2.1 20140216050222 text/html x\n\n"), "error unreadable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, packed := range []bool{false, true} {
				content := tt.file
				if packed {
					content = member(content)
				}
				var got []string
				s, err := warc.CheckReader(strings.NewReader(content), "f.arc", func(f warc.Finding) {
					if f.Code != "member-not-per-record" && f.Code != "members!=records" {
						got = append(got, f.Severity.String()+" "+f.Code)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) || len(got) > 3 || s.Records == 0 {
					t.Errorf("packed %t: findings %q, want %q; %d records", packed, got, tt.want, s.Records)
				}
			}
		})
	}
}

func TestDigest(t *testing.T) {
	const hello = "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
	want, err := warc.ParseDigest(hello)
	if err != nil || want.String() != hello {
		t.Fatalf("%v, %v", want, err)
	}
	for _, same := range []string{"SHA1:vl2mmho4yxukfwv63yhtwsbm3gxksq2n", "sha-1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D"} {
		if d, err := warc.ParseDigest(same); err != nil || !d.Equal(want) {
			t.Errorf("%s: %v, %v", same, d, err)
		}
	}
	padded := "sha256:FTZE3OS7WCRQ4JXIHMVMLOPCTYNRMHS4D6TUEXTTAQZWFE4LTASA===="
	if d, err := warc.ParseDigest(padded); err != nil || d.String() != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("%s: %v, %v", padded, d, err)
	}
	for _, bad := range []string{"", "sha1", "sha1:", "sha1:AAAA", "sha256:" + hello[5:], "md5:zz"} {
		if d, err := warc.ParseDigest(bad); err == nil {
			t.Errorf("%q passed as %v", bad, d)
		}
	}
	if _, err := warc.ParseDigest("crc32:1"); !errors.Is(err, warc.ErrAlgorithm) {
		t.Errorf("error is %v, want ErrAlgorithm", err)
	}
}

func TestHeader(t *testing.T) {
	h := warc.Header{{Name: "A", Value: "1"}, {Name: "b", Value: "2"}, {Name: "a", Value: "3"}, {Name: "C", Value: "4"}}
	h.Set("a", "5")
	h.Set("D", "6")
	h.Del("B")
	want := warc.Header{{Name: "A", Value: "5"}, {Name: "C", Value: "4"}, {Name: "D", Value: "6"}}
	if !slices.Equal(h, want) || h.Get("d") != "6" || h.Get("x") != "" || !h.Has("c") || len(h.Values("A")) != 1 {
		t.Errorf("header %v, want %v", h, want)
	}
}
