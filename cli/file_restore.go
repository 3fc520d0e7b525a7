package cli

import (
	"context"
	"fmt"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileRestoreCmd struct {
	Name   string `arg:"" help:"A file's name."`
	SHA256 string `name:"sha256" placeholder:"SUM" help:"The file's SHA-256; the file is restored only if it matches. Default: what the archive has."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (fileRestoreCmd) exits() []string {
	return []string{"0   the file is one like any other again",
		"1   refused: the file is not removed, or its copies are being deleted; or it is restored, " +
			"but declared lost"}
}

func (c fileRestoreCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		sum := strings.ToLower(c.SHA256)
		if sum == "" {
			f, err := archive.Files().Show(ctx, c.Name)
			if err != nil {
				return err
			}
			sum = f.SHA256
		}
		f, err := archive.Files().Restore(ctx, c.Name, wire.FileRestoration{SHA256: sum, Reason: c.Reason})
		if err != nil {
			return err
		}
		if !f.Lost.IsZero() {
			return fmt.Errorf("file %s is restored, but it is declared lost: no node has its bytes any more", c.Name)
		}
		if !f.Complete {
			fmt.Fprintf(a.stderr, "not every replica has a good copy of %s now: see file copies %[1]s\n", c.Name)
		}
		return a.done("restored", c.Name)
	})
}

type fileRemovalDaysCmd struct {
	Set    *int   `placeholder:"N" help:"From now on, files that are removed can be restored for this many days; 0: their copies are deleted at once. Files that were removed before keep their time."`
	Reason string `help:"Reason, written into the audit trail; needed with --set."`
}

func (c fileRemovalDaysCmd) Run(a *app) error {
	if c.Set != nil && c.Reason == "" {
		return usage("--set needs --reason")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		rule, err := archive.Files().RemovalRule(ctx)
		if err == nil && c.Set != nil {
			rule, err = archive.Files().SetRemovalRule(ctx, wire.RemovalRuleRequest{Days: *c.Set, Version: rule.Version,
				Reason: c.Reason})
		}
		if err != nil {
			return err
		}
		return a.answer(rule, func() error {
			if rule.Days == 0 {
				_, err := fmt.Fprintln(a.stdout, "removed files cannot be restored: their copies are deleted at once")
				return err
			}
			_, err := fmt.Fprintf(a.stdout, "removed files can be restored for %d days\n", rule.Days)
			return err
		})
	})
}
