package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// manifest is the file in each shard's folder that sha256sum checks.
const manifest = "manifest-sha256.txt"

type catalogRebuildCmd struct {
	Collection string `help:"The collection that the files belong to. Default: the cluster's first."`
}

func (catalogRebuildCmd) Help() string {
	return "Use this when every node has lost the catalog: found the cluster again with init, start this node, and " +
		"run this command.\nEach file in the node's folders is added to the catalog again if its bytes match its " +
		"manifest. Repeat this on the other\nnodes: a file that several of them have is added once.\n" +
		"Which files had been removed is lost with the catalog: a removed file whose bytes are still on a node is\n" +
		"added, too, and given to everybody again. Remove such files again. If there is a backup, restore it\n" +
		"instead (catalog restore)."
}

func (catalogRebuildCmd) exits() []string {
	return []string{"0   all files are in the catalog", "1   some are not; the answer names them"}
}

// rebuilt is what catalog rebuild answers.
type rebuilt struct {
	Entered  int      `json:"entered"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

func (c catalogRebuildCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	roots := cfg.Files
	if len(roots) == 0 {
		roots = []string{filepath.Join(cfg.Data, "files")}
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		out := rebuilt{Problems: []string{}}
		for _, root := range roots {
			if err := out.root(ctx, archive, root, c.Collection); err != nil {
				return err
			}
		}
		if err := a.answer(out, func() error {
			for _, p := range out.Problems {
				fmt.Fprintln(a.stdout, p)
			}
			_, err := fmt.Fprintf(a.stdout, "%d files, %s, are in the catalog; %d problems\n", out.Entered,
				size(out.Bytes), len(out.Problems))
			return err
		}); err != nil {
			return err
		}
		if len(out.Problems) > 0 {
			return errNo
		}
		return nil
	})
}

// root enters the files of one disk, shard by shard.
func (r *rebuilt) root(ctx context.Context, archive *client.Client, root, collection string) error {
	shards, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if _, err := catalog.ParseShard(shard.Name()); err != nil || !shard.IsDir() {
			continue
		}
		dir := filepath.Join(root, shard.Name())
		sums, err := readManifest(filepath.Join(dir, manifest))
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := catalog.FileName(e.Name())
			if e.Name() == manifest || !e.Type().IsRegular() || name.Check() != nil ||
				name.Shard().String() != shard.Name() {
				continue
			}
			path := filepath.Join(dir, e.Name())
			err := r.enter(ctx, archive, path, sums[e.Name()], collection)
			if errors.Is(err, wire.ErrUnavailable) || errors.Is(err, wire.ErrNoQuorum) || ctx.Err() != nil {
				return err
			}
			if err != nil {
				r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", path, err))
			}
		}
	}
	return nil
}

// enter puts one file into the catalog if its bytes are those of the manifest.
func (r *rebuilt) enter(ctx context.Context, archive *client.Client, path, want, collection string) error {
	if want == "" {
		return errors.New("not in the manifest")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, &interruptible{ctx, f})
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		return fmt.Errorf("%w: SHA-256 %s, the manifest has %s", wire.ErrDigest, got, want)
	}
	_, err = archive.Files().Put(ctx,
		client.Upload{Name: filepath.Base(path), Collection: collection, Size: n, SHA256: want,
			Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	if err == nil {
		r.Entered++
		r.Bytes += n
	}
	return err
}

// readManifest returns the SHA-256 of each name; without the file, none.
func readManifest(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && len(fields[0]) == 2*sha256.Size {
			sums[strings.TrimPrefix(fields[1], "*")] = fields[0]
		}
	}
	return sums, lines.Err()
}
