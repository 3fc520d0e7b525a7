package cdx

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// The keys in testdata were computed by the PyPI package surt 0.3.1, which
// pywb and cdxj-indexer use.
func TestKeyAgreesWithSurt(t *testing.T) {
	f, err := os.Open("testdata/keys.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		var row [2]string
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		n++
		if got, err := Key(row[0]); err != nil || got != row[1] {
			t.Errorf("Key(%q) = %q, %v; want %q", row[0], got, err, row[1])
		}
	}
	if n < 300 {
		t.Fatalf("only %d keys in the golden table", n)
	}
}

// Where surt answers something that no query could find again, Key refuses;
// where it depends on the IDNA of 2003, Key follows the browsers.
func TestKeyDiffersFromSurt(t *testing.T) {
	for _, bad := range []string{"", "  ", "http:", "http://", "http:///", "http://./", "http://:80/",
		"http://example.com:99999/", "http://example.com:x/", "http://a/" + strings.Repeat("x", MaxURL)} {
		if key, err := Key(bad); !errors.Is(err, ErrURL) {
			t.Errorf("Key(%.40q) = %.40q, %v; want ErrURL", bad, key, err)
		}
	}
	if key, err := Key("http://faß.example/"); err != nil || key != "example,xn--fa-hia)/" {
		t.Errorf("Key of a sharp s = %q, %v", key, err)
	}
	if key, err := Key("URN:UUID:1"); err != nil || key != "urn:uuid:1" {
		t.Errorf("Key of an upper-case scheme = %q, %v", key, err)
	}
}

func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"HTTP://Example.COM:80/a/../b?q=1#frag", "http://example.com/b?q=1"},
		{"https://example.com", "https://example.com/"},
		{"http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"},
		{"  http://example.com/a b\n", "http://example.com/a%20b"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"dns:www.example.com", "dns:www.example.com"},
		{"metadata://example.org/crawl/logs/crawl.log?jobid=1", "metadata://example.org/crawl/logs/crawl.log?jobid=1"},
		{"urn:uuid:F81D", "urn:uuid:F81D"},
	} {
		if got, err := Normalize(tt.in); err != nil || got != tt.want {
			t.Errorf("Normalize(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "example.com/x", "/a", "http://", "http://a b/", "http://[::1/", "http://x:99999/"} {
		if got, err := Normalize(bad); !errors.Is(err, ErrURL) {
			t.Errorf("Normalize(%q) = %q, %v; want ErrURL", bad, got, err)
		}
	}
}

func TestSURT(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"http://www.example.org/Path?Q=1#f", "http://(org,example,www,)/path?q=1"},
		{"https://example.org", "http://(org,example,)/"},
		{"https://example.org:8443/x", "http://(org,example,:8443)/x"},
		{"http://user:pw@example.org/", "http://(org,example,@user:pw)/"},
		{"http://192.168.0.1:8080/a", "http://(192.168.0.1:8080)/a"},
		{"http://[2001:db8::1]/a", "http://([2001:db8::1])/a"},
		{"ftp://ftp.example.org/pub", "ftp://(org,example,ftp,)/pub"},
		{"dns:Example.org", "dns:example.org"},
	} {
		if got, err := SURT(tt.in); err != nil || got != tt.want {
			t.Errorf("SURT(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for _, tt := range []struct{ in, low, high string }{
		{"2026", "20260101000000", "20261231235959"},
		{"202602", "20260201000000", "20260228235959"},
		{"202402", "20240201000000", "20240229235959"},
		{"20260430", "20260430000000", "20260430235959"},
		{"20261", "20261001000000", "20261231235959"},
		{"20260", "20260101000000", "20260930235959"},
		{"2026022", "20260220000000", "20260228235959"},
		{"2026042", "20260420000000", "20260429235959"},
		{"2026043", "20260430000000", "20260430235959"},
		{"2026010", "20260101000000", "20260109235959"},
		{"202601012", "20260101200000", "20260101235959"},
		{"2026010109", "20260101090000", "20260101095959"},
		{"20260101091", "20260101091000", "20260101091959"},
		{"20260101091011", "20260101091011", "20260101091011"},
		{"20260101091011123", "20260101091011", "20260101091011"},
		{"2", "20000101000000", "29991231235959"},
	} {
		low, errLow := PadTimestamp(tt.in, Low)
		high, errHigh := PadTimestamp(tt.in, High)
		if errLow != nil || errHigh != nil || low != tt.low || high != tt.high {
			t.Errorf("PadTimestamp(%q) = %s, %s, %v, %v; want %s, %s", tt.in, low, high, errLow, errHigh, tt.low, tt.high)
		}
		at, err := ParseTimestamp(tt.in, High)
		if err != nil || Timestamp(at) != tt.high {
			t.Errorf("ParseTimestamp(%q, High) = %s, %v", tt.in, at, err)
		}
	}
	for _, bad := range []string{"", "x", "2026-01", "20261301", "20260230", "202601010101011", "20260101250000"} {
		if at, err := ParseTimestamp(bad, Low); !errors.Is(err, ErrTimestamp) {
			t.Errorf("ParseTimestamp(%q) = %s, %v; want ErrTimestamp", bad, at, err)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, seed := range []string{"http://www.example.com/?b&a", "dns:x", "http://%25%2525/%zz?sid=0123456789abcdef0123456789abcdef&",
		"http://[::1]:8/(S(4hqa0555fwsecu455xqckv45))/x.aspx", "http://é.ü/\x00\xff?cfid=1&cftoken=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		key, err := Key(url)
		if err != nil {
			if !errors.Is(err, ErrURL) {
				t.Fatalf("Key(%q): %v is not ErrURL", url, err)
			}
			return
		}
		if key == "" || len(key) > MaxURL {
			t.Fatalf("Key(%q) has %d bytes", url, len(key))
		}
		for i := range len(key) {
			if key[i] <= ' ' || key[i] >= 0x7f {
				t.Fatalf("Key(%q) = %q holds byte %#x", url, key, key[i])
			}
		}
	})
}

func FuzzSURT(f *testing.F) {
	for _, seed := range []string{"http://www.example.com/?b&a", "dns:x", "http://u:p@1.2.3.4:5/", "http://[::1]/", "https://a..b./"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		surt, err := SURT(url)
		if (err == nil) != (surt != "") || err != nil && !errors.Is(err, ErrURL) {
			t.Fatalf("SURT(%q) = %q, %v", url, surt, err)
		}
	})
}

func FuzzTimestamp(f *testing.F) {
	f.Add("20261")
	f.Add("20260229")
	f.Fuzz(func(t *testing.T, s string) {
		low, errLow := ParseTimestamp(s, Low)
		high, errHigh := ParseTimestamp(s, High)
		if errLow == nil && errHigh == nil && low.After(high) {
			t.Fatalf("%q: %s after %s", s, low, high)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	for b.Loop() {
		if _, err := Key("https://www.example.org/some/Path/to/page.html?b=2&a=1&session=none"); err != nil {
			b.Fatal(err)
		}
	}
}
