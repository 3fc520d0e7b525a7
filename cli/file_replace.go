package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileReplaceCmd struct {
	Name     string `arg:"" help:"A file's name."`
	Replica  string `required:"" placeholder:"NAME" help:"The replica whose copy is bad."`
	Checksum string `required:"" placeholder:"SHA256" help:"SHA-256 of the bad bytes, as an audit or file verify found it; another copy is not replaced."`
	Reason   string `required:"" help:"Reason, written into the audit trail."`
	Wait     bool   `help:"Wait until the copy is verified again."`
}

func (fileReplaceCmd) exits() []string {
	return []string{"0   the copy will be made again; with --wait: it is verified",
		"1   refused: the copy was not found to have that SHA-256, or there is no good copy to make it from"}
}

func (c fileReplaceCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		f, err := archive.Files().Replace(ctx, c.Name, wire.CopyReplacement{Replica: c.Replica,
			SHA256: strings.ToLower(c.Checksum), Reason: c.Reason})
		if err != nil {
			return err
		}
		if c.Wait {
			err = every(ctx, time.Second, func() (bool, error) {
				var err error
				if f, err = archive.Files().Show(ctx, c.Name); err != nil {
					return false, err
				}
				return c.good(f)
			})
			if err != nil {
				return err
			}
		}
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		return a.answer(f, func() error { return showFile(a, f, names) })
	})
}

// good reports whether the copy is verified. One that will not come is an error.
func (c fileReplaceCmd) good(f wire.File) (bool, error) {
	if !f.Removed.IsZero() || !f.Lost.IsZero() {
		return false, fmt.Errorf("file %s was removed or declared lost meanwhile", f.Name)
	}
	for _, one := range f.Copies {
		if one.Replica == c.Replica {
			return one.State == wire.UploadCompleted && !one.Disputed, nil
		}
	}
	return false, fmt.Errorf("replica %s should no longer have file %s", c.Replica, f.Name)
}
