package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"holdfast/api/wire"
	"holdfast/client"
)

type logCmd struct {
	Show  logShowCmd  `cmd:"" default:"withargs" help:"Show the last lines of a node's log, and follow it. \"show\" can be left out."`
	Level logLevelCmd `cmd:"" help:"Make a node log more for a time."`
}

type logShowCmd struct {
	Name   string        `arg:"" optional:"" name:"node" help:"The node, by name or id. Default: the node that is asked."`
	Follow bool          `short:"f" help:"Print new lines as they come, until interrupted."`
	Level  string        `enum:",debug,info,warn,error" default:"" placeholder:"LEVEL" help:"Show only lines of this level and above: debug, info, warn or error."`
	Grep   string        `placeholder:"TEXT" help:"Show only lines that contain this text, in capital letters or not. Attributes stand in a line as name=value."`
	Room   string        `placeholder:"NAME" help:"Show only lines that this part of the program wrote, such as index or crawls."`
	Since  time.Duration `placeholder:"TIME" help:"Show only lines that were written in this time until now, such as 10m."`
	Lines  int           `short:"n" default:"100" help:"Show at most this many lines, the last ones; 1 to 1000."`
}

func (logShowCmd) Help() string {
	return "Each node keeps its last 2000 lines in memory, and any node can be asked for them. Needs the role " +
		"operator at the node's\nplace. Older lines are in the node's folder, in log/holdfast.log. With --json and " +
		"--follow, each line is an object of its own."
}

// logPause is the pause between looks when a log is followed.
const logPause = time.Second

func (c logShowCmd) Run(a *app) error {
	if c.Lines < 1 || c.Lines > wire.MaxPage {
		return usage("--lines %d: want 1 to %d", c.Lines, wire.MaxPage)
	}
	query := client.LogQuery{Level: c.Level, Text: c.Grep, Room: c.Room, Limit: c.Lines}
	if c.Since > 0 {
		query.Since = time.Now().Add(-c.Since)
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		name, err := nodeOr(ctx, archive, c.Name)
		if err != nil {
			return err
		}
		got, err := archive.Nodes().Log(ctx, name, query)
		if err != nil {
			return err
		}
		if !c.Follow {
			return a.answer(got, func() error { return printLines(a.stdout, got.Items) })
		}
		return c.follow(ctx, a, archive.Nodes(), name, query, got, logPause)
	})
}

// nodeOr returns the node's name, that of the node that is asked if it is empty.
func nodeOr(ctx context.Context, c *client.Client, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	st, err := c.Status(ctx)
	return st.Node.ID, err
}

// follow prints what was got and what comes, until ctx ends. A node that does not answer is asked again.
func (c logShowCmd) follow(ctx context.Context, a *app, nodes client.Nodes, name string, query client.LogQuery,
	got wire.NodeLog, pause time.Duration) error {
	silent := false
	query.Limit = wire.MaxPage
	for {
		if got.Restarted {
			fmt.Fprintln(a.stderr, "-- the node was started again; the end of the earlier run is in its log files")
		}
		if got.Missed > 0 {
			fmt.Fprintf(a.stderr, "-- %d lines are no longer in the node's memory; its log files have them\n",
				got.Missed)
		}
		if err := c.print(a, got.Items); err != nil {
			return err
		}
		if got.Next != "" {
			query.After = got.Next
		}
		if len(got.Items) < query.Limit {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil
			}
		}
		next, err := nodes.Log(ctx, name, query)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, wire.ErrUnavailable):
			if !silent {
				fmt.Fprintf(a.stderr, "-- the node does not answer, and is asked again: %v\n", err)
			}
			next = wire.NodeLog{}
		case err != nil:
			return err
		}
		got, silent = next, err != nil
	}
}

func (c logShowCmd) print(a *app, lines []wire.LogLine) error {
	if !a.JSON {
		return printLines(a.stdout, lines)
	}
	out := json.NewEncoder(a.stdout)
	out.SetEscapeHTML(false)
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// printLines prints lines for people. What others gave cannot do anything to a terminal.
func printLines(to io.Writer, lines []wire.LogLine) error {
	for _, l := range lines {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %-5s %s", l.Time.UTC().Format("2006-01-02 15:04:05.000"), strings.ToUpper(l.Level),
			printable(l.Message, ""))
		for _, at := range l.Attributes {
			b.WriteString(" " + printable(at.Name, " =\"") + "=" + printable(at.Value, " =\""))
		}
		if _, err := fmt.Fprintln(to, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// printable is the text, in quotes if there is one of the letters in it, or what cannot be printed.
func printable(text, letters string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if text == "" && letters != "" || strings.ContainsAny(text, letters) || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

type logLevelCmd struct {
	Level string        `arg:"" enum:"debug,info,warn,error" help:"Log lines of this level and above: debug, info, warn or error."`
	Name  string        `arg:"" optional:"" name:"node" help:"The node, by name or id. Default: the node that is asked."`
	For   time.Duration `default:"15m" help:"For how long; at most 24h."`
}

func (logLevelCmd) Help() string {
	return "The level of cluster.toml holds again when the time is over, when the node is started again, or when you " +
		"give that level.\nA node cannot be made to log less than cluster.toml says. Needs the role operator at the " +
		"node's place."
}

func (c logLevelCmd) Run(a *app) error {
	return ask(a, showLogLevel, func(ctx context.Context, archive *client.Client) (wire.LogLevel, error) {
		name, err := nodeOr(ctx, archive, c.Name)
		if err != nil {
			return wire.LogLevel{}, err
		}
		return archive.Nodes().SetLogLevel(ctx, name, wire.LogLevelRequest{Level: c.Level, For: c.For.String()})
	})
}

func showLogLevel(a *app, l wire.LogLevel) error {
	return a.answer(l, func() error {
		text := "logs as usual: " + l.Usual
		if !l.Until.IsZero() {
			text = fmt.Sprintf("logs %s until %s, then %s again", l.Now, when(l.Until), l.Usual)
		}
		_, err := fmt.Fprintln(a.stdout, text)
		return err
	})
}
