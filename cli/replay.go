package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/index"
	"holdfast/replay"
	"holdfast/warc"
)

type replayCmd struct {
	Listen string   `default:"127.0.0.1:7482" help:"Where to serve; port 0 takes a free one."`
	Index  string   `placeholder:"DIR" help:"Keep the index there, so that the next start is quick. Default: a temporary one."`
	Paths  []string `arg:"" name:"path" help:"WARC or ARC files, or folders of them."`
}

func (replayCmd) Help() string { return "Serves until it is interrupted." }

// shelf is the files that replay shows, by name.
type shelf struct {
	index *index.Index
	paths map[string]string
}

func (c replayCmd) Run(a *app) error {
	dir, clean, err := workDir(c.Index, "holdfast-replay-")
	if err != nil {
		return err
	}
	x, err := index.Open(index.Config{Dir: dir}, a.log)
	if err != nil {
		return errors.Join(err, clean())
	}
	err = c.serve(a, &shelf{index: x, paths: map[string]string{}})
	return errors.Join(err, x.Close(), clean())
}

// serve indexes the files and then serves until the command is interrupted.
func (c replayCmd) serve(a *app, s *shelf) error {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	for _, path := range c.Paths {
		if err := s.find(path); err != nil {
			return err
		}
	}
	if len(s.paths) == 0 {
		return fmt.Errorf("no WARC or ARC file in %s", strings.Join(c.Paths, ", "))
	}
	if err := s.fill(a); err != nil {
		return err
	}
	handler, err := replay.New(replay.Config{}, s, s, a.log)
	if err != nil {
		return err
	}
	status := s.index.Status()
	where := "http://" + listener.Addr().String() + "/"
	if err := a.answer(map[string]any{"url": where, "files": status.Files, "captures": status.Captures}, func() error {
		_, err := fmt.Fprintf(a.stdout, "%d captures of %d files: %s\n", status.Captures, status.Files, where)
		return err
	}); err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stopped := make(chan error, 1)
	go func() {
		<-a.ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close() // a reader who would not end
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

// fill brings the index in step with the files: those it has are not read again, those that are gone are dropped.
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

// Query implements replay.Captures.
func (s *shelf) Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error] {
	return s.index.Query(ctx, q, nil)
}

// Digest implements replay.Captures.
func (s *shelf) Digest(ctx context.Context, digest string) (cdx.Capture, bool, error) {
	return s.index.Digest(ctx, digest, nil)
}

// Open implements replay.Records.
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
