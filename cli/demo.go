package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"holdfast/demo"
)

type demoCmd struct {
	Exit bool          `help:"Exit after the table, instead of serving the archived site until interrupted."`
	Data string        `placeholder:"DIR" help:"Keep everything in this folder. Default: a temporary folder, which is removed."`
	Time time.Duration `default:"2m" help:"Give up after this time."`
}

func (demoCmd) Help() string {
	return "Three nodes run as separate processes: replicas north and south hold the bytes, third holds checksums. " +
		"They harvest a\nsmall website that this command serves itself, copy it, find and repair a flipped bit, and " +
		"go on when one is killed."
}

func (demoCmd) exits() []string {
	return []string{"0   every step succeeded", "1   a step failed; the table says which"}
}

// fact is one thing that the demo shows.
type fact struct {
	Name   string  `json:"name"`
	Held   bool    `json:"held"`
	Detail string  `json:"detail"`
	At     float64 `json:"atSeconds"`
}

// outcome is the answer of the command demo.
type outcome struct {
	Held    bool    `json:"held"`
	Seconds float64 `json:"seconds"`
	Facts   []fact  `json:"facts"`
	Browse  string  `json:"browse"`
	Pages   string  `json:"pages,omitempty"` // a link that signs in, once
	Data    string  `json:"data"`
}

func (c demoCmd) Run(a *app) (err error) {
	dir, clean, err := workDir(c.Data, "holdfast-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	site, err := demo.Serve(a.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	t := &trial{app: a, dir: dir, site: site, began: time.Now()}
	defer func() { err = errors.Join(err, t.stop()) }()
	ctx, cancel := context.WithTimeoutCause(a.ctx, c.Time, fmt.Errorf("the demo took longer than %s", c.Time))
	defer cancel()
	out := t.show(ctx)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err := a.answer(out, func() error { return showOutcome(a, out) }); err != nil {
		return err
	}
	if !out.Held {
		t.logs()
		return errNo
	}
	if c.Exit {
		return nil
	}
	fmt.Fprintf(a.stderr, "The nodes run until you press Ctrl-C. %s\n", out.Data)
	<-a.ctx.Done()
	return nil
}

func showOutcome(a *app, out outcome) error {
	rows := make([]table.Row, len(out.Facts))
	for i, f := range out.Facts {
		held := "ok"
		if !f.Held {
			held = "NO"
		}
		rows[i] = table.Row{held, f.Name, f.Detail, fmt.Sprintf("%.1f s", f.At)}
	}
	fmt.Fprintln(a.stdout)
	if err := a.table(table.Row{"", "What happened", "", "After"}, rows,
		table.ColumnConfig{Number: 3, WidthMax: 76, WidthMaxEnforcer: text.WrapSoft}); err != nil {
		return err
	}
	if out.Held {
		_, err := fmt.Fprintf(a.stdout, "\nEverything held, in %.1f seconds. Browse the archived site: %s\n",
			out.Seconds, out.Browse)
		if err == nil && out.Pages != "" {
			_, err = fmt.Fprintf(a.stdout, "See what the nodes did (the link signs you in, once): %s\n", out.Pages)
		}
		return err
	}
	_, err := fmt.Fprintln(a.stdout, "\nNot everything held.")
	return err
}

// step is one thing to show: it returns what happened, or why it did not.
type step struct {
	name string
	do   func(context.Context) (string, error)
}

// show takes the steps in order, up to the first that does not hold.
func (t *trial) show(ctx context.Context) outcome {
	out := outcome{Held: true, Facts: []fact{}, Data: t.dir}
	for _, s := range []step{
		{"three nodes form a cluster", t.form},
		{"a website of three hosts is harvested", t.harvest},
		{"every page of it is captured", t.captured},
		{"every file is copied and verified", t.copied},
		{"a flipped bit is found, voted on and repaired", t.repaired},
		{"a killed node does not stop reading", t.survive},
	} {
		detail, err := s.do(ctx)
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
		f := fact{Name: s.name, Held: err == nil, Detail: detail, At: time.Since(t.began).Seconds()}
		if err != nil {
			f.Detail, out.Held = err.Error(), false
		}
		out.Facts = append(out.Facts, f)
		if !t.app.JSON {
			fmt.Fprintf(t.app.stderr, "%6.1f s  %s: %s\n", f.At, f.Name, f.Detail)
		}
		if err != nil {
			break
		}
		if len(out.Facts) == 1 && !t.app.JSON {
			t.invite()
		}
	}
	out.Seconds, out.Browse = time.Since(t.began).Seconds(), t.browse
	if out.Held {
		out.Pages = signInLink(t.app, t.lasting().client)
	}
	return out
}

// lasting is a node that no step kills.
func (t *trial) lasting() *child { return t.nodes[1] }

// invite prints how to watch the steps that follow.
func (t *trial) invite() {
	if link := signInLink(t.app, t.lasting().client); link != "" {
		fmt.Fprintf(t.app.stderr, "Watch it in a browser (the link signs you in, once): %s\n", link)
	}
}

// logs prints the end of each node's log, to see why something did not hold.
func (t *trial) logs() {
	for _, n := range t.nodes {
		end, err := os.ReadFile(n.log)
		if err != nil {
			continue
		}
		fmt.Fprintf(t.app.stderr, "--- the end of %s\n%s\n", n.log, end[max(0, len(end)-4000):])
	}
}
