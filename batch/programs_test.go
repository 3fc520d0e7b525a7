package batch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// written writes a WARC file of the drafts.
func written(t testing.TB, drafts ...warc.Draft) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.warc")
	f, err := warc.NewFile(disk.New(), path, warc.FilesConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(drafts...)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var then = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func response(url, kind string, more string, body []byte) warc.Draft {
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n%s", kind, more, body)
	return warc.Draft{Type: warc.TypeResponse, TargetURI: url, ContentType: "application/http; msgtype=response", Date: then,
		Block: strings.NewReader(block), Size: int64(len(block))}
}

func logged(path, text string) warc.Draft {
	return warc.Draft{Type: warc.TypeResource, TargetURI: "metadata://example.org" + path, ContentType: "text/plain", Date: then,
		Block: strings.NewReader(text), Size: int64(len(text))}
}

// squeezed is a page as a server sends it compressed.
func squeezed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tools stand for what other rooms have: a capture for each record, and a duplicate for each line that begins with dup.
func tools() Tools {
	return Tools{Captures: func(r *warc.Reader, file string) iter.Seq2[cdx.Capture, error] {
		return func(yield func(cdx.Capture, error) bool) {
			for {
				rec, err := r.Next()
				if errors.Is(err, io.EOF) {
					return
				}
				c := cdx.Capture{Key: "k", Timestamp: "20260102030405", URL: "u", File: file}
				if err == nil && rec.Type == warc.TypeRevisit {
					c.MIME = cdx.RevisitMIME
				}
				if err == nil && rec.Type != warc.TypeResponse && rec.Type != warc.TypeRevisit {
					continue
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}, Duplicate: func(line []byte) (cdx.Capture, bool) {
		url, is := strings.CutPrefix(string(line), "dup ")
		return cdx.Capture{Key: url, Timestamp: "20260102030405", URL: url, File: "original.warc", Offset: 7}, is
	}}
}

func TestPrograms(t *testing.T) {
	pages := written(t,
		response("http://example.org/", "text/html; charset=iso-8859-1", "", []byte("<title>Bl\xe5 dag</title><p>bl\xe5 &aring;<script>var hidden</script> end")),
		response("http://example.org/z", "Text/HTML", "Content-Encoding: gzip\r\n", squeezed(t, "<b>squeezed</b>")),
		response("http://example.org/p", "image/png", "", []byte("PNG!")),
		warc.Draft{Type: warc.TypeRevisit, TargetURI: "http://example.org/again", ContentType: "application/http; msgtype=response", Date: then,
			Block: strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"), Size: 19, PayloadDigest: "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", Fields: []warc.Field{{Name: "WARC-Profile", Value: warc.ProfileIdenticalDigest}}})
	metadata := written(t, logged("/crawl/logs/crawl.log?x=y", "one line\r\ndup http://d.org/\n\nlast"), logged("/crawl/reports/x.txt", "dup no\n"))
	broken := append(bytes.Clone(pages[:len(pages)-40]), "x"...)
	for name, tt := range map[string]struct {
		program string
		file    catalog.FileName
		text    []byte
		values  map[string]string
		want    string // what the output is, or has in it if it begins with ~
		fails   bool
	}{
		"files":               {program: "files", file: "a.warc", text: []byte("abc"), want: "a.warc\t3\tweb\n"},
		"checksum":            {program: "checksum", text: []byte("abc"), want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  x.warc\n"},
		"md5":                 {program: "checksum", text: []byte("abc"), values: map[string]string{"algorithm": "md5"}, want: "900150983cd24fb0d6963f7d28e17f72  x.warc\n"},
		"an empty file":       {program: "checksum", text: nil, want: "~e3b0c44298fc"},
		"records":             {program: "records", text: pages, want: "~x.warc\tresponse\t3\t"},
		"media types":         {program: "media-types", text: pages, want: "x.warc\timage/png\t1\t4\nx.warc\ttext/html\t2\t"},
		"valid":               {program: "validate", text: pages, want: "~x.warc: valid, "},
		"not valid":           {program: "validate", text: broken, want: "~x.warc: NOT valid, "},
		"no WARC":             {program: "validate", text: []byte("hello, I am a text\n"), fails: true},
		"no WARC, counted":    {program: "records", text: []byte("hello, I am a text\n"), fails: true},
		"broken, counted":     {program: "records", text: broken, fails: true},
		"broken, indexed":     {program: "cdxj", text: broken, fails: true},
		"captures":            {program: "cdxj", text: pages, want: "~k 20260102030405 {"},
		"a log":               {program: "crawl-log", file: "7-metadata-1.warc", text: metadata, want: "one line\ndup http://d.org/\nlast\n"},
		"a part of a log":     {program: "crawl-log", file: "7-metadata-1.warc", text: metadata, values: map[string]string{"match": "^l"}, want: "last\n"},
		"no log":              {program: "crawl-log", text: pages, want: ""},
		"duplicates":          {program: "cdx", file: "7-metadata-1.warc.gz", text: metadata, want: "~ 7 original.warc\n"},
		"no duplicates":       {program: "cdx", file: "7-metadata-1.warc", text: metadata, values: map[string]string{"revisits": "records"}, want: ""},
		"words":               {program: "words", text: pages, want: `~"words":{"blå":2,"dag":1,"end":1,"å":1}`},
		"words of a squeezed": {program: "words", text: pages, want: `~"words":{"squeezed":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.file == "" {
				tt.file = "x.warc"
			}
			p, values, err := Programs(tools()).Find(tt.program, tt.values)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			env := &Env{File: catalog.File{Name: tt.file, Size: int64(len(tt.text)), Collection: "web"}, Values: values, Memory: 1 << 20}
			err = p.run(env, bytes.NewReader(tt.text), &out)
			want, part := strings.CutPrefix(tt.want, "~")
			if name == "media types" {
				part = true
			}
			if (err != nil) != tt.fails || !tt.fails && (part && !strings.Contains(out.String(), want) || !part && out.String() != want) {
				t.Errorf("%v\n%s\nwant %s", err, out.String(), want)
			}
			if tt.program == "words" && strings.Contains(out.String(), "hidden") {
				t.Error("the words of a script are counted")
			}
		})
	}
	for _, revisits := range []string{"both", "logs"} {
		p, values, err := Programs(tools()).Find("cdxj", map[string]string{"revisits": revisits})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = p.run(&Env{File: catalog.File{Name: "x.warc"}, Values: values}, bytes.NewReader(pages), &out)
		if err != nil || strings.Contains(out.String(), cdx.RevisitMIME) != (revisits == "both") {
			t.Errorf("%s: %v\n%s", revisits, err, out.String())
		}
	}
}

func TestFindProgram(t *testing.T) {
	for name, tt := range map[string]struct {
		program string
		given   map[string]string
		good    bool
	}{
		"known":                {"checksum", nil, true},
		"unknown":              {"dance", nil, false},
		"nothing":              {"", nil, false},
		"a parameter":          {"checksum", map[string]string{"algorithm": "sha1"}, true},
		"a bad value":          {"checksum", map[string]string{"algorithm": "crc"}, false},
		"an unknown parameter": {"files", map[string]string{"x": "y"}, false},
		"a bad expression":     {"crawl-log", map[string]string{"match": "("}, false},
	} {
		if _, _, err := Programs(tools()).Find(tt.program, tt.given); (err == nil) != tt.good || err != nil && !errors.Is(err, ErrProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, p := range Programs(tools()) {
		kinds := 0
		for _, is := range []bool{p.OfFile != nil, p.OfRecord != nil, p.OfEntry != nil} {
			if is {
				kinds++
			}
		}
		if kinds != 1 || p.Help == "" {
			t.Errorf("%s is of %d kinds", p.Name, kinds)
		}
	}
}

// Pages are hostile: whatever their bytes, the program ends, and keeps no more than it may.
func FuzzWords(f *testing.F) {
	f.Add([]byte("<p>a b<script>c"), "text/html")
	f.Add([]byte{0xff, 0xfe, '<', 0, 'p', 0}, "text/html; charset=utf-16")
	f.Fuzz(func(t *testing.T, text []byte, kind string) {
		if strings.ContainsAny(kind, "\r\n\x00") {
			return
		}
		one := page{Words: map[string]int{}, most: 1000}
		block := "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n\r\n" + string(text)
		file := []byte(fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"+
			"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			len(block), block))
		p, values, err := Programs(tools()).Find("words", nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := p.run(&Env{File: catalog.File{Name: "x"}, Values: values}, bytes.NewReader(file), &out); err != nil {
			t.Errorf("%v", err)
		}
		if err := one.count(bytes.NewReader(text)); err == nil {
			t.Error("it has no end")
		}
	})
}
