package replay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"holdfast/cdx"
	"holdfast/warc"
)

// Pages of a .warc.zst file whose records share a dictionary are shown, and the dictionary is read once.
func TestRecordsWithADictionary(t *testing.T) {
	t.Parallel()
	record := func(url, body string) string {
		http := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"+
			"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", url, len(http), http)
	}
	var samples [][]byte
	for i := range 64 {
		samples = append(samples, []byte(record(fmt.Sprintf("http://site%d.example/%d", i, i*i), strings.Repeat(fmt.Sprint(i), i))))
	}
	dictionary, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 7, Contents: samples, History: bytes.Join(samples[:20], nil), Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderDict(dictionary))
	if err != nil {
		t.Fatal(err)
	}
	s := &countedShelf{shelf: &shelf{files: map[string][]byte{}}}
	for _, name := range []string{"a.warc.zst", "b.warc.zst"} {
		file := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0x184d2a5d), uint32(len(dictionary)))
		file = append(file, dictionary...)
		for _, page := range []string{"one", "two"} {
			url := "http://" + page + name[:1] + ".example/"
			key, err := cdx.Key(url)
			if err != nil {
				t.Fatal(err)
			}
			packed := z.EncodeAll([]byte(record(url, "page "+page)), nil)
			s.captures = append(s.captures, cdx.Capture{Key: key, Timestamp: "20260101000000", URL: url, Status: 200, MIME: "text/plain",
				File: name, Offset: int64(len(file)), Length: int64(len(packed))})
			file = append(file, packed...)
		}
		s.files[name] = file
	}
	srv := s.server(t)
	for range 3 {
		for _, page := range []string{"onea", "twoa", "oneb", "twob"} {
			if _, body := get(t, srv, "/web/20260101000000id_/http://"+page+".example/"); body != "page "+page[:3] {
				t.Errorf("%s: %q", page, body)
			}
		}
	}
	if n := s.beginnings.Load(); n != 2 {
		t.Errorf("the beginnings of two files were read %d times", n)
	}
	s.files["b.warc.zst"] = s.files["b.warc.zst"][:20] // the dictionary is cut off
	again := s.server(t)
	if resp, body := get(t, again, "/web/20260101000000id_/http://oneb.example/"); resp.StatusCode != 503 || strings.Contains(body, "page one") {
		t.Errorf("without its dictionary: %d", resp.StatusCode)
	}
}

// Of many dictionaries, those used last are kept, in bounded memory.
func TestDictionariesAreFew(t *testing.T) {
	t.Parallel()
	large, err := warc.ReadDictionary(bytes.NewReader(append(binary.LittleEndian.AppendUint32(
		binary.LittleEndian.AppendUint32(nil, 0x184d2a5d), 15<<20), make([]byte, 15<<20)...)), "large")
	if err != nil || large.Size() != 15<<20 {
		t.Fatal(large.Size(), err)
	}
	var k dictionaries
	for i := range 1000 {
		k.put(fmt.Sprint(i), nil)
		k.get("0")
	}
	if _, ok := k.get("0"); !ok || len(k.last) != keptDictionaries {
		t.Errorf("the one that is used is kept: %t, of %d", ok, len(k.last))
	}
	for i := range 5 {
		k.put(fmt.Sprint("large", i), large)
		k.put(fmt.Sprint("large", i), large)
	}
	if len(k.last) != 2 || k.size != 30<<20 {
		t.Errorf("%d dictionaries of %d bytes are kept", len(k.last), k.size)
	}
}
