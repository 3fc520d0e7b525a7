package replica

import (
	"context"
	"log/slog"
	"time"

	"holdfast/catalog"
)

// Reports wait this long for others, so that one command carries many.
const reportLinger = 100 * time.Millisecond

// This many copies may wait to be reported while there is no quorum; until then copying continues.
const reportBacklog = 10_000

// Pauses before a command that found no quorum is proposed again.
const (
	proposePause   = time.Second
	longestPropose = time.Minute
)

// report is one copy's standing on its way to the catalog; settled is called once with the catalog's
// answer: a refusal, or nil.
type report struct {
	catalog.CopyReport
	settled func(*catalog.Refusal)
}

// reporter sends reports in batches, again and again until the catalog has answered.
type reporter struct {
	in      chan report
	propose func(context.Context, []catalog.CopyReport) ([]catalog.ItemResult, error)
	log     *slog.Logger
}

func newReporter(propose func(context.Context, []catalog.CopyReport) ([]catalog.ItemResult, error),
	log *slog.Logger) *reporter {
	return &reporter{in: make(chan report, reportBacklog), propose: propose, log: log}
}

// send hands a report over; it blocks only when very many earlier ones could not be sent.
func (p *reporter) send(ctx context.Context, r report) error {
	select {
	case p.in <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *reporter) run(ctx context.Context) error {
	for {
		batch, err := p.collect(ctx)
		if err != nil {
			return err
		}
		if err := p.deliver(ctx, batch); err != nil {
			return err
		}
	}
}

// collect waits for a report and then for others, a short while.
func (p *reporter) collect(ctx context.Context) ([]report, error) {
	var batch []report
	select {
	case r := <-p.in:
		batch = append(batch, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	linger := time.NewTimer(reportLinger)
	defer linger.Stop()
	for len(batch) < catalog.MaxItems {
		select {
		case r := <-p.in:
			batch = append(batch, r)
		case <-linger.C:
			return batch, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return batch, nil
}

// deliver proposes the batch until the catalog answers.
func (p *reporter) deliver(ctx context.Context, batch []report) error {
	copies := make([]catalog.CopyReport, len(batch))
	for i := range batch {
		copies[i] = batch[i].CopyReport
	}
	for tries := 1; ; tries++ {
		results, err := p.propose(ctx, copies)
		if err == nil {
			for i := range batch {
				batch[i].settled(results[i].Refusal)
			}
			return nil
		}
		p.log.Warn("copies could not be reported", "copies", len(copies), "err", err)
		if err := sleep(ctx, backoff(tries, proposePause, longestPropose)); err != nil {
			return err
		}
	}
}

func (r *agreed) proposeReports(ctx context.Context, copies []catalog.CopyReport) ([]catalog.ItemResult, error) {
	body := catalog.CopyReports{Node: r.cfg.Self, Copies: copies}
	return r.proposeItems(ctx, catalog.ReportCopies, body, len(copies))
}
