package warc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/internal/disk"
)

// FilesConfig says where and how a series of WARC files is written.
type FilesConfig struct {
	Dir, Prefix, Node string
	Format            Format      // default WARC/1.1 with SHA-1
	MaxBytes          int64       // a file is finished once it has this many; default 1 GiB
	Compression       Compression // default Gzip
	Level             int         // of Compression; 0: its default
	Info              []Field     // lines of each file's warcinfo record; "software" replaces the default
	Now               func() time.Time
}

// Finished is a WARC file that will never change again.
type Finished struct {
	Path    string
	Size    int64
	SHA256  [32]byte
	Records int
}

// Files writes records to a series of WARC files, rolled by size. A file carries the
// suffix ".open" until it is finished: synced, renamed, its folder synced. Each file
// begins with a warcinfo record. All methods may be called by several goroutines.
type Files struct {
	cfg      FilesConfig
	disk     disk.Disk
	finished func(Finished) error
	exact    string // the path of a writer of one file
	encoders sync.Pool

	mu      sync.Mutex
	serial  int
	file    *disk.File
	path    string // of the open file once it is finished
	sum     hash.Hash
	records int
	broken  error // the open file is in a state in which writing cannot continue
	closed  bool
}

// NewFiles returns a writer of WARC files on d. It calls finished, if not nil, for each
// file once it is finished, from within Write, Finish or Close; its error is returned
// there, and the file stays finished. finished must not call methods of the Files.
func NewFiles(d disk.Disk, cfg FilesConfig, finished func(Finished) error) (*Files, error) {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 1 << 30
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if finished == nil {
		finished = func(Finished) error { return nil }
	}
	if v := cfg.Format.version(); v != "1.0" && v != "1.1" {
		return nil, fmt.Errorf("WARC version %q: %w", v, ErrDraft)
	}
	if strings.ContainsAny(cfg.Prefix+cfg.Node, "/\x00\r\n") {
		return nil, fmt.Errorf("prefix %q or node %q cannot be in a file name", cfg.Prefix, cfg.Node)
	}
	first, err := newEncoder(cfg.Format, cfg.Compression, cfg.Level)
	if err != nil {
		return nil, err
	}
	f := &Files{cfg: cfg, disk: d, finished: finished}
	f.encoders.New = func() any {
		e, err := newEncoder(cfg.Format, cfg.Compression, cfg.Level)
		if err != nil { // the same settings worked above
			return err
		}
		return e
	}
	f.encoders.Put(first)
	if err := d.MkdirAll(cfg.Dir); err != nil {
		return nil, err
	}
	return f, nil
}

