package extract

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

// encoded is text in a character set.
func encoded(t testing.TB, name, text string) []byte {
	t.Helper()
	enc, _ := charset.Lookup(name)
	if enc == nil {
		t.Fatalf("no character set %q", name)
	}
	b, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCharsetIsFound(t *testing.T) {
	page := `<a href="é?é">`
	tests := []struct {
		name, header, body, want string
		charset                  string
		from                     CharsetSource
		annotations              string
	}{
		{"header", "text/html; Charset=\"ISO-8859-1\"", string(encoded(t, "windows-1252", page)), "/%C3%A9?%E9", "windows-1252", CharsetHeader, ""},
		{"header overrules meta", "text/html;charset=utf-8", "<meta charset=iso-8859-1>" + page, "/%C3%A9?%C3%A9", "", CharsetHeader, ""},
		{"mark overrules header", "text/html; charset=iso-8859-1", "\ufeff" + page, "/%C3%A9?%C3%A9", "", CharsetBOM, ""},
		{"mark overrules meta", "text/html", "\ufeff<meta charset=iso-8859-1>" + page, "/%C3%A9?%C3%A9", "", CharsetBOM, "inconsistentCharsetInHTML:iso-8859-1"},
		{"meta", "text/html", "<meta charset='iso-8859-15'>" + string(encoded(t, "iso-8859-15", page)), "/%C3%A9?%E9", "iso-8859-15", CharsetDocument, "usingCharsetInHTML:iso-8859-15"},
		{"meta content", "text/html", `<META http-equiv=Content-Type content="text/html; charset = windows-1250">` + string(encoded(t, "windows-1250", page)), "/%C3%A9?%E9", "windows-1250", CharsetDocument, "usingCharsetInHTML:windows-1250"},
		{"meta in a comment", "text/html", "<!-- <meta charset=koi8-r> -->" + page, "/%C3%A9?%C3%A9", "", CharsetDetected, ""},
		{"meta of UTF-8", "text/html", "<meta charset=UTF-8>" + page, "/%C3%A9?%C3%A9", "", CharsetDocument, "usingCharsetInHTML:utf-8"},
		{"meta that cannot be true", "text/html", "<meta charset=utf-16>" + page, "/%C3%A9?%C3%A9", "", CharsetDocument, "usingCharsetInHTML:utf-16"},
		{"unknown", "text/html; charset=x-unknown", "<meta charset=y-unknown>" + page, "/%C3%A9?%C3%A9", "", CharsetDetected, "unsatisfiableCharsetInHTML:y-unknown"},
		{"XML", "application/xhtml+xml", `<?xml version="1.0" encoding='iso-8859-1'?>` + string(encoded(t, "windows-1252", page)), "/%C3%A9?%E9", "windows-1252", CharsetDocument, "usingCharsetInHTML:iso-8859-1"},
		{"XML of a feed", "application/rss+xml", `<?xml version="1.0" encoding="windows-1252"?><rss><enclosure url="` + string(encoded(t, "windows-1252", "é?é")) + `"/></rss>`, "/%C3%A9?%E9", "windows-1252", CharsetDocument, "usingCharsetInXML:windows-1252"},
		{"UTF-16", "text/html", "\xff\xfe" + string(encoded(t, "utf-16le", page)), "/%C3%A9?%C3%A9", "utf-16le", CharsetBOM, ""},
		{"UTF-16 by header", "text/html; charset=utf-16be", string(encoded(t, "utf-16be", page)), "/%C3%A9?%C3%A9", "utf-16be", CharsetHeader, ""},
		{"nothing, UTF-8", "text/html", page, "/%C3%A9?%C3%A9", "", CharsetDetected, ""},
		{"nothing, western", "text/html", string(encoded(t, "windows-1252", page)), "/%C3%A9?%E9", "windows-1252", CharsetDetected, ""},
		{"reference in a query", "text/html; charset=iso-8859-1", `<a href="?&eacute;&#x20ac;&#x4e2d;">`, "/?%E9%80%26%2320013%3B", "windows-1252", CharsetHeader, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New().Links(Document{URL: "http://h.test/", ContentType: tt.header, Body: []byte(tt.body)})
			if len(r.Links) != 1 || r.Links[0].URL != "http://h.test"+tt.want || r.Charset != tt.charset || r.CharsetFrom != tt.from {
				t.Errorf("got %v, %q by %d", r.Links, r.Charset, r.CharsetFrom)
			}
			if got := strings.Join(r.Annotations(), ","); got != tt.annotations {
				t.Errorf("annotations %q, want %q", got, tt.annotations)
			}
		})
	}
}

// texts in the languages of the character sets that are told apart.
var texts = []struct{ charset, text string }{
	{"shift_jis", "これは日本語の文章です。文字コードの判定のために、少し長めに書いてあります。カタカナも入ります。"},
	{"euc-jp", "これは日本語の文章です。文字コードの判定のために、少し長めに書いてあります。カタカナも入ります。"},
	{"iso-2022-jp", "これは日本語の文章です。文字コードの判定のために書いてあります。"},
	{"gbk", "这是一段用来测试字符集检测的中文文本。我们希望程序能够正确识别它的编码方式，并且找到所有的链接。"},
	{"big5", "這是一段用來測試字元集偵測的中文文字。我們希望程式能夠正確識別它的編碼方式，並且找到所有的連結。"},
	{"euc-kr", "이것은 문자 집합을 판별하기 위한 한국어 문장입니다. 프로그램이 올바르게 인식하기를 바랍니다."},
	{"windows-1251", "Это русский текст, по которому программа должна узнать кодировку страницы и найти все ссылки."},
	{"koi8-r", "Это русский текст, по которому программа должна узнать кодировку страницы и найти все ссылки."},
	{"windows-1252", "Voilà un texte français où l’on a mis çà et là des lettres accentuées; Größe, Übung, smørrebrød på en tallerken, año, corazón."},
	{"utf-8", "Rødgrød med fløde, 日本語, русский."},
}

func TestCharsetIsGuessed(t *testing.T) {
	for _, tt := range texts {
		body := append([]byte("<html><body><p class=x>"), encoded(t, tt.charset, tt.text)...)
		body = append(append(body, "</p><a href=\"/"...), encoded(t, tt.charset, tt.text[:strings.IndexAny(tt.text, " 。，、")])...)
		body = append(body, `">`...)
		r := New().Links(Document{URL: "http://h.test/", ContentType: "text/html", Body: body})
		got := r.Charset
		if got == "" {
			got = "utf-8"
		}
		if got != tt.charset || len(r.Links) != 1 || r.CharsetFrom != CharsetDetected {
			t.Errorf("%s taken for %q, links %v", tt.charset, got, r.Links)
		}
	}
}

// A long and a short document by turns come out of the same buffers unmixed.
func TestBuffersAreUsedAgain(t *testing.T) {
	x := New()
	long := append(encoded(t, "windows-1251", strings.Repeat("слово ", 300_000)), `<a href=1>`...)
	short := []byte("<a href=\"\xe9\">")
	for range 3 {
		a := x.Links(Document{URL: "http://h.test/", ContentType: "text/html; charset=windows-1251", Body: long}).Links
		if !slices.Equal(a, []Link{{"http://h.test/1", Navlink, "a/@href", false}}) {
			t.Fatalf("long: %v", a)
		}
		b := x.Links(Document{URL: "http://h.test/", ContentType: "text/html; charset=iso-8859-1", Body: short}).Links
		if !slices.Equal(b, []Link{{"http://h.test/%C3%A9", Navlink, "a/@href", false}}) {
			t.Fatalf("short: %v", b)
		}
	}
}
