package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"holdfast/replay"
)

type replayCmd struct {
	Listen string   `default:"127.0.0.1:7482" help:"The address to serve at; port 0 chooses a free port."`
	Index  string   `placeholder:"DIR" help:"Keep the index in this folder, so that the next start is quick. Default: a temporary folder."`
	Paths  []string `arg:"" name:"path" help:"WARC or ARC files, or folders of them."`
}

func (replayCmd) Help() string { return "Serves until it is interrupted." }

func (c replayCmd) Run(a *app) error {
	dir, clean, err := workDir(c.Index, "holdfast-replay-")
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, dir), clean())
}

// serve indexes the files in dir and then serves until the command is interrupted.
func (c replayCmd) serve(a *app, dir string) (err error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	s, err := openShelf(a, dir, c.Paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.index.Close()) }()
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
