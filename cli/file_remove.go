package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileRemoveCmd struct {
	Name   string `arg:"" help:"A file's name."`
	SHA256 string `name:"sha256" required:"" help:"The file's SHA-256; the file is removed only if it matches."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
	Keep   string `placeholder:"PATH" help:"First download the file to this path, and verify it there; it is not removed if that fails. A file that is there is not overwritten."`
	Yes    bool   `help:"Remove without asking. Otherwise the command says what would happen, and asks at a terminal."`
}

func (fileRemoveCmd) exits() []string {
	return []string{"0   the file is removed: nobody is given it any more; with --keep: its verified " +
		"bytes are at the path",
		"1   refused, or not kept, or it waits for a second person: the message has the number of the proposal"}
}

func (c fileRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if c.Keep != "" {
			if err := c.keep(ctx, a, archive); err != nil {
				return fmt.Errorf("%s is not removed, as it was not kept: %w", c.Name, err)
			}
		}
		if err := a.confirmed(c.Yes, func(confirm string) error {
			return archive.Files().Remove(ctx, c.Name, wire.FileRemoval{SHA256: strings.ToLower(c.SHA256),
				Reason: c.Reason, Confirmation: wire.Confirmation{Confirm: confirm}})
		}); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}

// keep downloads the file before it is removed. When it returns nil, the path has bytes with the SHA-256 that was
// given, and they are on stable storage.
func (c fileRemoveCmd) keep(ctx context.Context, a *app, archive *client.Client) error {
	out := c.Keep
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		out = filepath.Join(out, filepath.Base(c.Name))
	}
	switch found, err := sumOf(out); {
	case errors.Is(err, fs.ErrNotExist):
		content, err := fileGetCmd{Name: c.Name}.save(ctx, a, archive, out)
		if err != nil {
			return err
		}
		if !strings.EqualFold(content.SHA256, c.SHA256) {
			return fmt.Errorf("%s has SHA-256 %s", c.Name, content.SHA256)
		}
		found, err = sumOf(out) // as it lies there now
		if err != nil || !strings.EqualFold(found, c.SHA256) {
			return errors.Join(err, fmt.Errorf("%s has SHA-256 %s", out, found))
		}
	case err != nil:
		return err
	case !strings.EqualFold(found, c.SHA256):
		return fmt.Errorf("%s is there already, with SHA-256 %s", out, found)
	}
	fmt.Fprintf(a.stderr, "%s is kept at %s\n", c.Name, out)
	return nil
}

// sumOf reads a file and returns its SHA-256, after the file is on stable storage.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), f.Sync()
}
