package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/disk"
)

type batchResultCmd struct {
	batchID
	Out string `short:"o" default:"-" placeholder:"FILE" help:"Write to this file; - is standard output."`
	Put string `placeholder:"NAME" help:"Put the result into the archive under this name instead, if every file was processed."`
}

func (batchResultCmd) exits() []string {
	return []string{"0   the whole result was written, and every selected file is in it",
		"1   the result was not read to its end, or files are missing in it"}
}

func (c batchResultCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		b, err := archive.Batches().Show(ctx, c.ID)
		if err != nil {
			return err
		}
		out := c.Out
		if c.Put != "" && out == "-" {
			out = ""
		}
		return keepResult(ctx, a, archive, b, out, c.Put)
	})
}

// keepResult writes the result of a batch, and puts it into the archive. It fails when the result is not whole; what
// there is of it is written all the same.
func keepResult(ctx context.Context, a *app, archive *client.Client, b wire.Batch, out, name string) error {
	var err error
	switch out {
	case "":
	case "-":
		err = archive.Batches().Result(ctx, b.ID, a.stdout)
	default:
		err = disk.New().WriteFile(out, func(w io.Writer) error { return archive.Batches().Result(ctx, b.ID, w) })
	}
	if err == nil && b.State != wire.BatchDone {
		err = errNotWhole(&b)
	}
	if err != nil || name == "" {
		return err
	}
	return putResult(ctx, a, archive, b, name)
}

// putResult puts a result into the archive. It belongs to the collection that the batch read, if it is one.
func putResult(ctx context.Context, a *app, archive *client.Client, b wire.Batch, name string) (err error) {
	folder, err := os.MkdirTemp("", "holdfast-batch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "result")
	sum := sha256.New()
	if err := disk.New().WriteFile(path, func(w io.Writer) error {
		return archive.Batches().Result(ctx, b.ID, io.MultiWriter(w, sum))
	}); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	up := client.Upload{Name: name, Size: info.Size(), SHA256: hex.EncodeToString(sum.Sum(nil)),
		Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	if len(b.Collections) == 1 {
		up.Collection = b.Collections[0]
	}
	file, err := archive.Files().Put(ctx, up)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "the result is file %s of the archive, in collection %s: %s, SHA-256 %s\n", file.Name,
		file.Collection, size(file.Size), file.SHA256)
	return nil
}

type batchFailuresCmd struct{ batchID }

func (c batchFailuresCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return archive.Batches().Failures(ctx, c.ID, a.stdout)
	})
}
