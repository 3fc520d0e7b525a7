package metadata

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/cdx"
	"holdfast/index/jobset"
	"holdfast/index/shelf"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// extractor copies records out of the shop's files.
func extractor(t *testing.T, s *shop, f Files) Extractor {
	room := func() (int64, error) { return 1 << 40, nil }
	cache := jobset.NewCache(jobset.Config{Config: shelf.Config{Dir: f.Dir, Disk: disk.New(), Most: 1 << 30, Age: time.Hour,
		Room: room, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, Source: f, Memory: 64 << 10})
	t.Cleanup(func() {
		left, err := os.ReadDir(f.Dir)
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "sort-") {
				t.Errorf("%s is left: %v", e.Name(), err)
			}
		}
	})
	return Extractor{Jobs: s, Records: s, Indexes: cache, Dir: f.Dir, Disk: disk.New(), Room: room, Memory: 64 << 10, Version: "1"}
}

// extract returns what is written, and the records in it: their URLs with their blocks.
func extract(t *testing.T, e Extractor, want Selection) (text []byte, all map[string]string, wrong error) {
	t.Helper()
	x, err := e.Open(t.Context(), 7, want)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, wrong := x.WriteTo(&out)
	if err := x.Close(); err != nil || n != int64(out.Len()) {
		t.Fatal(n, err)
	}
	records, err := warc.NewReader(bytes.NewReader(out.Bytes()), "x.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]string{}
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), all, wrong
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		name := rec.TargetURI()
		if rec.Type == warc.TypeWarcinfo {
			name = rec.Type
		}
		all[name] = string(block)
	}
}

// Records are copied byte for byte, large ones too. What is not as it was stored is named, and is no clean end.
func TestRecords(t *testing.T) {
	s, f := newShop(t)
	draft := func(url, text string) warc.Draft {
		return warc.Draft{Type: warc.TypeResource, TargetURI: url, ContentType: "text/plain",
			Block: strings.NewReader(text), Size: int64(len(text))}
	}
	noise := make([]byte, 3<<20) // does not become smaller
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	const name = "7-1.warc.gz"
	at := s.put(name, draft("http://a.test/", "first"), draft("http://b.test/", string(noise)),
		draft("http://c.test/x", "third"))
	line := func(url, kind, file, offset string) string {
		return strings.Join([]string{url, "-", "20260304050607", kind, "1", file, offset}, " ") + "\n"
	}
	offset := func(i int) string { return itoa(at[i].Offset) }
	cdx := line("http://c.test/x", "image/png", name, offset(2)) + line("http://a.test/", "text/html", name, offset(0)) +
		line("http://b.test/", "text/html", name, offset(1))
	s.metadata(7, 1, [2]string{CDXPath, cdx})
	e := extractor(t, s, f)

	text, all, err := extract(t, e, Selection{})
	if err != nil || len(all) != 4 || all["http://a.test/"] != "first" || all["http://b.test/"] != string(noise) ||
		all["http://c.test/x"] != "third" || !strings.Contains(all["warcinfo"], "isPartOf: 7") {
		t.Fatalf("%d records: %v", len(all), err)
	}
	if _, all, err := extract(t, e, Selection{Gate: nothingOf("test,c)")}); err != nil || len(all) != 3 || all["http://c.test/x"] != "" {
		t.Errorf("through a gate: %d records, %v", len(all), err)
	}
	if stored := s.files[name][at[0].Offset:]; !bytes.HasSuffix(text, stored) {
		t.Error("the records are not byte for byte as they are stored")
	}
	for _, tt := range []struct {
		url, kind string
		want      string
	}{{"^http://c", "", "http://c.test/x"}, {"", "^image/", "http://c.test/x"}, {"a.test", "html", "http://a.test/"},
		{"a.test", "png", ""}} {
		want := Selection{URL: regexp.MustCompile(tt.url), Type: regexp.MustCompile(tt.kind)}
		_, all, err := extract(t, e, want)
		if err != nil || len(all) != 1+min(len(tt.want), 1) || tt.want != "" && all[tt.want] == "" {
			t.Errorf("%v: %d records, %v", tt, len(all), err)
		}
	}

	// One is damaged, and others are not where they are said to be.
	damaged := bytes.Clone(s.files[name])
	damaged[at[1].Offset+at[1].Length/2] ^= 1
	s.files[name] = damaged
	s.files["7-2.warc.gz"] = s.files[name][:at[1].Offset+1000]
	s.attempts[7] = nil
	s.metadata(7, 2, [2]string{CDXPath, cdx + line("http://d.test/", "text/html", name, offset(0)) +
		line("http://e.test/", "text/html", "gone.warc.gz", "0") +
		line("http://b.test/", "text/html", "7-2.warc.gz", offset(1))})
	_, all, err = extract(t, e, Selection{})
	unread := all[UnreadURI]
	if !errors.Is(err, ErrUnread) || len(all) != 4 || all["http://c.test/x"] != "third" {
		t.Errorf("%d records: %v", len(all), err)
	}
	for _, want := range []string{"unread-count: 4\r\n", "unread: " + name + " " + offset(1) + " http://b.test/: ",
		"unread: " + name + " " + offset(0) + " http://d.test/: ", "unread: gone.warc.gz 0 http://e.test/: ",
		"unread: 7-2.warc.gz " + offset(1) + " http://b.test/: "} {
		if !strings.Contains(unread, want) {
			t.Errorf("%s is not named in %s", want, unread)
		}
	}

	gone, cancel := context.WithCancel(t.Context())
	x, err := e.Open(gone, 7, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := x.WriteTo(io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Open(t.Context(), 8, Selection{}); !errors.Is(err, jobset.ErrNone) {
		t.Errorf("a job without a metadata file: %v", err)
	}
	e.Room = func() (int64, error) { return 0, nil }
	if _, all, err = extract(t, e, Selection{URL: regexp.MustCompile("c.test")}); err != nil || len(all) != 2 {
		t.Errorf("a small record needs room: %v", err)
	}
}

// nothingOf keeps back what has a key with the prefix.
type nothingOf string

func (n nothingOf) Within(string, string) cdx.Gate { return n }
func (n nothingOf) Passes(c *cdx.Capture) bool     { return !strings.HasPrefix(c.Key, string(n)) }

// A record whose block has another digest than its header says is not handed out.
func TestWrongDigest(t *testing.T) {
	s, f := newShop(t)
	const name = "7-1.warc.gz"
	at := s.put(name, warc.Draft{Type: warc.TypeResource, TargetURI: "http://a.test/", ContentType: "text/plain",
		Block: strings.NewReader("text"), Size: 4})
	record, err := gunzip(s.files[name][at[0].Offset:])
	if err != nil {
		t.Fatal(err)
	}
	s.files[name] = append(s.files[name][:at[0].Offset:at[0].Offset],
		zipped(t, bytes.Replace(record, []byte("\r\n\r\ntext"), []byte("\r\n\r\nTEXT"), 1))...)
	s.metadata(7, 1, [2]string{CDXPath, "http://a.test/ - 20260304050607 text/plain 4 " + name + " " +
		itoa(at[0].Offset) + "\n"})
	_, all, err := extract(t, extractor(t, s, f), Selection{})
	if !errors.Is(err, ErrUnread) || all["http://a.test/"] != "" || !strings.Contains(all[UnreadURI], "digest") {
		t.Errorf("%v %v", all, err)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func gunzip(text []byte) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	in.Multistream(false)
	return io.ReadAll(in)
}

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
