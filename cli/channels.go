package cli

import (
	"context"
	"iter"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type channelCmd struct {
	List   channelListCmd   `cmd:"" help:"List the channels."`
	Show   channelShowCmd   `cmd:"" help:"Show a channel, with the nodes that serve it."`
	Create channelCreateCmd `cmd:"" help:"Create a channel."`
	Set    channelSetCmd    `cmd:"" help:"Change a channel's comment."`
	Delete channelDeleteCmd `cmd:"" help:"Delete a channel that no node serves and no job waits in."`
}

// definedListFlags are the flags of lists of what archivists define.
type definedListFlags struct {
	Search string `placeholder:"TEXT" help:"List only what has this text in its name or comment."`
	Sort   string `enum:"name,changed" default:"name" help:"Sort by name, or by the time of the last change, latest first: name or changed."`
}

// gathered are all items of a list.
func gathered[T any](all iter.Seq2[T, error]) (out []T, err error) {
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

type channelListCmd struct{ definedListFlags }

func (c channelListCmd) Run(a *app) error {
	return ask(a, channelTable, func(ctx context.Context, archive *client.Client) ([]wire.Channel, error) {
		return gathered(archive.Channels().List(ctx, c.Search, c.Sort))
	})
}

func channelTable(a *app, all []wire.Channel) error {
	return list(a, all, table.Row{"Channel", "For", "Default", "Nodes", "Waiting", "Comment"},
		func(c wire.Channel) table.Row {
			return table.Row{c.Name, channelKind(c), yes(c.Default), strings.Join(c.Nodes, ", "), c.Waiting, c.Comment}
		})
}

func channelKind(c wire.Channel) string {
	if c.Snapshot {
		return "snapshot harvests"
	}
	return "selective harvests"
}

func showChannel(a *app, c wire.Channel) error {
	return a.answer(c, func() error {
		return a.table(nil, []table.Row{{"channel", c.Name}, {"for", channelKind(c)}, {"default", yes(c.Default)},
			{"nodes", strings.Join(c.Nodes, ", ")}, {"waiting", c.Waiting}, {"comment", c.Comment},
			{"changed", when(c.Changed)}, {"by", c.ChangedBy}})
	})
}

type channelShowCmd struct {
	Name string `arg:"" help:"The channel's name."`
}

func (c channelShowCmd) Run(a *app) error {
	return ask(a, showChannel, func(ctx context.Context, archive *client.Client) (wire.Channel, error) {
		return archive.Channels().Show(ctx, c.Name)
	})
}

type channelCreateCmd struct {
	Name     string `arg:"" help:"The channel's name: letters, digits and underscores."`
	Snapshot bool   `help:"The channel is for jobs of snapshot harvests. Otherwise it is for selective and event harvests."`
	Comment  string `help:"What the channel is for."`
}

// Help says how a channel gets nodes.
func (channelCreateCmd) Help() string {
	return "A node takes the jobs of the channels that its cluster.toml names in channels; without that, those of " +
		"FOCUSED and SNAPSHOT. Jobs of a channel that no node serves wait."
}

func (c channelCreateCmd) Run(a *app) error {
	return ask(a, showChannel, func(ctx context.Context, archive *client.Client) (wire.Channel, error) {
		return archive.Channels().Create(ctx,
			wire.ChannelRequest{Name: c.Name, Snapshot: c.Snapshot, Comment: c.Comment})
	})
}

type channelSetCmd struct {
	Name    string `arg:"" help:"The channel's name."`
	Comment string `required:"" help:"What the channel is for."`
}

func (c channelSetCmd) Run(a *app) error {
	return ask(a, showChannel, func(ctx context.Context, archive *client.Client) (wire.Channel, error) {
		return archive.Channels().Set(ctx, c.Name, wire.ChannelChange{Comment: c.Comment})
	})
}

type channelDeleteCmd struct {
	Name string `arg:"" help:"The channel's name."`
}

func (c channelDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Channels().Delete(ctx, c.Name); err != nil {
			return err
		}
		return a.done("deleted", c.Name)
	})
}
