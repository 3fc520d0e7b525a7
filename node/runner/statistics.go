package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/crawler"
)

// tell proposes what the attempt brought for each configuration, in chunks, and notes in its end how many there are:
// from then on they count. The job's totals are their sum. A job without configurations has none; of one whose
// statistics cannot be read, or are refused, the end is told without.
func (c *Runner) tell(ctx context.Context, r *Attempt, end *catalog.JobEnd, log *slog.Logger) error {
	limits, err := limitsOf(c.cfg.Agreement, r.Job)
	if err != nil || limits == nil {
		return err
	}
	t := teller{of: r.Job, self: c.cfg.Self, insist: c.cfg.Insist}
	err = t.all(ctx, crawler.Statistics(r.Dir), limits)
	if err == nil {
		end.Statistics, end.Stats.Objects, end.Stats.Bytes = t.chunks, t.objects, t.bytes
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log.Error("statistics of the job's configurations are not kept", "error", err)
	return nil
}

// owner names a configuration.
type owner struct{ domain, name string }

// limitsOf are the own limits of the job's configurations; nil if it has no configurations.
func limitsOf(agreement Agreement, job catalog.Job) (of map[owner]jobs.Statistic, err error) {
	err = agreement.View(func(v catalog.View) error {
		all, err := v.Configurations(&job)
		if len(all) > 0 {
			of = map[owner]jobs.Statistic{}
		}
		for i := range all {
			objects, bytes := limit(all[i].Objects), limit(all[i].Bytes)
			if objects != nil || bytes != nil {
				of[owner{all[i].Domain, all[i].Name}] = jobs.Statistic{MaxObjects: objects, MaxBytes: bytes}
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the configurations of job %d: %w", job.ID, err)
	}
	return of, nil
}

// limit is nil where there is none.
func limit(l interface{ Given() (int64, bool) }) *int64 {
	n, given := l.Given()
	if !given {
		return nil
	}
	return &n
}

// teller proposes the statistics of an attempt.
type teller struct {
	of     catalog.Job
	self   catalog.NodeID
	insist func(context.Context, catalog.Kind, any) (*catalog.Refusal, error)

	next           []jobs.Statistic // not proposed yet
	chunks         int              // proposed
	objects, bytes int64            // of all
}

// all proposes all statistics. There are none of a crawl that ended before it had reports.
func (t *teller) all(ctx context.Context, all iter.Seq2[crawler.Statistic, error],
	limits map[owner]jobs.Statistic) error {
	for s, err := range all {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the crawl has no report of configurations: %w", err)
		}
		if err != nil {
			return err
		}
		if len(t.next) == jobs.StatisticsInChunk {
			if err := t.propose(ctx, false); err != nil {
				return err
			}
		}
		line := limits[owner{s.Domain, s.Name}]
		line.Domain, line.Name, line.Objects, line.Bytes, line.Stop = s.Domain, s.Name, s.Objects, s.Bytes, s.Stop
		t.next = append(t.next, line)
		t.objects, t.bytes = t.objects+s.Objects, t.bytes+s.Bytes
	}
	return t.propose(ctx, true)
}

// propose proposes the statistics that were not proposed yet as the next chunk.
func (t *teller) propose(ctx context.Context, last bool) error {
	chunk := jobs.JobStatistics{ID: t.of.ID, Node: t.self, Attempt: t.of.Attempt, Number: t.chunks + 1, Last: last,
		Statistics: t.next}
	refusal, err := t.insist(ctx, jobs.AddStatistics, chunk)
	if err = errors.Join(err, refusedError(refusal)); err != nil {
		return fmt.Errorf("chunk %d of statistics: %w", chunk.Number, err)
	}
	t.chunks, t.next = chunk.Number, nil
	return nil
}
