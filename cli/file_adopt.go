package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileAdoptCmd struct {
	Names      []string `arg:"" name:"name" help:"Names of strays, as file strays lists them."`
	Collection string   `placeholder:"NAME" help:"The collection of files that the archive does not know."`
	At         string   `placeholder:"NODE" help:"The node that has them; needed if several have one."`
	Checksum   string   `placeholder:"SHA256" help:"Refuse bytes with another SHA-256; for one name."`
}

func (fileAdoptCmd) Help() string {
	return "The node reads the bytes. If they are a file that the archive knows, and that misses copies, the\n" +
		"node becomes its source. A file that the archive does not know becomes a new one of the collection.\n" +
		"Wrong bytes, parts of copies, and bytes that were written a moment ago are refused."
}

func (fileAdoptCmd) exits() []string {
	return []string{"0   all were adopted", "1   some were refused; they are named"}
}

func (c fileAdoptCmd) Run(a *app) error {
	if c.Checksum != "" && len(c.Names) > 1 {
		return usage("--checksum is that of one file")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		var done []wire.File
		var failed error
		for _, name := range c.Names {
			node, err := hasStray(ctx, archive, c.At, name)
			var f wire.File
			if err == nil {
				f, err = archive.Files().Adopt(ctx, node, name, wire.Adoption{Collection: c.Collection,
					SHA256: strings.ToLower(c.Checksum)})
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s was not adopted: %w", name, err))
				continue
			}
			done = append(done, f)
		}
		return errors.Join(a.answer(items[wire.File]{done}, func() error { return fileTable(a, done) }), failed)
	})
}
