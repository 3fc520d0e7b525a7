package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/node/config"
)

type batchCmd struct {
	Run_     batchRunCmd      `cmd:"" name:"run" help:"Run a program over files of the archive, on the nodes that have them."`
	List     batchListCmd     `cmd:"" help:"List the batches, newest first."`
	Show     batchShowCmd     `cmd:"" help:"Show a batch: how far it is, and which files could not be processed."`
	Pause    batchPauseCmd    `cmd:"" help:"Pause a batch; what is done is kept."`
	Resume   batchResumeCmd   `cmd:"" help:"Resume a paused batch."`
	Stop     batchStopCmd     `cmd:"" help:"Stop a batch; it cannot be resumed."`
	Result   batchResultCmd   `cmd:"" help:"Print or store the result of a batch that has ended."`
	Failures batchFailuresCmd `cmd:"" help:"List all files that are not in the result of a batch, with the reasons."`
	Programs batchProgramsCmd `cmd:"" help:"List the programs and their parameters."`
}

type batchRunCmd struct {
	Program    string            `arg:"" help:"The program, as batch programs lists it."`
	Collection []string          `placeholder:"NAME" help:"Only files of these collections. Without it, of all; this needs the role curator for the whole archive."`
	Replica    string            `placeholder:"NAME" help:"Only files that this replica holds. Its copies are read first."`
	Files      string            `placeholder:"REGEX" help:"Only files whose whole name matches this regular expression."`
	List       string            `placeholder:"FILE" type:"existingfile" help:"Only files whose names this file lists, one on a line; # begins a comment."`
	Job        uint64            `placeholder:"ID" help:"Only files that this job made."`
	Set        map[string]string `placeholder:"NAME=VALUE" help:"Parameters of the program."`
	Time       time.Duration     `placeholder:"TIME" help:"End the batch when it has run for this long. Default: no limit."`
	Output     string            `placeholder:"SIZE" help:"End the batch when its result has this many bytes, such as 10GiB. Default: no limit."`
	Wait       bool              `help:"Wait until the batch has ended."`
	Out        string            `placeholder:"FILE" help:"Wait, and write the result to this file; - is standard output."`
	KeepAs     string            `placeholder:"NAME" help:"Wait, and put the result into the archive under this name, if every file was processed."`
}

func (batchRunCmd) Help() string {
	return "Each file is compared with its SHA-256 on the read that the program does. A copy that is wrong is not " +
		"believed:\nthe file is read on another node. Interrupting the wait changes nothing: the batch goes on."
}

func (batchRunCmd) exits() []string {
	return []string{"0   started; with --wait: every selected file was processed",
		"1   with --wait: files are missing in the result, or no file is selected"}
}

func (c batchRunCmd) Run(a *app) error {
	in, err := c.request()
	if err != nil {
		return err
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		b, err := archive.Batches().Run(ctx, in)
		if err != nil {
			return err
		}
		if !c.Wait && c.Out == "" && c.KeepAs == "" {
			return showBatch(a, b)
		}
		fmt.Fprintf(a.stderr, "batch %s runs\n", b.ID)
		if b, err = waitBatch(ctx, a, archive, b); err != nil {
			return err
		}
		show := showBatch
		if c.Out == "-" {
			show = func(a *app, b wire.Batch) error { return tellBatch(a, b) }
		}
		if err := show(a, b); err != nil {
			return err
		}
		return keepResult(ctx, a, archive, b, c.Out, c.KeepAs)
	})
}

// request returns what the flags ask for.
func (c batchRunCmd) request() (in wire.BatchRequest, err error) {
	in = wire.BatchRequest{Program: c.Program, Parameters: c.Set, Collections: c.Collection, Replica: c.Replica,
		Files: c.Files, Job: c.Job, TimeLimit: int64(c.Time / time.Second)}
	if c.Time < 0 || c.Time > 0 && c.Time < time.Second {
		return in, usage("--time: want at least 1s")
	}
	if c.Output != "" {
		var most config.Bytes
		if err := most.UnmarshalText([]byte(c.Output)); err != nil || most <= 0 {
			return in, usage("--output: want a size such as 10GiB")
		}
		in.OutputLimit = int64(most)
	}
	if c.List == "" {
		return in, nil
	}
	file, err := os.Open(c.List)
	if err != nil {
		return in, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "#")
		if name = strings.TrimSpace(name); name != "" {
			in.Names = append(in.Names, name)
		}
	}
	if lines.Err() == nil && len(in.Names) == 0 {
		return in, usage("--list: %s lists no names", c.List)
	}
	return in, lines.Err()
}

// waitBatch shows how far the batch is until it has ended.
func waitBatch(ctx context.Context, a *app, archive *client.Client, b wire.Batch) (wire.Batch, error) {
	progress := a.bars()
	defer progress.wait()
	shown := progress.count("batch "+b.ID, 0)
	err := every(ctx, 200*time.Millisecond, func() (bool, error) {
		now, err := archive.Batches().Show(ctx, b.ID)
		if err != nil {
			return false, err
		}
		b = now
		if p := b.Progress; p != nil {
			shown.set(p.Files+p.Failed, p.Selected)
			shown.on(p.Detail)
		} else {
			shown.on(b.Unknown)
		}
		if b.State == wire.BatchPaused {
			shown.on("paused")
		}
		return b.State.Ended(), nil
	})
	shown.end(err == nil)
	return b, err
}

// errNotWhole says what a result lacks.
func errNotWhole(b *wire.Batch) error {
	return fmt.Errorf("the result of batch %s is not whole: it is %s: %s", b.ID, b.State, cmp.Or(b.Reason, "stopped"))
}

