package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/disk"
)

type jobIndexCmd struct {
	Kind    string   `default:"cdx" enum:"cdx,full,documents" help:"cdx, full or documents."`
	Out     string   `short:"o" default:"-" placeholder:"PATH" help:"Write to this path; - is stdout."`
	Harvest string   `placeholder:"NAME" help:"Instead of jobs: all jobs of this harvest, by its name or number."`
	OfRun   uint64   `name:"run" placeholder:"N" help:"Only the jobs of this run of the harvest."`
	Jobs    []uint64 `arg:"" optional:"" name:"job" help:"Numbers of jobs."`
}

func (jobIndexCmd) Help() string {
	return "One index of several jobs, or of those of a harvest, made of their metadata files. Its lines are in the " +
		"order of their bytes.\n\n" +
		"cdx: URL, IP address, date, media type, length, file and offset of each record.\n\n" +
		"full: CDXJ, made of crawl.log and the CDX. It has a line for each line of crawl.log; that of a duplicate " +
		"says where the content is stored.\n\n" +
		"documents: what later jobs are compared with, as JSON.\n\n" +
		"With --json and without --out, each line is a JSON string."
}

func (jobIndexCmd) exits() []string {
	return []string{"0   done",
		"1   failed, or there is nothing of some of the jobs, or not all, or more jobs will come, which stderr names"}
}

func (c jobIndexCmd) Run(a *app) error {
	switch {
	case c.Harvest == "" && c.OfRun != 0:
		return usage("--run: give the harvest, too")
	case (c.Harvest == "") == (len(c.Jobs) == 0):
		return usage("give jobs, or --harvest, and not both")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) (err error) {
		var of wire.JobIndex
		write := func(w io.Writer) (err error) {
			of, err = c.get(ctx, archive, w)
			return err
		}
		switch {
		case c.Out != "-":
			if err = disk.New().WriteFile(c.Out, write); err == nil {
				err = a.answer(of, func() error {
					_, err := fmt.Fprintf(a.stdout, "%s: the index of %d jobs\n", c.Out, len(of.Jobs))
					return err
				})
			}
		case a.JSON:
			lines := &jsonLines{to: json.NewEncoder(a.stdout)}
			if err = write(lines); err == nil {
				err = lines.end()
			}
		default:
			err = write(a.stdout)
		}
		if err != nil || len(of.Missing)+len(of.Incomplete)+len(of.Unmade) == 0 {
			return err
		}
		for _, id := range of.Incomplete {
			_, _ = fmt.Fprintf(a.stderr, "job %d is not in the index as a whole: the metadata file of an earlier "+
				"attempt is lost\n", id)
		}
		for _, id := range of.Missing {
			_, _ = fmt.Fprintf(a.stderr, "job %d is not in the index: no metadata file can be read now\n", id)
		}
		for _, run := range of.Unmade {
			_, _ = fmt.Fprintf(a.stderr, "run %d does not have all of its jobs: they are being made, or could not "+
				"be made (holdfast harvest runs)\n", run)
		}
		return errNo
	})
}

// get writes the index that is asked for.
func (c jobIndexCmd) get(ctx context.Context, archive *client.Client, w io.Writer) (wire.JobIndex, error) {
	kind := wire.JobIndexKind(c.Kind)
	if c.Harvest == "" {
		return archive.Jobs().Index(ctx, kind, c.Jobs, w)
	}
	number, err := harvestNumber(ctx, archive, c.Harvest)
	if err != nil {
		return wire.JobIndex{}, err
	}
	return archive.Jobs().HarvestIndex(ctx, kind, number, c.OfRun, w)
}
