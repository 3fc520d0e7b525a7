package domain

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"holdfast/harvest"
)

func TestOf(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.org": "example.org", "example.org": "example.org", "a.b.example.co.uk": "example.co.uk", "co.uk": "co.uk",
		"example.org.": "example.org", "192.0.2.1": "192.0.2.1", "[2001:db8::1]": "[2001:db8::1]", "localhost": "localhost", "": "",
		"site.localhost": "site.localhost", "x.github.io": "x.github.io",
	} {
		if got := Of(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct{ given, want, why string }{
		{"example.org", "example.org", ""},
		{" Example.ORG. ", "example.org", ""},
		{"rødgrød.dk", "xn--rdgrd-vuad.dk", ""},
		{"RØDGRØD.dk", "xn--rdgrd-vuad.dk", ""},
		{"xn--rdgrd-vuad.dk", "xn--rdgrd-vuad.dk", ""},
		{"例子。公司.cn", "xn--fsqu00a.xn--55qx5d.cn", ""},
		{"example.co.uk", "example.co.uk", ""},
		{"a.localhost", "a.localhost", ""},
		{"", "", "empty"},
		{"  ", "", "empty"},
		{"co.uk", "", "a suffix"},
		{"dk", "", "a suffix"},
		{"github.io", "", "a suffix"},
		{"localhost", "", "a suffix"},
		{"www.example.org", "", "a host of the domain example.org"},
		{"192.0.2.1", "", "an address"},
		{"2001:db8::1", "", "an address"},
		{"[2001:db8::1]", "", "an address"},
		{"1.2.3", "", "an address"},
		{"http://example.org/", "", "a URL"},
		{"example.org/path", "", "a path"},
		{"example.org:80", "", "no port"},
		{"me@example.org", "", "e-mail"},
		{"example.org example.com", "", "more than one word"},
		{"example.org,example.com", "", "more than one word"},
		{"exa_mple.org", "", "letters, digits and dashes"},
		{"-example.org", "", "letters, digits and dashes"},
		{"xn--a.org", "", "letters, digits and dashes"},
		{strings.Repeat("a", 64) + ".org", "", "at most 253 bytes"},
		{"example..org", "", "a name has letters"},
		{".example.org", "", "a name has letters"},
		{"r\xf8dgr\xf8d.dk", "", "Latin-1"},
		{"exa\x00mple.org", "", "letters, digits and dashes"},
	}
	for _, tt := range tests {
		got, err := Parse(tt.given)
		if tt.why == "" && (err != nil || got != tt.want) {
			t.Errorf("%q: %q, %v; want %q", tt.given, got, err, tt.want)
		}
		if tt.why != "" && (!errors.Is(err, ErrName) || !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%q: %q, %v; want %q", tt.given, got, err, tt.why)
		}
	}
}

// A name that was read is read again as the same, and is its own domain.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"example.org", "rødgrød.dk", "co.uk", "192.0.2.1", "例子。cn", "a.b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(name); err != nil || again != name || Of(name) != name || Of("www."+name) != name {
			t.Errorf("%q is %q, which is %q (%v), of %q", text, name, again, err, Of("www."+name))
		}
	})
}

