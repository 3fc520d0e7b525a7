package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/index/dedup"
	"holdfast/internal/disk"
	"holdfast/node/metadata"
	"holdfast/warc"
)

const (
	digestA = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	digestB = "sha1:BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// visits writes a WARC file as a crawl does: what was fetched, then its metadata record.
func visits(t *testing.T, r *Attempt, all ...warc.Draft) (path string, at []warc.Position) {
	t.Helper()
	files, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: filepath.Join(r.Dir, "warcs"), Prefix: prefix(r.Job),
		Node: "north-1", Now: func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }},
		func(f warc.Finished) error { path = f.Path; return nil })
	if err == nil {
		at, err = files.Write(all...)
		err = errors.Join(err, files.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, at
}

// visit drafts the records of a URI.
func visit(kind, url, id, head, digest, notes string, fields ...warc.Field) []warc.Draft {
	fields = append(fields, warc.Field{Name: "WARC-Payload-Digest", Value: digest})
	if kind == warc.TypeRevisit {
		fields = append(fields, warc.Field{Name: "WARC-Profile",
			Value: "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"},
			warc.Field{Name: "WARC-Truncated", Value: "length"})
	}
	about := "via: x\r\n"
	if notes != "" {
		about += "annotations: " + notes + "\r\noutlink: http://x.test/ L a\r\n"
	}
	return []warc.Draft{{ID: id, Type: kind, TargetURI: url, ContentType: "application/http; msgtype=response",
		Block: strings.NewReader(head), Size: int64(len(head)), Fields: fields,
		Date: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
		{Type: warc.TypeMetadata, TargetURI: url, ContentType: "application/warc-fields",
			Fields: []warc.Field{{Name: "WARC-Concurrent-To", Value: id}}, Block: strings.NewReader(about),
			Size: int64(len(about))}}
}

// oneFile gives the metadata files of jobs.
type oneFile map[uint64]string

func (f oneFile) Piece(ctx context.Context, job uint64) (io.ReadCloser, error) {
	path, there := f[job]
	if !there {
		return nil, dedup.ErrNone
	}
	return metadata.Files{Reader: metadata.Reader{Records: here(path), Room: func() (int64, error) { return 1 << 40, nil },
		Log: slog.New(slog.DiscardHandler)}, Jobs: here(path)}.Piece(ctx, job)
}

// here is the only metadata file of a job.
type here string

func (h here) Attempts(uint64) ([]int, error) { return []int{1}, nil }

func (h here) Lost(uint64) ([]int, error) { return nil, nil }

func (h here) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return os.Open(string(h))
}

// A job's metadata file lists what it recorded, and the next job finds it there: by URL with validators, by digest, and
// through a revisit where the content is.
func TestNextJobFindsWhatThisRecorded(t *testing.T) {
	t.Parallel()
	on := func(s *harvest.Settings) { s.Deduplicate = "digest" }
	c, r := documented(t, catalog.Job{ID: 7, Attempt: 1, Harvest: "h"}, Origin{Organization: "x.test"}, on)
	full := func(status, more string) string {
		return "HTTP/1.1 " + status + "\r\nContent-Type: image/png\r\nETag: \"1\"\r\n" + more + "\r\n"
	}
	const id, bad = "<urn:uuid:00000000-0000-4000-8000-000000000001>", "<urn:uuid:00000000-0000-4000-8000-000000000009>"
	all := visit(warc.TypeResponse, "http://h.test/a", id, full("200 OK", ""), digestA, "2t")
	all = append(all, visit(warc.TypeRevisit, "http://h.test/b", "<urn:uuid:00000000-0000-4000-8000-000000000002>",
		full("200 OK", ""), digestB, `duplicate:"1-1,x.warc.gz,4711,20250101000000",duplicate:digest,2t`,
		warc.Field{Name: "WARC-Refers-To-Target-URI", Value: "http://old.test/"},
		warc.Field{Name: "WARC-Refers-To-Date", Value: "2025-01-01T00:00:00Z"},
		warc.Field{Name: "WARC-Refers-To", Value: bad})...)
	all = append(all, visit(warc.TypeResponse, "http://h.test/404", bad, full("404 Not Found", ""), digestB, "")...)
	all = append(all, visit(warc.TypeRevisit, "http://h.test/nowhere", "<urn:uuid:00000000-0000-4000-8000-000000000003>",
		full("200 OK", ""), digestB, "")...)
	path, at := visits(t, r, all...)
	checkDocument(t, c, r)

	next, job := New(c.cfg), catalog.Job{ID: 8, Attempt: 1, Harvest: "h", Number: 3, Run: 2}
	next.cfg.Documents = dedup.NewCache(dedup.Config{Dir: t.TempDir(), Disk: disk.New(), Memory: 1 << 20, Most: 1 << 30,
		Source: oneFile{7: filepath.Join(r.Dir, string(MetadataName(r.Job)))}, Age: time.Hour, Now: time.Now,
		Room: func() (int64, error) { return 1 << 40, nil }, Log: slog.New(slog.DiscardHandler)})
	from := &made{Definition: Definition{Continues: []uint64{6, 7}}}
	on(&from.given)
	second := &Attempt{Job: job, Dir: t.TempDir(), out: &programLog{}}
	defer second.forget()
	earlier, err := next.cfg.lookBack(t.Context(), second, from, slog.New(slog.DiscardHandler))
	if err != nil || len(from.Continues) != 1 || from.Continues[0] != 7 {
		t.Fatalf("jobs %v: %v", from.Continues, err)
	}
	found := earlier.(earlierJobs)
	found.there = func(file string) bool { return file != "gone" }
	a, err := found.Latest(t.Context(), "http://h.test/a")
	if err != nil || a == nil || a.ETag != `"1"` || a.File != filepath.Base(path) || a.Offset != at[0].Offset ||
		a.RecordID != id || a.Type != "image/png" || a.Digest != digestA || a.Date.Year() != 2026 {
		t.Errorf("by URL: %+v %v", a, err)
	}
	b, err := found.Content(t.Context(), digestB)
	if err != nil || b == nil || b.File != "1-1,x.warc.gz" || b.Offset != 4711 || b.URL != "http://old.test/" ||
		b.RecordID != bad || b.Date.Year() != 2025 {
		t.Errorf("by digest: %+v %v", b, err)
	}
	for _, url := range []string{"http://h.test/404", "http://h.test/nowhere"} {
		if c, err := found.Latest(t.Context(), url); c != nil || err != nil {
			t.Errorf("%s: %+v %v", url, c, err)
		}
	}
	found.there = func(string) bool { return false }
	if c, err := found.Content(t.Context(), digestA); c != nil || err != nil {
		t.Errorf("of a file that is gone: %+v %v", c, err)
	}

	// What a server does not repeat when nothing has changed is known from before.
	third := &Attempt{Job: catalog.Job{ID: 9, Attempt: 1}, Dir: t.TempDir(), out: &programLog{}, before: second.before}
	visits(t, third, visit(warc.TypeRevisit, "http://h.test/a", "<urn:uuid:00000000-0000-4000-8000-000000000005>",
		"HTTP/1.1 304 Not Modified\r\n\r\n", digestA, `duplicate:"`+filepath.Base(path)+`,0,20260304050607"`,
		warc.Field{Name: "WARC-Refers-To-Date", Value: "2026-03-04T05:06:07Z"})...)
	_, list, err := next.cfg.survey(third, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(list)
	if err != nil || !strings.Contains(string(text), `"etag":"\"1\""`) {
		t.Errorf("%s %v", text, err)
	}
}

// What earlier jobs recorded is looked up for what is not stored again, and for asking whether it has changed.
func TestWhoLooksBack(t *testing.T) {
	t.Parallel()
	const off = `"deduplicate":"none"`
	for text, want := range map[string]bool{
		off:                              false,
		`"deduplicate":"url"`:            true,
		off + `,"conditional":true`:      true,
		sheetWith(`"deduplicate":"url"`): true,
		sheetWith(`"conditional":true`):  true,
		sheetWith(`"conditional":false`): false,
	} {
		settings := harvest.DefaultSettings()
		if err := json.Unmarshal([]byte("{"+text+"}"), &settings); err != nil {
			t.Fatal(err)
		}
		if got := looksBack(&settings); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func sheetWith(setting string) string {
	return `"deduplicate":"none","sheets":[{"name":"s","settings":{` + setting + `}}]`
}

// A job keeps the jobs that it is compared with through restarts; one whose lists cannot be had stores all again.
func TestLookingBackStaysTheSame(t *testing.T) {
	t.Parallel()
	c, _ := documented(t, catalog.Job{ID: 7, Attempt: 1, Harvest: "h"}, Origin{}, func(*harvest.Settings) {})
	room := int64(1 << 40)
	c.cfg.Documents = dedup.NewCache(dedup.Config{Dir: t.TempDir(), Disk: disk.New(), Memory: 1 << 20, Most: 1 << 30,
		Source: oneFile{}, Age: time.Hour, Now: time.Now, Room: func() (int64, error) { return room, nil },
		Log: slog.New(slog.DiscardHandler)})
	r := &Attempt{Job: catalog.Job{ID: 8, Attempt: 1, Number: 3}, Dir: t.TempDir(), out: &programLog{}}
	defer r.forget()
	look := func(continues ...uint64) *made {
		t.Helper()
		from := &made{Definition: Definition{Harvest: []byte("{}"), Continues: continues}}
		from.given.Deduplicate = "digest"
		if _, err := c.cfg.lookBack(t.Context(), r, from, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		return from
	}
	from := look(5)
	if len(from.Continues) != 0 {
		t.Errorf("continues %v", from.Continues)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(r.Dir, "settings"), 0o755), from.keep(c.cfg.Disk, r.Dir)); err != nil {
		t.Fatal(err)
	}
	if ids, err := continued(r.Dir); err != nil || len(ids) != 0 {
		t.Errorf("%v %v", ids, err)
	}
	path := filepath.Join(r.Dir, "settings", continuesFile)
	if err := os.WriteFile(path, []byte("4,x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := continued(r.Dir); err == nil {
		t.Error("a damaged list of jobs is read")
	}
	if err := os.WriteFile(path, []byte("4,19"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, err := continued(r.Dir); err != nil || len(ids) != 2 || ids[1] != 19 {
		t.Errorf("%v %v", ids, err)
	}
	room = 0
	if from = look(5); len(from.Continues) != 0 {
		t.Errorf("without room: continues %v", from.Continues)
	}
}
