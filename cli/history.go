package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"holdfast/api/wire"
	"holdfast/client"
)

type domainHistoryCmd struct {
	Name string `arg:"" help:"The domain."`
}

func (domainHistoryCmd) Help() string {
	return "Each line has the time at which the job ended, the job, the harvest and its run, the configuration, " +
		"objects, bytes, and why the harvest of the domain ended."
}

func (c domainHistoryCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return stream(a, archive.Domains().History(ctx, c.Name), func(w io.Writer, h wire.DomainHistory) error {
			_, err := fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%d\t%d\t%s\n", when(h.Received), h.Job, h.Harvest,
				h.Run, h.Configuration, h.Objects, h.Bytes, h.Stop)
			return err
		})
	})
}

type jobStatisticsCmd struct {
	ID uint64 `arg:"" name:"id" help:"The job's number."`
}

func (jobStatisticsCmd) Help() string {
	return "Each line has the domain, the configuration, objects, bytes, and why the harvest of the domain ended. " +
		"The last line, without a domain, sums up what counted for other domains."
}

func (c jobStatisticsCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return stream(a, archive.Jobs().Statistics(ctx, c.ID), func(w io.Writer, s wire.Statistic) error {
			_, err := fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", cmp.Or(s.Domain, "-"), cmp.Or(s.Configuration, "-"),
				s.Objects, s.Bytes, cmp.Or(s.Stop, "-"))
			return err
		})
	})
}
