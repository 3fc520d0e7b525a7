package metadata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// shop has files of an archive, and the attempts of which it has metadata files.
type shop struct {
	t        *testing.T
	files    map[string][]byte
	attempts map[uint64][]int
	lost     []int // attempts of each job
}

func (s *shop) Lost(uint64) ([]int, error) { return s.lost, nil }

func (s *shop) Attempts(job uint64) ([]int, error) { return s.attempts[job], nil }

func (s *shop) Open(_ context.Context, file string, offset, _ int64) (io.ReadCloser, error) {
	data, there := s.files[file]
	if !there || offset > int64(len(data)) {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), nil
}

// metadata puts the metadata file of an attempt on the shelf: records by their paths, such as CDXPath.
func (s *shop) metadata(job uint64, attempt int, records ...[2]string) {
	s.t.Helper()
	var drafts []warc.Draft
	for _, r := range records {
		drafts = append(drafts, warc.Draft{Type: warc.TypeResource, ContentType: "text/plain",
			TargetURI: fmt.Sprintf("metadata://x.test%s?jobid=%d", r[0], job), Block: strings.NewReader(r[1]),
			Size: int64(len(r[1]))})
	}
	s.put(string(Name(job, attempt)), drafts...)
	s.attempts[job] = append(s.attempts[job], attempt)
}

