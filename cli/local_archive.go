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
	"strings"

	"holdfast/cdx"
	"holdfast/index"
	"holdfast/warc"
)

// shelf is a set of archive files, by name, with an index. replay shows it, and a crawl looks up earlier captures in
// it.
type shelf struct {
	index *index.Index
	paths map[string]string
}

// openShelf indexes the archive files of paths in a folder; those it has already are not read again.
func openShelf(a *app, dir string, paths []string) (*shelf, error) {
	s := &shelf{paths: map[string]string{}}
	for _, path := range paths {
		if err := s.find(path); err != nil {
			return nil, err
		}
	}
	if len(s.paths) == 0 {
		return nil, fmt.Errorf("no WARC or ARC file in %s", strings.Join(paths, ", "))
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

// find adds the archive files of a path.
func (s *shelf) find(path string) error {
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if file != path && !isArchive(name) {
			return nil
		}
		if other, there := s.paths[name]; there && other != file {
			return fmt.Errorf("two files are named %s: %s and %s", name, other, file)
		}
		s.paths[name] = file
		return nil
	})
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
		if err := s.index.Add(a.ctx, name, func() (io.ReadCloser, error) { return os.Open(path) }); err != nil {
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
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		length = 1<<63 - 1 - offset
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, offset, length), f}, nil
}
