package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/report"
	"holdfast/warc"
)

// ValueMended begins the names of the frontier's values that list damaged files, kept as they were, whose lost URIs
// were queued again.
const ValueMended = "mended/"

// DamagedSuffix ends the name of a WARC file with damage in its committed part. The file is kept as it was found.
const DamagedSuffix = ".damaged"

// Damage lists what was found damaged when a crawl was opened: WARC files with committed records that can no longer
// be read, or are gone.
type Damage struct {
	Files []string // as they are kept; as they were named, if they are gone
	URIs  int      // queued again, as their records are gone
}

// mending copies the whole records of damaged files into new files, and queues the lost URIs again.
type mending struct {
	r     *Recovery
	seed  maphash.Seed
	files []*broken
	lines map[uint64]*expected // of the captures that are in question
}

// broken is a damaged file.
type broken struct {
	path, name string // as it is kept; of the file that is whole
	accounted
	keep []warc.Span // whole members, in order
	size int64       // the length of the file
	gone bool        // there is no such file any more
}

// expected is a capture that has a line in the log.
type expected struct {
	digest string
	found  bool // its record is there
}

// keepDamaged gives a damaged file the name that it is kept under.
func (r *Recovery) keepDamaged(path string) error {
	base := strings.TrimSuffix(path, ".open") + DamagedSuffix
	aside := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			return r.disk.Rename(path, aside)
		}
		aside = base + strconv.Itoa(n)
	}
}

// damagedFiles returns the damaged files that were kept and are not mended yet.
func (r *Recovery) damagedFiles() (found []string, err error) {
	all, err := filepath.Glob(filepath.Join(r.dir, "warcs", "*.warc.gz"+DamagedSuffix+"*"))
	if err != nil {
		return nil, fmt.Errorf("look for damaged files: %w", err)
	}
	for _, path := range all {
		done, err := r.frontier.Value(ValueMended + filepath.Base(path))
		if err != nil {
			return nil, err
		}
		if len(done) == 0 {
			found = append(found, path)
		}
	}
	return found, nil
}

