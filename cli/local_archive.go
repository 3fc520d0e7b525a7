package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/cdx"
	"holdfast/index"
	"holdfast/wacz"
	"holdfast/warc"
)

// shelf is a set of archive files, by name, with an index. replay shows it, and a crawl looks up earlier captures in
// it.
type shelf struct {
	index *index.Index
	paths map[string]string // of files by name; those within a WACZ stand in inside
	// inside are files within WACZ files, by name, which is the path of the WACZ and theirs in it.
	inside map[string]inside
}

// inside is a file within another.
type inside struct {
	path     string // of the other
	at, size int64
}

// openShelf indexes the archive files of paths in a folder; those it has already are not read again.
func openShelf(a *app, dir string, paths []string) (*shelf, error) {
	s := &shelf{inside: map[string]inside{}}
	found := map[string][]string{} // by name
	for _, path := range paths {
		if err := find(path, found); err != nil {
			return nil, err
		}
	}
	s.paths = byName(found)
	for name, path := range s.paths {
		if strings.HasSuffix(path, ".wacz") {
			delete(s.paths, name)
			if err := s.unfold(name, path); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		} else if _, err := regular(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(s.paths) == 0 {
		return nil, fmt.Errorf("no WARC, ARC or WACZ file in %s", strings.Join(paths, ", "))
	}
	var err error
	if s.index, err = index.Open(index.Config{Dir: dir}, a.log); err != nil {
		return nil, err
	}
	if err := s.fill(a); err != nil {
		return nil, errors.Join(err, s.index.Close())
	}
	return s, nil
}

// find adds the archive files of a path to those found, by name.
func find(path string, found map[string][]string) error {
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if name := entry.Name(); file == path || isArchive(name) || strings.HasSuffix(name, ".wacz") {
			found[name] = append(found[name], filepath.Clean(file))
		}
		return nil
	})
}

// unfold adds the WARC files within a WACZ, which are read where they lie.
func (s *shelf) unfold(name, path string) error {
	info, err := regular(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := wacz.Open(f, info.Size())
	if err != nil {
		return err
	}
	members, err := w.Archives()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.At < 0 {
			return fmt.Errorf("%s is compressed a second time within it: unpack it first",
				m.Path)
		}
		s.paths[name+"/"+m.Path] = path + "/" + m.Path
		s.inside[name+"/"+m.Path] = inside{path, m.At, m.Size}
	}
	return nil
}

// byName are the paths of the files found, each by its name, or by its path where two have one name.
func byName(found map[string][]string) map[string]string {
	paths := map[string]string{}
	for name, files := range found {
		slices.Sort(files)
		files = slices.Compact(files)
		for _, file := range files {
			if len(files) > 1 {
				name = file
			}
			paths[name] = file
		}
	}
	return paths
}

// isArchive tells a WARC or ARC file by its name.
func isArchive(name string) bool {
	for _, end := range []string{".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// fill updates the index to match the files: files that it has are not read again, and files that are gone are
// dropped.
func (s *shelf) fill(a *app) error {
	var gone []string
	for f, err := range s.index.Files(a.ctx) {
		if err != nil {
			return err
		}
		if _, there := s.paths[f.Name]; !there {
			gone = append(gone, f.Name)
		}
	}
	for _, name := range gone {
		if err := s.index.Remove(name); err != nil {
			return err
		}
	}
	progress := a.bars()
	defer progress.wait()
	bar := progress.count("index", int64(len(s.paths)))
	done := int64(0)
	for name, path := range s.paths {
		bar.on(name)
		if err := s.index.Add(a.ctx, name, func() (io.ReadCloser, error) {
			return s.Open(a.ctx, name, 0, 0)
		}); err != nil {
			bar.end(false)
			return fmt.Errorf("index %s: %w", path, err)
		}
		done++
		bar.set(done, int64(len(s.paths)))
	}
	bar.end(true)
	for f, err := range s.index.Files(a.ctx) {
		if err != nil {
			return err
		}
		if f.Damage != "" {
			fmt.Fprintf(a.stderr, "holdfast: %s is damaged: %s\n", s.paths[f.Name], f.Damage)
		}
	}
	return nil
}

// Query yields captures as the index has them.
func (s *shelf) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return s.index.Query(ctx, q, nil)
}

// Digest returns the earliest capture with that payload.
func (s *shelf) Digest(ctx context.Context, digest string) (cdx.Capture, bool, error) {
	return s.index.Digest(ctx, digest, nil)
}

// Original returns the earliest capture with that payload that the gate lets pass.
func (s *shelf) Original(ctx context.Context, digest string, gate cdx.Gate) (cdx.Capture, bool, error) {
	return s.index.Original(ctx, digest, nil, gate)
}

// Open reads of a file from offset; with length 0 to its end.
func (s *shelf) Open(_ context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	path, there := s.paths[file]
	if !there {
		return nil, fmt.Errorf("%s: %w", file, warc.ErrNotArchive)
	}
	at, end := int64(0), int64(1<<63-1)
	if within, is := s.inside[file]; is {
		path, at, end = within.path, within.at, within.at+within.size
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	left := max(end-at-offset, 0)
	if length > 0 {
		left = min(left, length)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, at+offset, left), f}, nil
}