// put puts a WARC file on the shelf, and returns where its records are.
func (s *shop) put(name string, drafts ...warc.Draft) []warc.Position {
	s.t.Helper()
	path := s.t.TempDir() + "/" + name
	w, err := warc.NewFile(disk.New(), path, warc.FilesConfig{}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	at, err := w.Write(drafts...)
	if err := errors.Join(err, w.Close()); err != nil {
		s.t.Fatal(err)
	}
	if s.files[name], err = os.ReadFile(path); err != nil {
		s.t.Fatal(err)
	}
	return at
}

func newShop(t *testing.T) (*shop, Files) {
	s := &shop{t: t, files: map[string][]byte{}, attempts: map[uint64][]int{}}
	return s, Files{Reader: Reader{Records: s, Dir: t.TempDir(), Room: func() (int64, error) { return 1 << 40, nil },
		Log: slog.New(slog.DiscardHandler)}, Jobs: s, Memory: 64 << 10}
}

func lines(t *testing.T, f Files, kind jobset.Kind, job uint64) (all []string) {
	t.Helper()
	err := f.Lines(t.Context(), kind, job, func(line []byte) error { all = append(all, string(line)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

const (
	cdxA = "http://a.test/ 192.0.2.1 20260304050607 text/html 123 7-1.warc.gz 400\n"
	cdxB = "http://b.test/x 192.0.2.2 20260304050608 image/png 99 7-1.warc.gz 4711\n"
	cdxC = "urn:screenshot:http://a.test/ - 20260304050610 image/png 99 7-2.warc.gz 1\n"
)

// The CDX of all WARC files of all attempts whose metadata files are there.
func TestCDX(t *testing.T) {
	s, f := newShop(t)
	s.metadata(7, 1, [2]string{CDXPath, cdxB}, [2]string{"/crawl/logs/crawl.log", "x\n"}, [2]string{CDXPath, cdxA})
	s.metadata(7, 3, [2]string{CDXPath, cdxC}, [2]string{DocumentsPath, "y\n"})
	if e, err := f.Edition(7); e != "1_3" || err != nil {
		t.Errorf("%s %v", e, err)
	}
	if got := strings.Join(lines(t, f, jobset.CDX, 7), "\n") + "\n"; got != cdxA+cdxB+cdxC {
		t.Errorf("%s", got)
	}
	if _, err := f.Edition(8); !errors.Is(err, jobset.ErrNone) {
		t.Errorf("a job without a metadata file: %v", err)
	}
	if err := f.Lines(t.Context(), jobset.CDX, 8, nil); !errors.Is(err, jobset.ErrNone) {
		t.Errorf("a job without a metadata file: %v", err)
	}
	whole := s.files[string(Name(7, 3))]
	s.files[string(Name(7, 3))] = whole[:len(whole)-30]
	if err := f.Lines(t.Context(), jobset.CDX, 7, func([]byte) error { return nil }); err == nil {
		t.Error("a file that was cut is read")
	}
}

const (
	logA      = "2026-03-04T05:06:08.089Z   200       1234 http://a.test/ - - text/html #007 20260304050607089+56 sha1:A http://a.test/ 2t\n"
	logB      = "2026-03-04T05:06:09.000Z   200         99 http://b.test/x LE http://a.test/ image/png #007 20260304050608000+5 sha1:B http://a.test/ duplicate:\"3-1,0.warc.gz,815,20250101000000\",duplicate:digest\n"
	logOld    = "2026-03-04T05:06:09.000Z   200         99 http://b.test/x LE http://a.test/ image/png #007 20260304050608000+5 sha1:B http://a.test/ duplicate:\"3-1.arc,815\"\n"
	logNoSuch = "2026-03-04T05:06:09.000Z   200         99 http://b.test/x LE http://a.test/ image/png #007 20260304050608000+5 sha1:B http://a.test/ duplicate:digest\n"
	logFailed = "2026-03-04T05:06:10.500Z -9998          - http://c.test/ L http://a.test/ no-type #008 - - http://a.test/ -\n"
	logExtra  = "2026-03-04T05:06:08.089Z   200       1234 http://d.test/ - - text/html #007 20260304050607089+56 sha1:D http://d.test/ - {\"contentSize\":1,\"warcFilename\":\"7-4.warc.gz\",\"warcFileOffset\":12}\n"
)

// The full index says how each URL ended, and where what it brought is stored.
func TestFull(t *testing.T) {
	s, f := newShop(t)
	s.metadata(7, 1, [2]string{CDXPath, cdxB + "no line\n" + cdxC}, [2]string{CDXPath, cdxA},
		[2]string{CrawlLogPath, logB + "no line\n" + logA + logFailed + logExtra})
	want := []string{
		`a.test... 20260304050607 url=http://a.test/ mime=text/html status=200 digest=sha1:A filename=7-1.warc.gz offset=400 ip=192.0.2.1 size=1234 duration=56 source=http://a.test/ annotations=2t job=7`,
		`b.test 20260304050608 url=http://b.test/x mime=image/png status=200 digest=sha1:B filename=3-1,0.warc.gz offset=815 revisit_filename=7-1.warc.gz revisit_offset=4711 via=http://a.test/ path=LE job=7`,
		`c.test 20260304050610 url=http://c.test/ status=-9998 path=L job=7`,
		`d.test 20260304050607 url=http://d.test/ filename=7-4.warc.gz offset=12 status=200 job=7`,
		`urn 20260304050610 url=urn:screenshot:http://a.test/ mime=image/png filename=7-2.warc.gz offset=1 job=7`,
	}
	got := lines(t, f, jobset.Full, 7)
	if len(got) != len(want) {
		t.Fatalf("%d lines: %s", len(got), strings.Join(got, "\n"))
	}
	for i, line := range got {
		key, rest, _ := strings.Cut(line, " ")
		at, text, _ := strings.Cut(rest, " ")
		var fields map[string]string
		if err := json.Unmarshal([]byte(text), &fields); err != nil || key == "" {
			t.Fatalf("%s: %v", line, err)
		}
		words := strings.Split(want[i], " ")
		if at != words[1] {
			t.Errorf("%s: want time %s", line, words[1])
		}
		for _, word := range words[2:] {
			name, value, _ := strings.Cut(word, "=")
			if fields[name] != value {
				t.Errorf("%s: want %s", line, word)
			}
		}
		if at := fields["filename"]; at == "" != (fields["url"] == "http://c.test/") {
			t.Errorf("%s", line)
		}
	}
	if !strings.HasPrefix(got[0], "test,a)/ 20260304050607 {\"url\":") {
		t.Errorf("not CDXJ: %s", got[0])
	}
}

// Where the original of a duplicate is follows from what tools wrote; a duplicate of which nobody said it is a revisit.
func TestOriginals(t *testing.T) {
	for log, want := range map[string]string{
		logOld:    `"offset":"815","filename":"3-1.arc"`,
		logNoSuch: `"mime":"warc/revisit","status":"200","digest":"sha1:B","offset":"4711","filename":"7-1.warc.gz"`,
	} {
		s, f := newShop(t)
		s.metadata(7, 1, [2]string{CDXPath, cdxB}, [2]string{CrawlLogPath, log})
		if got := lines(t, f, jobset.Full, 7); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Fetched twice within a second, each line has a record of its own.
func TestTwiceInASecond(t *testing.T) {
	s, f := newShop(t)
	s.metadata(7, 1, [2]string{CDXPath, cdxA + strings.Replace(cdxA, " 400", " 500", 1)},
		[2]string{CrawlLogPath, logA + strings.Replace(logA, "089+56", "500+7", 1)})
	got := lines(t, f, jobset.Full, 7)
	if len(got) != 2 || !strings.Contains(got[0], `"offset":"400"`) || !strings.Contains(got[1], `"offset":"500"`) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func FuzzParseCDX(f *testing.F) {
	f.Add([]byte(strings.TrimSpace(cdxA)))
	f.Fuzz(func(t *testing.T, line []byte) {
		if v, ok := parseCDX(line); ok {
			if _, err := v.cdxj(1); err != nil {
				t.Error(err)
			}
		}
	})
}

// piece reads the list of a job's documents.
func piece(t *testing.T, f Files, job uint64) (all []dedup.Document) {
	t.Helper()
	in, err := f.Piece(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range dedup.ReadPiece(in) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// The list of an older job is made of its log and its CDX; of a duplicate, the record of the original says the rest.
func TestListOfAnOlderJob(t *testing.T) {
	s, f := newShop(t)
	response := func(url, digest string) warc.Draft {
		const text = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\n\r\nx"
		return warc.Draft{Type: warc.TypeResponse, TargetURI: url, ContentType: "application/http; msgtype=response",
			Date: time.Date(2025, 1, 1, 0, 0, 0, 5e8, time.UTC), Block: strings.NewReader(text), Size: int64(len(text)),
			Fields: []warc.Field{{Name: "WARC-Payload-Digest", Value: digest}}}
	}
	const digestB, digestE = "sha1:BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "sha1:EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	at := s.put("3-1,0.warc.gz", response("http://old.test/", digestB), response("http://e.test/", digestE))
	again := func(url, digest, status, notes string, at warc.Position) string {
		return fmt.Sprintf("2026-03-04T05:06:09.000Z   %s         99 %s LE http://a.test/ image/png #007 "+
			"20260304050608000+5 %s - duplicate:\"%s,%d,20250101000000\",%s\n", status, url, digest, at.File, at.Offset, notes)
	}
	log := logA + logFailed + logExtra +
		again("http://b.test/x", digestB, "200", "duplicate:digest", at[0]) +
		again("http://e.test/", "-", "304", "duplicate:server-not-modified", at[1]) +
		again("http://other.test/", digestE, "200", "duplicate:digest", at[0]) + // says the place of other content
		again("http://gone.test/", digestB, "200", "duplicate:digest", warc.Position{File: "gone"}) +
		strings.NewReplacer("a.test", "cut.test", " 2t", " 2t,lenTrunc").Replace(logA) +
		strings.NewReplacer("a.test", "no.test", "  200 ", "  404 ").Replace(logA) +
		strings.NewReplacer("a.test", "nowhere.test").Replace(logA)
	cdx := cdxA + cdxB + strings.ReplaceAll(cdxA, "a.test", "cut.test") + strings.ReplaceAll(cdxA, "a.test", "no.test")
	s.metadata(7, 1, [2]string{CrawlLogPath, log}, [2]string{CDXPath, cdx})
	all := piece(t, f, 7)
	got := map[string]dedup.Document{}
	for _, d := range all {
		got[d.URL] = d
	}
	if len(all) != 4 || len(got) != 4 {
		t.Fatalf("%d documents: %+v", len(all), all)
	}
	if a := got["http://a.test/"]; a.File != "7-1.warc.gz" || a.Offset != 400 || a.Digest != "sha1:A" ||
		a.Type != "text/html" || !a.Time.Equal(time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)) {
		t.Errorf("%+v", a)
	}
	if d := got["http://d.test/"]; d.File != "7-4.warc.gz" || d.Offset != 12 {
		t.Errorf("%+v", d)
	}
	b := got["http://b.test/x"]
	if url, date := b.Original(); url != "http://old.test/" || date.Year() != 2025 || b.File != at[0].File ||
		b.Offset != at[0].Offset || b.ID == "" || b.ETag != "" || b.Time.Year() != 2026 {
		t.Errorf("%+v", b)
	}
	e := got["http://e.test/"]
	if url, date := e.Original(); url != e.URL || date.Year() != 2025 || e.Digest != digestE || e.ETag != `"1"` ||
		e.Offset != at[1].Offset {
		t.Errorf("%+v", e)
	}

	s.metadata(8, 1, [2]string{CDXPath, cdxA})
	for job, what := range map[uint64]string{8: "without a log", 9: "without a metadata file"} {
		if _, err := f.Piece(t.Context(), job); !errors.Is(err, dedup.ErrNone) {
			t.Errorf("a job %s: %v", what, err)
		}
	}
	in, err := f.Piece(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil { // nobody reads it
		t.Error(err)
	}
	s.metadata(10, 1, [2]string{CrawlLogPath, logA}, [2]string{DocumentsPath,
		"{\"format\":\"holdfast-documents\",\"version\":1,\"job\":10}\n{\"documents\":0}\n"}, [2]string{CDXPath, cdxA})
	if all := piece(t, f, 10); len(all) != 0 {
		t.Errorf("a list that is there is not used: %+v", all)
	}
}