// goneFiles returns the files with committed records that were not handed over, and are not there any more.
func (r *Recovery) goneFiles() (gone []*broken, err error) {
	there, err := filepath.Glob(filepath.Join(r.dir, "warcs", "*.warc.gz*"))
	if err != nil {
		return nil, fmt.Errorf("look for WARC files: %w", err)
	}
	known := map[string]bool{} // to be there, or to be mended
	for _, path := range there {
		name, _, _ := strings.Cut(filepath.Base(path), ".warc.gz")
		known[name+".warc.gz"] = true
	}
	if err := r.frontier.Values(ValueMended, func(name string, _ []byte) error {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, ValueMended), DamagedSuffix)
		known[name] = true
		return nil
	}); err != nil {
		return nil, err
	}
	var names []string
	if err := r.frontier.Values(valueWARC, func(name string, _ []byte) error {
		if name = strings.TrimPrefix(name, valueWARC); !known[name] {
			names = append(names, name)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	back, err := r.checkpoints.takenBack()
	for _, name := range names {
		given, failed := r.journal.Handover.given(name)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		a, err := readAccounted(r.frontier, name)
		switch {
		case err != nil:
			return nil, err
		case given || a.end == 0:
		case back: // the log is another, too
			r.log.Error("a WARC file with records of this crawl is gone, from before the checkpoint", "file", name)
		default:
			gone = append(gone, &broken{name: name, accounted: a, gone: true})
		}
	}
	return gone, err
}

// mend makes whole files from damaged ones, and queues the URIs whose records are lost. After a crash it begins again
// from the start; earlier accounts of a file that it writes are dropped.
func (r *Recovery) mend(described map[string]warc.Finished) error {
	paths, err := r.damagedFiles()
	if err != nil {
		return err
	}
	m := &mending{r: r, seed: maphash.MakeSeed(), lines: map[uint64]*expected{}}
	if m.files, err = r.goneFiles(); err != nil || len(paths)+len(m.files) == 0 {
		return err
	}
	first, last := int64(math.MaxInt64), int64(0)
	for _, f := range m.files {
		first, last = min(first, f.first), max(last, f.last)
	}
	for _, path := range paths {
		name, _, _ := strings.Cut(filepath.Base(path), DamagedSuffix)
		a, err := readAccounted(r.frontier, name)
		if err != nil {
			return err
		}
		first, last = min(first, a.first), max(last, a.last)
		m.files = append(m.files, &broken{path: path, name: name, accounted: a})
	}
	if err := report.EachLine(m.crawlLog(), first, last, m.expect); err != nil {
		return err
	}
	for _, f := range m.files {
		if f.gone {
			continue
		}
		if err := m.survey(f); err != nil {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
		delete(described, f.name)
		if err := m.patch(f); err != nil {
			return err
		}
	}
	if err := m.lookElsewhere(first, last); err != nil {
		return err
	}
	if err := m.forgetLost(); err != nil {
		return err
	}
	n, err := m.queueLost(first)
	if err == nil {
		err = r.journal.Commit() // before the files are known to be mended
	}
	if err != nil {
		return err
	}
	r.damage.URIs += n
	for _, f := range m.files {
		if f.gone {
			r.damage.Files = append(r.damage.Files, f.name)
			r.frontier.SetValue(valueWARC+f.name, nil)
			r.log.Error("a WARC file with records of this crawl is gone: what was in it is fetched again",
				"file", f.name, "bytes lost", strconv.FormatInt(f.lost(), 10), "URIs queued again", strconv.Itoa(n))
			continue
		}
		kept := filepath.Base(f.path)
		r.damage.Files = append(r.damage.Files, kept)
		r.frontier.SetValue(ValueMended+kept, []byte("1"))
		r.log.Error("a WARC file is damaged: it is kept under this name, its whole records are copied to a file of "+
			"the original name, and what was lost is fetched again",
			"file", kept, "bytes lost", strconv.FormatInt(f.lost(), 10), "URIs queued again", strconv.Itoa(n))
	}
	return r.journal.Commit()
}

func (m *mending) crawlLog() string { return filepath.Join(m.r.dir, "logs", report.CrawlLog) }

// captureOf is the key of a capture, on which the log and its record agree.
func (m *mending) captureOf(uri string, date time.Time) uint64 {
	return maphash.Comparable(m.seed, struct {
		uri string
		at  int64
	}{uri, date.UnixMilli()})
}

// recorded tells whether the line is of a capture that was written to a WARC file.
func recorded(l *report.Line) bool {
	return l.Status > 0 &&
		!slices.ContainsFunc(l.Annotations, func(a string) bool { return strings.HasPrefix(a, "discarded:") })
}

func (m *mending) expect(l *report.Line) error {
	if recorded(l) {
		m.lines[m.captureOf(l.URI, l.Begin)] = &expected{digest: l.Digest}
	}
	return nil
}

// known returns the log's line about the capture in a record, if the record is a capture.
func (m *mending) known(rec *warc.Record) *expected {
	if rec.Type != warc.TypeResponse && rec.Type != warc.TypeRevisit {
		return nil
	}
	date, err := rec.Date()
	if err != nil {
		return nil
	}
	return m.lines[m.captureOf(rec.TargetURI(), date)]
}

// survey finds the whole members of a damaged file. After damage it continues at the next record that the log has a
// line for, with the same digest: other bytes that look like a record may be archived content.
func (m *mending) survey(f *broken) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	for at := int64(0); at >= 0; {
		if at, err = m.run(f, in, at, info.Size()); err != nil {
			return err
		}
		if at >= 0 {
			if at, err = m.next(f, in, at+1, info.Size()); err != nil {
				return err
			}
		}
	}
	return m.cut(f)
}

// run takes whole members from an offset on, and returns where damage begins, or -1 at the end.
func (m *mending) run(f *broken, in io.ReaderAt, at, size int64) (int64, error) {
	r, err := warc.NewReader(bufio.NewReaderSize(io.NewSectionReader(in, at, size-at), 256<<10), f.path)
	good := at
	for err == nil {
		var rec *warc.Record
		if rec, err = r.Next(); err != nil {
			break
		}
		known := m.known(rec)
		var p warc.Position
		if p, err = rec.Position(); err != nil || p.Length == 0 {
			break
		}
		span := warc.Span{Offset: at + p.Offset, End: at + p.Offset + p.Length}
		f.keep, good = append(f.keep, span), span.End
		if known != nil {
			known.found = true
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return -1, nil
	case err != nil && !damaged(err):
		return 0, err
	}
	return good, nil
}

// next finds where whole members begin again after damage, or -1.
func (m *mending) next(f *broken, in io.ReaderAt, from, size int64) (int64, error) {
	magic := []byte{0x1f, 0x8b, 8}
	buf := make([]byte, 1<<20)
	for at := from; at < min(f.end, size); {
		n, err := in.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		i := bytes.Index(buf[:n], magic)
		switch {
		case i < 0 && n < len(magic):
			at = size
		case i < 0:
			at += int64(n - len(magic) + 1)
		case at+int64(i) >= f.end:
			at = f.end
		case m.begins(f, in, at+int64(i)):
			return at + int64(i), nil
		default:
			at += int64(i) + 1
		}
	}
	if from <= f.end && f.end < size {
		return f.end, nil // a member begins there, that is known
	}
	return -1, nil
}

// begins reports whether a whole record begins at an offset that the log names.
func (m *mending) begins(f *broken, in io.ReaderAt, at int64) bool {
	rec, err := warc.ReadAt(in, f.path, at, 0)
	if err != nil {
		return false
	}
	known := m.known(rec)
	if known == nil || known.digest == "" || rec.Header.Get("WARC-Payload-Digest") != known.digest {
		return false
	}
	_, err = rec.Position()
	return err == nil
}

// cut ends the file after its last URI that is whole, or after the last record that was committed.
func (m *mending) cut(f *broken) error {
	for _, s := range f.keep {
		if s.End <= f.end {
			f.size = s.End
		}
	}
	if !slices.ContainsFunc(f.keep, func(s warc.Span) bool { return s.Offset >= f.end }) {
		return nil
	}
	err := eachGroup(f.path, f.end, func(g *group) error { f.size = g.end; return nil })
	if err != nil && !damaged(err) {
		return err
	}
	f.keep = slices.DeleteFunc(f.keep, func(s warc.Span) bool { return s.End > f.size })
	return nil
}

// holes are the lost parts of the file, each long enough to be filled: a member before a shorter hole is given up.
func (f *broken) holes() (holes []warc.Span) {
	at := f.size
	for i := len(f.keep) - 1; i >= 0; i-- {
		if gap := at - f.keep[i].End; gap > 0 && gap < warc.MinHole {
			continue
		} else if gap > 0 {
			holes = append(holes, warc.Span{Offset: f.keep[i].End, End: at})
		}
		at = f.keep[i].Offset
	}
	if at > 0 {
		holes = append(holes, warc.Span{Offset: 0, End: at})
	}
	slices.Reverse(holes)
	return holes
}

// lost is how many committed bytes are lost.
func (f *broken) lost() int64 {
	n := max(f.end-f.size, 0)
	for _, h := range f.holes() {
		n += h.End - h.Offset
	}
	return n
}

// has tells whether what lay at an offset of the file is lost.
func (f *broken) hasLost(offset int64) bool {
	return offset >= f.size ||
		slices.ContainsFunc(f.holes(), func(h warc.Span) bool { return h.Offset <= offset && offset < h.End })
}

// patch writes the whole file, and records up to where it is accounted for.
func (m *mending) patch(f *broken) error {
	if f.size == 0 {
		return nil
	}
	whole := filepath.Join(filepath.Dir(f.path), f.name)
	note := "The records that lay here were damaged. The file as it was found: " + filepath.Base(f.path)
	if err := warc.Patch(m.r.disk, f.path, whole, f.size, f.holes(), note); err != nil {
		return err
	}
	a := f.accounted
	a.end = min(a.end, f.size)
	for _, h := range f.holes() {
		if h.Offset < a.end && a.end < h.End {
			a.end = h.End
		}
	}
	m.r.frontier.SetValue(valueWARC+f.name, a.bytes())
	return nil
}
