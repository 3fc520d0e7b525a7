package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type domainCmd struct {
	Create      domainCreateCmd      `cmd:"" help:"Make a domain."`
	List        domainListCmd        `cmd:"" help:"List domains by name."`
	Show        domainShowCmd        `cmd:"" help:"Show a domain with its configurations and lists."`
	History     domainHistoryCmd     `cmd:"" help:"List what jobs brought for a domain, the newest first."`
	Set         domainSetCmd         `cmd:"" help:"Change a domain's collection, default configuration, owner, comments or fields."`
	Remove      domainRemoveCmd      `cmd:"" help:"Remove a domain that nothing uses, with its configurations and lists."`
	Alias       domainAliasCmd       `cmd:"" help:"Make a domain an alias of another one, or renew the alias."`
	Unalias     domainUnaliasCmd     `cmd:"" help:"End the alias of a domain."`
	Aliases     domainAliasesCmd     `cmd:"" help:"List the domains that are aliases, the first to expire first."`
	Configure   domainConfigureCmd   `cmd:"" help:"Make a configuration of a domain, or change it."`
	Unconfigure domainUnconfigureCmd `cmd:"" help:"Remove a configuration of a domain."`
	Seeds       domainSeedsCmd       `cmd:"" help:"Put, print and remove seed lists of a domain."`
	Traps       domainTrapsCmd       `cmd:"" help:"Put and print the crawler traps of a domain."`
	Ingest      domainIngestCmd      `cmd:"" help:"Bring in a long list of domains, and follow that."`
	Settings    domainSettingsCmd    `cmd:"" help:"Show or change what holds for domains of which nothing was said."`
}

type domainCreateCmd struct {
	Name       string   `arg:"" help:"The domain, such as example.org."`
	Collection string   `help:"The collection of the domain; default: the cluster's first."`
	Owner      string   `help:"Who owns the site, or looks after the domain."`
	Comments   string   `help:"Comments."`
	Field      []string `placeholder:"NAME=VALUE" sep:"none" help:"The value of an extended field. May be repeated."`
}

func (c domainCreateCmd) Run(a *app) error {
	fields, err := readFields(c.Field)
	if err != nil {
		return err
	}
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Create(ctx, wire.DomainRequest{Name: c.Name, Collection: c.Collection, Owner: c.Owner,
			Comments: c.Comments, Fields: fields})
	})
}

// readFields reads values of extended fields, each as NAME=VALUE.
func readFields(given []string) (map[string]string, error) {
	var fields map[string]string
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("--field %s: want NAME=VALUE", text)
		}
		if fields == nil {
			fields = map[string]string{}
		}
		fields[name] = value
	}
	return fields, nil
}

type domainListCmd struct {
	Prefix string `arg:"" optional:"" help:"List only names that begin with this."`
}

func (c domainListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return stream(a, archive.Domains().All(ctx, c.Prefix), func(w io.Writer, d wire.Domain) error {
			_, err := fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Collection)
			return err
		})
	})
}

type domainShowCmd struct {
	Name string `arg:"" help:"The domain."`
}

func (c domainShowCmd) Run(a *app) error {
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Show(ctx, c.Name)
	})
}

