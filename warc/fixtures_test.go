package warc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// record returns a record of WARC/1.0 as some tool would write it.
func record(kind, uri, contentType, block string, fields ...string) string {
	s := "WARC/1.0\r\nWARC-Type: " + kind + "\r\nWARC-Record-ID: <urn:uuid:" + fmt.Sprintf("%08x", len(uri)+len(block)) +
		"-0000-4000-8000-000000000000>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n"
	if uri != "" {
		s += "WARC-Target-URI: " + uri + "\r\n"
	}
	for _, f := range fields {
		s += f + "\r\n"
	}
	return s + fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", contentType, len(block), block)
}

func info() string {
	return record("warcinfo", "", "application/warc-fields", "software: other/1.0\r\n")
}

func page(uri, body string) string {
	return record("response", uri, "application/http; msgtype=response",
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
}

// member gzips s into one member.
func member(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// frame compresses s into one zstd frame, with a dictionary if given.
func frame(s string, options ...zstd.EOption) string {
	e, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		panic(err)
	}
	return string(e.EncodeAll([]byte(s), nil))
}

// skippable wraps a dictionary as .warc.zst files carry it.
func skippable(s string) string {
	head := binary.LittleEndian.AppendUint32(nil, 0x184d2a5d)
	return string(binary.LittleEndian.AppendUint32(head, uint32(len(s)))) + s
}

// arcFile is a small ARC file.
func arcFile(last string) string {
	version := "1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
	http := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
	return fmt.Sprintf("filedesc://x.arc 0.0.0.0 20140216050221 text/plain %d\n%s\n", len(version), version) +
		fmt.Sprintf("http://example.com/a b 192.0.2.1 20140216050222 text/html; charset=x %d\n%s\n", len(http), http) +
		"dns:example.com 192.0.2.1 20140216050223 text/dns 4\nA  1\n" + last
}

// fixtures writes files as other tools write them, good and broken, and returns their folder.
func fixtures(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	a, b := page("http://a.example/", "first"), page("http://b.example/", strings.Repeat("second", 1000))
	whole := info() + a + b
	packed := member(info()) + member(a) + member(b)
	dictionary := trained(t)
	files := map[string]string{
		"good.warc":                whole,
		"good.warc.gz":             packed,
		"good.warc.zst":            frame(info()) + frame(a) + frame(b),
		"dictionary.warc.zst":      skippable(dictionary) + frame(info(), zstd.WithEncoderDict([]byte(dictionary))) + frame(a, zstd.WithEncoderDict([]byte(dictionary))) + frame(b, zstd.WithEncoderDict([]byte(dictionary))),
		"packed-dict.warc.zst":     skippable(frame(dictionary)) + frame(a, zstd.WithEncoderDict([]byte(dictionary))),
		"no-dictionary.warc.zst":   frame(a, zstd.WithEncoderDict([]byte(dictionary))),
		"torn.warc.zst":            frame(info()) + frame(a)[:50],
		"one-member.warc.gz":       member(whole),
		"spanning.warc.gz":         member(info()) + member(b[:1000]) + member(b[1000:]) + member(a),
		"torn.warc.gz.open":        packed[:len(packed)-20],
		"torn-header.warc.gz.open": packed + member(a)[:15],
		"torn.warc.open":           whole[:len(whole)-100],
		"torn-trailer.warc.open":   whole[:len(whole)-2],
		"zeros.warc.gz":            packed + strings.Repeat("\x00", 5000),
		"garbage-behind.warc.gz":   packed + "garbage",
		"flipped.warc.gz":          flip(packed, len(packed)-12),
		"empty.warc.gz":            "",
		"empty-member.warc.gz":     member(""),
		"bare-lf.warc":             strings.ReplaceAll(whole, "\r\n", "\n"),
		"too-short.warc":           strings.Replace(whole, "Content-Length: 6", "Content-Length: 3", 2),
		"too-long.warc":            info() + strings.Replace(a, "Content-Length: 69", "Content-Length: 90", 1) + b,
		"beyond-end.warc":          info() + strings.Replace(a, "Content-Length: 69", "Content-Length: 99999999999", 1),
		"no-length.warc":           info() + strings.Replace(a, "Content-Length: 69", "X: y", 1) + b,
		"negative.warc":            info() + strings.Replace(a, "Content-Length: 69", "Content-Length: -1", 1) + b,
		"folded.warc":              strings.Replace(whole, "http://a.example/", "\r\n http://a.example/", 1),
		"long-line.warc":           info() + record("response", "http://x/"+strings.Repeat("x", 1<<17), "text/plain", "x") + b,
		"many-lines.warc":          info() + record("resource", "http://x/", "text/plain", "x", strings.Repeat("X-A: b\r\n", 5000)+"X: y") + b,
		"html.warc":                "<!doctype html><p>not found",
		"html.warc.gz":             member("<!doctype html><p>not found"),
		"good.arc":                 arcFile(""),
		"good.arc.gz":              member(arcFile("")),
		"bad.arc":                  arcFile("http://x.example/ 192.0.2.1 20140216050222 text/html abc\n" + "http://y.example/ 192.0.2.1 20140216050222 text/html 2\nhi\n"),
		"torn.arc":                 arcFile("http://x.example/ 192.0.2.1 20140216050222 text/html 1000\nabc"),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func flip(s string, i int) string { return s[:i] + string(s[i]^1) + s[i+1:] }

// trained returns a small zstd dictionary.
func trained(t testing.TB) string {
	t.Helper()
	var samples [][]byte
	for i := range 64 {
		samples = append(samples, []byte(page(fmt.Sprintf("http://site%d.example/%d", i, i*i), strings.Repeat(fmt.Sprint(i), i))))
	}
	d, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 7, Contents: samples, History: bytes.Join(samples[:20], nil), Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	return string(d)
}