// Write writes the drafts, one after another, into one file and returns where they lie,
// under the name the file will have when finished. After an error none of them is in
// the file, and the file is as it was. Records are on stable storage after Sync, or
// once their file is finished.
func (f *Files) Write(drafts ...Draft) ([]Position, error) {
	e, err := f.encoder()
	if err != nil {
		return nil, err
	}
	defer f.encoders.Put(e)
	e.out, e.spill = e.out[:0], nil
	ends := make([]int64, 0, len(drafts))
	now := f.cfg.Now()
	for i := range drafts {
		d := drafts[i]
		if d.Date.IsZero() {
			d.Date = now
		}
		if d.Size > smallBlock {
			return f.writeLarge(e, drafts, i, ends, now)
		}
		if err := e.record(d); err != nil {
			return nil, fmt.Errorf("write %s record of %s: %w", d.Type, d.TargetURI, err)
		}
		ends = append(ends, int64(len(e.out)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	start, mark, err := f.begin()
	if err != nil {
		return nil, err
	}
	if err := f.put(e.out); err != nil {
		return nil, f.back(start, mark, err)
	}
	f.records += len(drafts)
	return f.positions(start, ends), nil
}

// writeLarge continues Write from the i-th draft on, which is too large for memory: it holds the file and streams.
// ends are the ends of the drafts before it, which are packed already.
func (f *Files) writeLarge(e *encoder, drafts []Draft, i int, ends []int64, now time.Time) ([]Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start, mark, err := f.begin()
	if err != nil {
		return nil, err
	}
	e.spill = f.put
	for _, d := range drafts[i:] {
		if d.Date.IsZero() {
			d.Date = now
		}
		if err := e.record(d); err != nil {
			return nil, f.back(start, mark, fmt.Errorf("write %s record of %s: %w", d.Type, d.TargetURI, err))
		}
		ends = append(ends, f.file.Size()+int64(len(e.out))-start)
	}
	if err := f.put(e.out); err != nil {
		return nil, f.back(start, mark, err)
	}
	f.records += len(drafts)
	return f.positions(start, ends), nil
}

func (f *Files) encoder() (*encoder, error) {
	switch v := f.encoders.Get().(type) {
	case *encoder:
		return v, nil
	case error:
		return nil, v
	}
	return nil, errors.New("no encoder")
}

// positions turns the ends of records, counted from start, into positions. The caller holds mu.
func (f *Files) positions(start int64, ends []int64) []Position {
	name := filepath.Base(f.path)
	all := make([]Position, len(ends))
	last := int64(0)
	for i, end := range ends {
		all[i] = Position{File: name, Offset: start + last, Length: end - last}
		last = end
	}
	return all
}

// begin makes sure that there is a file with room, and returns where it ends and its
// checksum so far. The caller holds mu, here and below.
func (f *Files) begin() (int64, hash.Hash, error) {
	if f.closed {
		return 0, nil, fmt.Errorf("write to WARC files in %s: %w", f.cfg.Dir, fs.ErrClosed)
	}
	if f.broken != nil {
		return 0, nil, f.broken
	}
	if f.file != nil && f.file.Size() >= f.cfg.MaxBytes {
		if err := f.finish(); err != nil {
			return 0, nil, err
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return 0, nil, err
		}
	}
	mark, err := cloneHash(f.sum)
	return f.file.Size(), mark, err
}

func cloneHash(h hash.Hash) (hash.Hash, error) {
	c, ok := h.(hash.Cloner)
	if !ok {
		return nil, errors.New("the hash cannot be copied")
	}
	return c.Clone()
}

// put appends packed bytes to the open file.
func (f *Files) put(p []byte) error {
	n, err := f.file.Write(p)
	f.sum.Write(p[:n])
	return err
}

// back takes a write that failed out of the file again.
func (f *Files) back(start int64, mark hash.Hash, err error) error {
	if cutting := f.file.Truncate(start); cutting != nil {
		f.broken = fmt.Errorf("%s can no longer be written: %w", f.file.Name(), cutting)
		return errors.Join(err, f.broken)
	}
	f.sum = mark
	return err
}

// open starts the next file with its warcinfo record.
func (f *Files) open() error {
	now := f.cfg.Now().UTC()
	stamp := strings.Replace(now.Format("20060102150405.000"), ".", "", 1)
	path := f.exact
	if path != "" && exists(path) { // a finished file never changes
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	for ; f.exact == ""; f.serial++ {
		path = filepath.Join(f.cfg.Dir, fmt.Sprintf("%s-%s-%05d-%s%s", f.cfg.Prefix, stamp, f.serial, f.cfg.Node,
			f.cfg.Compression.Suffix()))
		if !exists(path) && !exists(path+openSuffix) {
			break
		}
	}
	e, err := f.encoder()
	if err != nil {
		return err
	}
	defer f.encoders.Put(e)
	e.out, e.spill = e.out[:0], nil
	if err := e.record(f.info(filepath.Base(path), now)); err != nil {
		return fmt.Errorf("write warcinfo of %s: %w", path, err)
	}
	file, err := f.disk.Create(path + openSuffix)
	if err != nil {
		return err
	}
	f.file, f.path, f.sum, f.records = file, path, sha256.New(), 1
	if err := f.put(e.out); err != nil {
		f.file = nil
		return errors.Join(err, file.Close(), f.disk.Remove(path+openSuffix))
	}
	f.serial++
	return nil
}

// exists reports whether there may be something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// SetInfo changes the lines of the warcinfo records of files that are begun from now on.
func (f *Files) SetInfo(info []Field) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cfg.Info = info
}

// info drafts the warcinfo record of the file name.
func (f *Files) info(name string, now time.Time) Draft {
	lines := Header{{"software", "holdfast"}}
	lines.Add("format", "WARC File Format "+f.cfg.Format.version())
	lines.Add("conformsTo",
		"http://iipc.github.io/warc-specifications/specifications/warc-format/warc-"+f.cfg.Format.version()+"/")
	for _, i := range f.cfg.Info {
		lines.Set(i.Name, i.Value)
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Name + ": " + strings.NewReplacer("\r", " ", "\n", " ").Replace(l.Value) + "\r\n")
	}
	return Draft{Type: TypeWarcinfo, ContentType: fieldsType, Date: now, Fields: []Field{{"WARC-Filename", name}},
		Block: strings.NewReader(b.String()), Size: int64(b.Len())}
}

// finish syncs and renames the open file and tells the owner.
func (f *Files) finish() error {
	if err := f.file.Sync(); err != nil {
		f.broken = err
		return err
	}
	done := Finished{Path: f.path, Size: f.file.Size(), Records: f.records}
	f.sum.Sum(done.SHA256[:0])
	if err := f.file.Close(); err != nil {
		f.broken = err
		return err
	}
	if err := f.disk.Rename(f.path+openSuffix, f.path); err != nil {
		f.broken = err
		return err
	}
	f.file = nil
	if err := f.finished(done); err != nil {
		return fmt.Errorf("take over %s: %w", done.Path, err)
	}
	return nil
}

// Sync puts everything written so far on stable storage.
func (f *Files) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil || f.file == nil {
		return f.broken
	}
	if err := f.file.Sync(); err != nil {
		f.broken = err
		return err
	}
	return nil
}

// Finish finishes the open file, if there is one, though it is not full yet. The next
// Write starts another.
func (f *Files) Finish() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil || f.file == nil {
		return f.broken
	}
	return f.finish()
}

// Close finishes the open file. No Write may follow. A file that could not be finished
// keeps its suffix ".open", for Salvage.
func (f *Files) Close() error {
	err := f.Finish()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil && !f.closed {
		err = errors.Join(err, f.file.Close())
	}
	f.closed = true
	return err
}