func showDomain(a *app, d wire.Domain) error {
	return a.answer(d, func() error {
		var rows []table.Row
		for _, f := range []struct{ name, value string }{{"domain", d.Name}, {"collection", d.Collection},
			{"created", when(d.Created)}, {"owner", d.Owner}, {"comments", d.Comments}, {"default", d.Default},
			{"alias of", aliasText(d.Alias)}, {"aliases", strings.Join(d.Aliases, " ")},
			{"missing fields", strings.Join(d.Missing, " ")}, {"traps", countOf(d.Traps)}} {
			if f.value != "" {
				rows = append(rows, table.Row{f.name, f.value})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
			rows = append(rows, table.Row{"field " + name, d.Fields[name]})
		}
		if err := a.table(nil, rows); err != nil {
			return err
		}
		return showParts(a, d)
	})
}

func aliasText(alias *wire.Alias) string {
	switch {
	case alias == nil:
		return ""
	case alias.Expired:
		return alias.Of + ", expired " + when(alias.Until)
	}
	return alias.Of + " until " + when(alias.Until)
}

func countOf(l *wire.List) string {
	if l == nil {
		return ""
	}
	return fmt.Sprint(l.Items)
}

// showParts prints the configurations and seed lists of a domain.
func showParts(a *app, d wire.Domain) error {
	rows := make([]table.Row, len(d.Configurations))
	for i, c := range d.Configurations {
		var settings []string
		for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
			settings = append(settings, name+"="+string(c.Settings[name]))
		}
		rows[i] = table.Row{c.Name, yes(c.Default), c.Template, strings.Join(c.Seeds, " "), c.Objects, c.Bytes,
			strings.Join(settings, " "), c.Comments}
	}
	fmt.Fprintln(a.stdout)
	if err := a.table(table.Row{"Configuration", "Default", "Template", "Seeds", "Objects", "Bytes", "Settings",
		"Comments"}, rows); err != nil {
		return err
	}
	rows = make([]table.Row, len(d.Seeds))
	for i, l := range d.Seeds {
		rows[i] = table.Row{l.Name, l.Items, l.Version, when(l.Changed), l.Comments}
	}
	fmt.Fprintln(a.stdout)
	return a.table(table.Row{"Seed list", "Seeds", "Version", "Changed", "Comments"}, rows)
}

type domainSetCmd struct {
	Name       string   `arg:"" help:"The domain."`
	Collection *string  `help:"Move the domain to this collection."`
	Default    *string  `placeholder:"NAME" help:"Make this configuration the default."`
	Owner      *string  `help:"Who owns the site, or looks after the domain."`
	Comments   *string  `help:"Comments."`
	Field      []string `placeholder:"NAME=VALUE" sep:"none" help:"The value of an extended field; NAME= removes it. May be repeated."`
}

func (c domainSetCmd) Run(a *app) error {
	fields, err := readFields(c.Field)
	if err != nil {
		return err
	}
	if c.Collection == nil && c.Default == nil && c.Owner == nil && c.Comments == nil && fields == nil {
		return usage("nothing to change: give --collection, --default, --owner, --comments or --field")
	}
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Set(ctx, c.Name, wire.DomainChange{Collection: c.Collection, Default: c.Default,
			Owner: c.Owner, Comments: c.Comments, Fields: fields})
	})
}

type domainRemoveCmd struct {
	Name   string `arg:"" help:"The domain."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c domainRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Domains().Remove(ctx, c.Name, c.Reason); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}

type domainAliasCmd struct {
	Name string `arg:"" help:"The domain that becomes an alias of the other one."`
	Of   string `arg:"" help:"The other domain. It must not be an alias itself."`
}

// Help says for how long.
func (domainAliasCmd) Help() string {
	return "Snapshot harvests leave out a domain that is an alias. The alias expires after the time that the setting " +
		"alias_expiry gives (a year, unless changed); give the same command again to renew it."
}

func (c domainAliasCmd) Run(a *app) error {
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Alias(ctx, c.Name, c.Of)
	})
}

type domainUnaliasCmd struct {
	Name string `arg:"" help:"The domain."`
}

func (c domainUnaliasCmd) Run(a *app) error {
	return ask(a, showDomain, func(ctx context.Context, archive *client.Client) (wire.Domain, error) {
		return archive.Domains().Alias(ctx, c.Name, "")
	})
}

type domainAliasesCmd struct {
	Expired bool `help:"List only aliases that have expired."`
}

func (c domainAliasesCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return stream(a, archive.Domains().Aliases(ctx, c.Expired), func(w io.Writer, d wire.Domain) error {
			_, err := fmt.Fprintf(w, "%s\t%s\n", d.Name, aliasText(d.Alias))
			return err
		})
	})
}

// withText calls do with the file, or with the standard input for "-".
func (a *app) withText(path string, do func(io.Reader) error) error {
	if path == "-" {
		return do(bufio.NewReader(a.stdin))
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	defer func() { _ = f.Close() }()
	return do(f)
}
