package cli

import (
	"context"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileSetChecksumCmd struct {
	Name     string `arg:"" help:"A file's name."`
	Checksum string `required:"" placeholder:"SHA256" help:"The right SHA-256, as audits found it in the copies."`
	Was      string `required:"" placeholder:"SHA256" help:"The SHA-256 in the catalog; must agree."`
	Reason   string `required:"" help:"Reason, written into the audit trail."`

	IfVersion uint64 `help:"Refuse unless the file's entry still has this version, as file show printed it." placeholder:"N"`
}

// Help says when it is refused, and what is left to do.
func (fileSetChecksumCmd) Help() string {
	return "It is refused unless at least two copies, and more than half of those that were read, were found with " +
		"the new SHA-256,\nand while a replica has a verified copy with the old one. No copy counts as good by it: " +
		"the nodes read the copies\nagain in their next audits, or at once with: holdfast audit run NAME"
}

func (fileSetChecksumCmd) exits() []string {
	return []string{"0   the catalog is corrected; the copies are still to be read again",
		"1   refused: too few copies were found with that SHA-256, or one is good with the old one"}
}

func (c fileSetChecksumCmd) Run(a *app) error {
	return a.decideFile(func(ctx context.Context, archive *client.Client) (wire.File, error) {
		return archive.Files().SetChecksum(ctx, c.Name, wire.ChecksumCorrection{Was: strings.ToLower(c.Was),
			SHA256: strings.ToLower(c.Checksum), Reason: c.Reason, Version: c.IfVersion})
	})
}

type fileSetStateCmd struct {
	Name    string `arg:"" help:"A file's name."`
	Replica string `required:"" placeholder:"NAME" help:"The replica whose copy is set."`
	State   string `required:"" enum:"UPLOAD_STARTED,UPLOAD_FAILED" help:"The state: ${enum}. Both are owed; only verified bytes make a copy UPLOAD_COMPLETED."`
	SHA256  string `name:"sha256" required:"" help:"The file's SHA-256; must agree."`
	Reason  string `required:"" help:"Reason, written into the audit trail."`

	IfVersion uint64 `help:"Refuse unless the file's entry still has this version, as file show printed it." placeholder:"N"`
}

func (fileSetStateCmd) exits() []string {
	return []string{"0   the copy is owed, and will be made again",
		"1   refused: it is the last good copy, or the file has another SHA-256"}
}

func (c fileSetStateCmd) Run(a *app) error {
	return a.decideFile(func(ctx context.Context, archive *client.Client) (wire.File, error) {
		return archive.Files().SetState(ctx, c.Name, wire.CopySetting{Replica: c.Replica,
			State: wire.StoreState(c.State), SHA256: strings.ToLower(c.SHA256), Reason: c.Reason, Version: c.IfVersion})
	})
}

// decideFile decides about a file, and shows how it is then.
func (a *app) decideFile(decide func(context.Context, *client.Client) (wire.File, error)) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		f, err := decide(ctx, archive)
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		return a.answer(f, func() error { return showFile(a, f, names) })
	})
}