// What the reader makes of lists as people have them: each bad line is reported with its number.
func TestList(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	list := "\uFEFFexample.org\r\n# comment\r\n\r\nexample.com # with a comment\nr\xf8d.dk\n" + long + "\nwww.example.net\n  rød.dk\t\n" +
		"#x\nhttp://example.org/#part\n" + strings.Repeat("y", maxLine+1) + "\nlast.org"
	want := []string{"1 example.org", "4 example.com", "5 Latin-1", "6 longer than", "7 a host of the domain example.net", "8 xn--rd-lka.dk",
		"10 a URL", "11 longer than", "12 last.org"}
	lines := NewList(strings.NewReader(list))
	for _, w := range want {
		line, err := lines.Next()
		if err != nil {
			t.Fatal(err)
		}
		number, text, _ := strings.Cut(w, " ")
		switch {
		case number != itoa(line.Number):
			t.Errorf("line %d, want %q", line.Number, w)
		case line.Bad == nil && line.Text != text:
			t.Errorf("%d: %q, want %q", line.Number, line.Text, text)
		case line.Bad != nil && (!errors.Is(line.Bad, harvest.ErrInvalid) || !strings.Contains(line.Bad.Error(), text)):
			t.Errorf("%d: %v, want %q", line.Number, line.Bad, text)
		}
		if end := strings.IndexByte(list[line.End:], '\n'); line.End < int64(len(list)) && (list[line.End-1] != '\n' || end == 0) {
			t.Errorf("%d: the next line does not begin at %d", line.Number, line.End)
		}
	}
	if line, err := lines.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %+v, %v", line, err)
	}
	for _, utf16 := range []string{"\xff\xfee\x00x\x00", "\xfe\xff\x00e"} {
		if line, err := NewList(strings.NewReader(utf16)).Next(); err != nil || line.Bad == nil || !strings.Contains(line.Bad.Error(), "UTF-16") {
			t.Errorf("UTF-16: %+v, %v", line, err)
		}
	}
	broken := errors.New("broken")
	if _, err := NewList(io.MultiReader(strings.NewReader("# x\nexample"), failing{broken})).Next(); !errors.Is(err, broken) {
		t.Errorf("a list that cannot be read: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func itoa(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// Reading takes no more memory for long lines and lists.
func TestListIsReadInBoundedMemory(t *testing.T) {
	endless := io.LimitReader(repeated("y"), 64<<20)
	lines := NewList(io.MultiReader(endless, strings.NewReader("\n"), io.LimitReader(repeated("example.org\n"), 12*100_000)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if line, err := lines.Next(); err != nil || line.Bad == nil {
		t.Fatalf("%+v, %v", line, err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes for one line", grown)
	}
	n := 0
	for ; ; n++ {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || line.Bad != nil || line.Text != "example.org" {
			t.Fatalf("%+v, %v", line, err)
		}
	}
	if n != 100_000 {
		t.Errorf("%d lines", n)
	}
}

type repeated string

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for n == 0 || len(p)-n >= len(r) {
		n += copy(p[n:], r)
	}
	return n, nil
}

func TestSettings(t *testing.T) {
	s := DefaultSettings()
	if bytes, given := s.DefaultBytes.Given(); !given || bytes != 1e9 || !s.DefaultObjects.IsZero() || s.AliasExpiry.Std().Hours() != 8760 {
		t.Errorf("%+v", s)
	}
	if seeds := s.Seeds("example.org"); !slices.Equal(seeds, []string{"http://www.example.org/"}) {
		t.Errorf("seeds %q", seeds)
	}
	s, err := ParseSettings([]byte(`{"default_seeds":["https://{domain}/","http://www.{domain}/"],"default_bytes":null,"default_objects":0}`))
	if err != nil || !s.DefaultBytes.IsZero() || !s.DefaultObjects.Nothing() || len(s.Seeds("x.org")) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, place := range map[string]string{`{"default_seeds":["http://www.example.org/"]}`: "default_seeds", `{"default_bytes":-1}`: "limit",
		`{"alias_expiry":"0s"}`: "alias_expiry", `{"default_byte":1}`: `did you mean "default_bytes"`} {
		if _, err := ParseSettings([]byte(text)); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, setting := range Reference() {
		if setting.Help == "" || setting.Type == "" {
			t.Errorf("%+v is not described", setting)
		}
	}
}

// BenchmarkList reads a list of a million domains.
func BenchmarkList(b *testing.B) {
	for b.Loop() {
		lines := NewList(io.LimitReader(repeated("example-domain.org\nrødgrød-med-fløde.dk\n"), 1_000_000/2*43))
		for {
			if _, err := lines.Next(); err != nil {
				break
			}
		}
	}
}
