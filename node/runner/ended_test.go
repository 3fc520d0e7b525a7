package runner

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/disk"
)

// copiesRead are the copies of one file that are read one after the other.
type copiesRead struct {
	mu     sync.Mutex
	copies [][]byte
	opened int
	doubts int
}

type copyRead struct {
	io.Reader
	of *copiesRead
}

func (c copyRead) Close() error { return nil }

func (c copyRead) Doubt() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.doubts++
	return true
}

func (s *copiesRead) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.copies[min(s.opened, len(s.copies)-1)]
	s.opened++
	return copyRead{bytes.NewReader(next), s}, nil
}

// endedJob is a job with a metadata file in the archive, which is returned, and what reads it.
func endedJob(t *testing.T, id uint64) (*Ended, *catalog.Job, *copiesRead) {
	t.Helper()
	job := catalog.Job{ID: id, Harvest: "j", Collection: "web", Attempt: 2, State: catalog.JobStarted, Node: "other"}
	c, r := documented(t, job, Origin{Organization: "kb.example"}, func(*harvest.Settings) {})
	crawled(t, r, nil)
	if err := c.MakeDocument(r); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(r.Dir, string(MetadataName(job))))
	if err != nil {
		t.Fatal(err)
	}
	state := c.cfg.Agreement.(agreed).state
	if err := state.Set([]byte("file/"+string(MetadataName(job))), []byte("\x01{}")); err != nil {
		t.Fatal(err)
	}
	s := &copiesRead{copies: [][]byte{whole}}
	job.State = catalog.JobDone
	return NewEnded(EndedConfig{Dir: filepath.Join(t.TempDir(), "ended"), Disk: disk.New(), Agreement: c.cfg.Agreement,
		Records: s, Room: func() (int64, error) { return 1 << 40, nil }, Log: slog.New(slog.DiscardHandler)}), &job, s
}

// TestAnEndedJobIsReadFromItsMetadataFile: logs, reports and settings are as the crawl left them, and are searched as
// those of a crawl here; the file is read once for all who ask.
func TestAnEndedJobIsReadFromItsMetadataFile(t *testing.T) {
	t.Parallel()
	e, job, s := endedJob(t, 7)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			err := e.Use(t.Context(), job, func(dir string) error {
				text, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
				if string(text) != "a line\n" {
					t.Errorf("%q", text)
				}
				found, err2 := crawler.Past(t.Context(), dir, act.Order{Act: act.Search{Pattern: "l.ne"}})
				if !slices.Equal(found.Lines, []string{"a line"}) {
					t.Errorf("%+v", found)
				}
				report, err3 := crawler.Past(t.Context(), dir, act.Order{Act: act.Report{Name: "hosts"}})
				if !slices.Equal(report.Lines, []string{"hosts"}) {
					t.Errorf("%+v", report)
				}
				all, err4 := Papers(dir)
				var names []string
				for _, p := range all {
					names = append(names, p.Folder+"/"+p.Name)
				}
				for _, want := range []string{"settings/attempt.json", "reports/hosts-report.txt",
					"reports/archivefiles-report.txt", "logs/crawl.log"} {
					if !slices.Contains(names, want) {
						t.Errorf("%s is not among %v", want, names)
					}
				}
				return errors.Join(err, err2, err3, err4)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if s.opened != 1 || s.doubts != 0 {
		t.Errorf("read %d times, doubted %d times", s.opened, s.doubts)
	}
	running := *job
	running.State = catalog.JobStarted
	other := *job
	other.Attempt = 3
	for _, j := range []*catalog.Job{&running, &other} {
		if err := e.Use(t.Context(), j, func(string) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", j, err)
		}
	}
}

// TestADamagedMetadataFileIsReadFromAnotherCopy: nothing of the damaged one is given, and if all are damaged, nothing
// at all.
func TestADamagedMetadataFileIsReadFromAnotherCopy(t *testing.T) {
	t.Parallel()
	e, job, s := endedJob(t, 7)
	good := s.copies[0]
	cut := good[:len(good)-20]
	for _, bad := range [][]byte{flipped(good, len(good)/2), cut, nil} {
		s.copies, s.opened = [][]byte{bad, good}, 0
		fresh := NewEnded(e.cfg)
		read := ""
		err := fresh.Use(t.Context(), job, func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
			read = string(text)
			return err
		})
		if err != nil || read != "a line\n" || s.opened != 2 {
			t.Errorf("%q, %v, read %d times", read, err, s.opened)
		}
		s.copies, s.opened = [][]byte{bad}, 0
		err = NewEnded(e.cfg).Use(t.Context(), job, func(string) error {
			t.Error("a damaged file is given")
			return nil
		})
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("damaged: %v", err)
		}
	}
	if left, err := os.ReadDir(e.cfg.Dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

func flipped(of []byte, at int) []byte {
	out := bytes.Clone(of)
	out[at] ^= 0x40
	return out
}

// TestWhatIsNotUsedIsRemoved: with room for nothing, a folder goes when nobody reads it any more.
func TestWhatIsNotUsedIsRemoved(t *testing.T) {
	t.Parallel()
	e, job, s := endedJob(t, 7)
	e.cfg.Most = 1
	for range 2 {
		err := e.Use(t.Context(), job, func(outer string) error {
			return e.Use(t.Context(), job, func(inner string) error {
				_, err := os.Stat(inner)
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(e.cfg.Dir); err != nil || len(left) != 0 || s.opened != 2 {
		t.Errorf("%v, %v are left, read %d times", left, err, s.opened)
	}
	e.cfg.Room = func() (int64, error) { return 3, nil }
	if err := e.Use(t.Context(), job, func(string) error { return nil }); err == nil {
		t.Error("a full disk is written to")
	}
}

// TestARecordWithoutADigestIsNotShown: there is nothing that could show that it is what the crawl left.
func TestARecordWithoutADigestIsNotShown(t *testing.T) {
	t.Parallel()
	e, job, s := endedJob(t, 7)
	packed, err := gzip.NewReader(bytes.NewReader(s.copies[0]))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	use := func() error { return NewEnded(e.cfg).Use(t.Context(), job, func(string) error { return nil }) }
	s.copies = [][]byte{text}
	if err := use(); err != nil {
		t.Fatal("a file that is not packed: ", err)
	}
	if err := e.cfg.Disk.RemoveAll(e.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	s.copies = [][]byte{regexp.MustCompile(`WARC-Block-Digest: [^\r]*\r\n`).ReplaceAll(text, nil)}
	if err := use(); !errors.Is(err, errUnproved) {
		t.Errorf("records without digests: %v", err)
	}
}
