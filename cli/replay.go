package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"holdfast/internal/words"
	"holdfast/replay"
)

type replayCmd struct {
	Listen        string   `default:"127.0.0.1:7482" help:"The address to serve at; port 0 chooses a free port."`
	Index         string   `placeholder:"DIR" help:"Keep the index in this folder, so that the next start is quick. Default: a temporary folder."`
	Languages     []string `placeholder:"TAG,…" help:"The languages of the pages; the first is for readers who ask for none of them. Default: en,da,de,fr,it."`
	LanguageFiles string   `placeholder:"DIR" help:"Lay the language files in this folder over the program's: they add a language, or change texts."`
	Paths         []string `arg:"" name:"path" help:"WARC, ARC or WACZ files, or folders of them."`
}

func (replayCmd) Help() string { return "Serves until it is interrupted." }

func (c replayCmd) Run(a *app) error {
	offer, err := c.offer()
	if err != nil {
		return err
	}
	dir, clean, err := workDir(c.Index, "holdfast-replay-")
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, dir, offer), clean())
}

// offer returns the languages of the pages.
func (c replayCmd) offer() (*words.Offer, error) {
	all, err := words.Shipped()
	if err != nil {
		return nil, err
	}
	if c.LanguageFiles != "" {
		if _, err := os.ReadDir(c.LanguageFiles); err != nil {
			return nil, usage("--language-files: %w", err)
		}
		with, faults := all.Lay(os.DirFS(c.LanguageFiles))
		if len(faults) > 0 {
			return nil, usage("--language-files: %w", errors.Join(faults...))
		}
		all = with
	}
	tags := c.Languages
	if tags == nil {
		tags = all.Tags()
	}
	offer, err := all.Offer(tags...)
	if err != nil {
		return nil, usage("--%w", err)
	}
	return offer, nil
}

// serve indexes the files in dir and then serves until the command is interrupted.
func (c replayCmd) serve(a *app, dir string, offer *words.Offer) (err error) {
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
	handler, err := replay.New(replay.Config{Languages: offer}, s, s, a.log)
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
