package metadata

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// copies are those of one file, which are read one after the other. A copy that is doubted is not the last one.
type copies struct {
	all            [][]byte
	opened, doubts int
}

type oneCopy struct {
	io.Reader
	of *copies
}

func (oneCopy) Close() error { return nil }

func (c oneCopy) Doubt() bool {
	c.of.doubts++
	return c.of.opened < len(c.of.all)
}

func (c *copies) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	c.opened++
	return oneCopy{bytes.NewReader(c.all[c.opened-1]), c}, nil
}

// reading returns what reads the copies.
func reading(t *testing.T, all ...[]byte) (Reader, *copies) {
	of := &copies{all: all}
	return Reader{Records: of, Dir: t.TempDir(), Room: func() (int64, error) { return 1 << 40, nil },
		Log: slog.New(slog.DiscardHandler)}, of
}

// blocks are what the records of a file say.
func blocks(t *testing.T, f *File) string {
	t.Helper()
	var out strings.Builder
	err := f.Each(t.Context(), func(rec *warc.Record) error {
		if PathOf(rec) == "" {
			return nil
		}
		_, err := io.Copy(&out, rec.Block)
		return err
	})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// plain is the file without compression, and so without the checksums of gzip.
func plain(t *testing.T, packed []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// changed replaces a text that is in the file once.
func changed(t *testing.T, file []byte, from, to string) []byte {
	t.Helper()
	if n := bytes.Count(file, []byte(from)); n != 1 || len(from) != len(to) {
		t.Fatalf("%q is %d times in the file", from, n)
	}
	return bytes.Replace(file, []byte(from), []byte(to), 1)
}

// TestReadComparesDigests: of a file in which a record is not as it was written nothing is given, whatever the damage,
// and another copy is read.
func TestReadComparesDigests(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	const said = "first of two lines\nsecond\n"
	s.metadata(7, 1, [2]string{CDXPath, "nothing\n"}, [2]string{CrawlLogPath, said})
	good := s.files[string(Name(7, 1))]
	open := plain(t, good)
	at := bytes.LastIndex(open, []byte("WARC-Block-Digest: "))
	end := at + bytes.IndexByte(open[at:], '\n') + 1
	onlyPayload := append(bytes.Clone(open[:at]), open[end:]...)
	digest := string(open[at+len("WARC-Block-Digest: ") : end-2])
	other := strings.Repeat("A", len(digest)-len("sha1:"))
	cases := map[string][]byte{
		"block":          changed(t, open, "second", "fecond"),
		"block digest":   changed(t, open, "Block-Digest: "+digest, "Block-Digest: sha1:"+other),
		"payload":        changed(t, onlyPayload, "second", "fecond"),
		"payload digest": changed(t, onlyPayload, digest, "sha1:"+other),
	}
	for name, bad := range cases {
		r, of := reading(t, bad)
		if _, err := r.Read(t.Context(), "x"); !errors.Is(err, errUnlike) || of.doubts != 1 {
			t.Errorf("%s: %v, doubted %d times", name, err, of.doubts)
		}
	}
	cases["no digest that is known"] = changed(t, open, "Block-Digest: "+digest, "Block-Digest: sha9"+digest[4:])
	cases["empty"] = nil
	for _, size := range []int{1, len(good) / 2, len(good) - 1} {
		cases["cut, packed"+itoa(int64(size))] = good[:size]
	}
	for _, size := range []int{10, bytes.Index(open, []byte("second")), len(open) - 5} {
		cases["cut, plain"+itoa(int64(size))] = open[:size]
	}
	for at := range good {
		if at%13 == 0 {
			bad := bytes.Clone(good)
			bad[at] ^= 4
			cases["bit"+itoa(int64(at))] = bad
		}
	}
	for name, bad := range cases {
		r, _ := reading(t, bad)
		if f, err := r.Read(t.Context(), "x"); err == nil {
			if strings.HasPrefix(name, "bit") && blocks(t, f) == "nothing\n"+said {
				continue // of what gzip keeps of a file's name and time nothing is read
			}
			t.Errorf("%s: it is read", name)
		}
		r, of := reading(t, bad, good)
		f, err := r.Read(t.Context(), "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := blocks(t, f); got != "nothing\n"+said || of.opened != 2 || of.doubts != 1 {
			t.Errorf("%s: %q, %d copies read, doubted %d times", name, got, of.opened, of.doubts)
		}
	}
	for name, file := range map[string][]byte{"packed": good, "plain": open, "only a payload digest": onlyPayload} {
		r, of := reading(t, file)
		f, err := r.Read(t.Context(), "x")
		if err != nil || !strings.HasSuffix(blocks(t, f), said) || of.doubts != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large file is kept on the disk while it is read, and only then; without room no copy is to blame.
func TestReadALargeFile(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	s.metadata(7, 1, [2]string{CrawlLogPath, string(noise)})
	good := s.files[string(Name(7, 1))]
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	r, of := reading(t, bad, good)
	f, err := r.Read(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) != 1 {
		t.Errorf("%v are there: %v", left, err)
	}
	if blocks(t, f) != string(noise) || of.opened != 2 {
		t.Errorf("%d copies read", of.opened)
	}
	r.Room = func() (int64, error) { return 1 << 20, nil }
	of.opened, of.doubts = 0, 0
	of.all = [][]byte{good, good}
	if _, err := r.Read(t.Context(), "x"); !errors.Is(err, disk.ErrFull) || of.doubts != 0 || of.opened != 1 {
		t.Errorf("without room: %v, doubted %d times", err, of.doubts)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	of.opened = 0
	if _, err := r.Read(gone, "x"); !errors.Is(err, context.Canceled) || of.doubts != 0 {
		t.Errorf("who left: %v, doubted %d times", err, of.doubts)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left: %v", left, err)
	}
}
