package cli

import (
	"context"
	"fmt"
	"io"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest"
)

type domainConfigureCmd struct {
	Domain        string   `arg:"" help:"The domain."`
	Name          string   `arg:"" help:"The configuration's name."`
	Template      *string  `help:"The template of the crawl's settings."`
	Seeds         []string `placeholder:"LIST" help:"The seed lists, in place of those that were. May be repeated."`
	Objects       *int64   `placeholder:"N" help:"Fetch at most this many objects; 0 means that nothing may be fetched."`
	Bytes         *int64   `placeholder:"N" help:"Fetch at most this many bytes; 0 means that nothing may be fetched."`
	NoLimit       []string `enum:"objects,bytes" help:"Remove the limit on objects or bytes. May be repeated."`
	Set           []string `placeholder:"NAME=VALUE" sep:"none" help:"A setting that is laid over those of the template; all together replace those that were. May be repeated."`
	ClearSettings bool     `help:"Lay no settings over those of the template."`
	Comments      *string  `help:"Comments."`
	Default       bool     `help:"Make it the default configuration of the domain."`
}

// Help says what a new one has.
func (domainConfigureCmd) Help() string {
	return "A new configuration has the template and limits that the settings of domains give, and the seed list " +
		"defaultseeds. Passwords, cookies and logins in settings are encrypted for the nodes that crawl."
}

func (c domainConfigureCmd) Run(a *app) error {
	change := wire.ConfigurationChange{Template: c.Template, Objects: c.Objects, Bytes: c.Bytes, NoLimit: c.NoLimit,
		Comments: c.Comments}
	if c.Seeds != nil {
		change.Seeds = &c.Seeds
	}
	switch {
	case c.ClearSettings && c.Set != nil:
		return usage("give --set or --clear-settings, not both")
	case c.ClearSettings:
		change.Settings = wire.Overlay{}
	case c.Set != nil:
		patch, err := harvest.ParsePatch(c.Set)
		if err != nil {
			return err
		}
		change.Settings = wire.Overlay(patch)
	}
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		d, err := archive.Domains().Configure(ctx, c.Domain, c.Name, change)
		if err != nil || !c.Default {
			return d, err
		}
		return archive.Domains().Set(ctx, c.Domain, wire.DomainChange{Default: &c.Name})
	})
}

type domainUnconfigureCmd struct {
	Domain string `arg:"" help:"The domain."`
	Name   string `arg:"" help:"The configuration's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c domainUnconfigureCmd) Run(a *app) error {
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Unconfigure(ctx, c.Domain, c.Name, c.Reason)
	})
}

type domainSeedsCmd struct {
	Put    seedsPutCmd    `cmd:"" help:"Make a file the next version of a seed list."`
	Get    seedsGetCmd    `cmd:"" help:"Print a seed list."`
	Remove seedsRemoveCmd `cmd:"" help:"Remove a seed list that no configuration uses."`
}

type seedsPutCmd struct {
	Domain   string `arg:"" help:"The domain."`
	List     string `arg:"" help:"The list's name."`
	File     string `arg:"" help:"The file: one URL per line, # begins a comment; - reads standard input."`
	Comments string `help:"Comments on the list."`
}

func (c seedsPutCmd) Run(a *app) error {
	return a.withText(c.File, func(text io.Reader) error {
		return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
			return archive.Domains().PutSeeds(ctx, c.Domain, c.List, c.Comments, text)
		})
	})
}

type seedsGetCmd struct {
	Domain  string `arg:"" help:"The domain."`
	List    string `arg:"" help:"The list's name."`
	Version uint64 `help:"An earlier version; default: the present one."`
}

func (c seedsGetCmd) Run(a *app) error {
	return ask(a, showText, func(ctx context.Context, archive *client.Client) (string, error) {
		return archive.Domains().Seeds(ctx, c.Domain, c.List, c.Version)
	})
}

func showText(a *app, text string) error {
	return a.answer(struct {
		Text string `json:"text"`
	}{text}, func() error {
		_, err := fmt.Fprint(a.stdout, text)
		return err
	})
}

type seedsRemoveCmd struct {
	Domain string `arg:"" help:"The domain."`
	List   string `arg:"" help:"The list's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c seedsRemoveCmd) Run(a *app) error {
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().RemoveSeeds(ctx, c.Domain, c.List, c.Reason)
	})
}

type domainTrapsCmd struct {
	Put trapsPutCmd `cmd:"" help:"Replace the crawler traps of a domain by those in a file."`
	Get trapsGetCmd `cmd:"" help:"Print the crawler traps of a domain."`
}

type trapsPutCmd struct {
	Domain string `arg:"" help:"The domain."`
	File   string `arg:"" help:"The file: one regular expression (RE2) per line, # begins a comment; - reads standard input."`
}

func (c trapsPutCmd) Run(a *app) error {
	return a.withText(c.File, func(text io.Reader) error {
		return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
			return archive.Domains().PutTraps(ctx, c.Domain, text)
		})
	})
}

type trapsGetCmd struct {
	Domain string `arg:"" help:"The domain."`
}

func (c trapsGetCmd) Run(a *app) error {
	return ask(a, showText, func(ctx context.Context, archive *client.Client) (string, error) {
		return archive.Domains().Traps(ctx, c.Domain)
	})
}