// showBatch shows a batch. One that has ended and is not done is a failure.
func showBatch(a *app, b wire.Batch) error {
	return a.answer(b, func() error {
		if err := batchTable(a, []wire.Batch{b}); err != nil {
			return err
		}
		if b.Reason != "" {
			fmt.Fprintf(a.stdout, "\n%s: %s\n", b.State, b.Reason)
		}
		if b.Unknown != "" {
			fmt.Fprintf(a.stdout, "\nHow far it is is not known: %s\n", b.Unknown)
		}
		p := b.Progress
		if p == nil {
			return nil
		}
		if p.Detail != "" {
			fmt.Fprintf(a.stdout, "\nIt waits: %s\n", p.Detail)
		}
		if len(p.Nodes) > 0 {
			fmt.Fprintln(a.stdout)
			rows := make([]table.Row, len(p.Nodes))
			for i, n := range p.Nodes {
				rows[i] = table.Row{n.Node, n.Files, size(n.Bytes)}
			}
			if err := a.table(table.Row{"Node", "Files", "Read"}, rows); err != nil {
				return err
			}
		}
		return batchFailures(a, p)
	})
}

func batchFailures(a *app, p *wire.BatchProgress) error {
	if len(p.Failures) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	rows := make([]table.Row, len(p.Failures))
	for i, f := range p.Failures {
		rows[i] = table.Row{f.Name, f.Reason}
	}
	if err := a.table(table.Row{"Not in the result", "Reason"}, rows); err != nil {
		return err
	}
	if more := p.Failed - int64(len(p.Failures)); more > 0 {
		fmt.Fprintf(a.stdout, "and %d more\n", more)
	}
	return nil
}

// tellBatch says on standard error how a batch went, when its result goes to standard output.
func tellBatch(a *app, b wire.Batch) error {
	if p := b.Progress; p != nil {
		fmt.Fprintf(a.stderr, "batch %s is %s: %d of %d files processed, %s read\n", b.ID, b.State, p.Files, p.Selected,
			size(p.Bytes))
	}
	return nil
}

func batchTable(a *app, all []wire.Batch) error {
	rows := make([]table.Row, len(all))
	for i, b := range all {
		files, failed, read, output := "-", "-", "-", "-"
		if p := b.Progress; p != nil {
			files, failed = fmt.Sprintf("%d/%d", p.Files, p.Selected), fmt.Sprint(p.Failed)
			read, output = size(p.Bytes), size(p.Output)
		}
		rows[i] = table.Row{b.ID, b.Program, b.State, cmp.Or(b.Node, "-"), when(b.Begun), when(b.Ended), files, failed,
			read, output}
	}
	head := table.Row{"Batch", "Program", "State", "Node", "Began", "Ended", "Files", "Failed", "Read", "Result"}
	return a.table(head, rows)
}

type batchListCmd struct {
	State string `enum:",opening,running,paused,stopped,done,incomplete" default:"" help:"List only batches in this state: opening, running, paused, stopped, done or incomplete."`
	Limit int    `default:"0" help:"Show at most this many, newest first; 0 shows all."`
}

func (l batchListCmd) Run(a *app) error {
	return ask(a, showAll(batchTable), func(ctx context.Context, c *client.Client) ([]wire.Batch, error) {
		return collect(most(l.Limit, c.Batches().Find(ctx, wire.BatchState(l.State))))
	})
}

// batchID names a batch.
type batchID struct {
	ID string `arg:"" name:"id" help:"The batch's id, as batch list prints it."`
}

type batchShowCmd struct{ batchID }

func (c batchShowCmd) Run(a *app) error {
	return ask(a, showBatch, func(ctx context.Context, archive *client.Client) (wire.Batch, error) {
		return archive.Batches().Show(ctx, c.ID)
	})
}

// batchWish are the arguments of pause, resume and stop.
type batchWish struct {
	batchID
	Reason string `help:"Reason, written into the audit trail."`
}

func (w batchWish) wish(a *app, wish wire.Wish) error {
	return ask(a, showBatch, func(ctx context.Context, archive *client.Client) (wire.Batch, error) {
		return archive.Batches().Wish(ctx, w.ID, wish, w.Reason)
	})
}

type (
	batchPauseCmd  struct{ batchWish }
	batchResumeCmd struct{ batchWish }
	batchStopCmd   struct{ batchWish }
)

func (c batchPauseCmd) Run(a *app) error  { return c.wish(a, wire.WishPause) }
func (c batchResumeCmd) Run(a *app) error { return c.wish(a, wire.WishRun) }
func (c batchStopCmd) Run(a *app) error   { return c.wish(a, wire.WishStop) }

type batchProgramsCmd struct{}

func (batchProgramsCmd) Run(a *app) error {
	return ask(a, func(a *app, all []wire.BatchProgram) error {
		return a.answer(items[wire.BatchProgram]{all}, func() error {
			var rows []table.Row
			for _, p := range all {
				rows = append(rows, table.Row{p.Name, "", p.Help})
				for _, of := range p.Parameters {
					text := of.Help
					if of.Allowed != nil {
						text += ": " + strings.Join(of.Allowed, ", ")
					}
					rows = append(rows, table.Row{"", of.Name + "=" + of.Default, text})
				}
			}
			return a.table(table.Row{"Program", "Parameter", ""}, rows)
		})
	}, func(ctx context.Context, c *client.Client) ([]wire.BatchProgram, error) {
		return c.Batches().Programs(ctx)
	})
}
