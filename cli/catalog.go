package cli

import (
	"context"
	"fmt"
	"io"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

type catalogCmd struct {
	Check   catalogCheckCmd   `cmd:"" help:"Check that the catalog is consistent: the audit trail's chain, the files and the totals."`
	Rebuild catalogRebuildCmd `cmd:"" help:"Rebuild a lost catalog from this node's files."`
	Trail   catalogTrailCmd   `cmd:"" help:"Print the audit trail of decisions."`
}

type catalogCheckCmd struct{}

func (catalogCheckCmd) exits() []string { return []string{"0   it agrees", "1   it does not"} }

// catalogReport is what catalog check found.
type catalogReport struct {
	Events   int      `json:"events"`
	Files    int      `json:"files"`
	Removed  int      `json:"removed"`
	Problems []string `json:"problems"`
}

func (catalogCheckCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		report := catalogReport{Problems: []string{}}
		if err := report.trail(ctx, c); err != nil {
			return err
		}
		if err := report.files(ctx, c); err != nil {
			return err
		}
		if err := a.answer(report, func() error {
			for _, p := range report.Problems {
				fmt.Fprintln(a.stdout, p)
			}
			_, err := fmt.Fprintf(a.stdout, "%d events, %d files and %d removed ones, %d problems\n", report.Events,
				report.Files, report.Removed, len(report.Problems))
			return err
		}); err != nil {
			return err
		}
		if len(report.Problems) > 0 {
			return errNo
		}
		return nil
	})
}

// trail follows the chain of hashes from the first event.
func (r *catalogReport) trail(ctx context.Context, c *client.Client) error {
	var previous catalog.Digest
	broken := false
	for e, err := range c.Trail().All(ctx) {
		if err != nil {
			return err
		}
		r.Events++
		event := catalog.Event{Seq: e.Seq, Index: e.Index, At: catalog.At(e.At), Actor: e.Actor, Act: e.Act,
			Subject: e.Subject, Detail: e.Detail}
		if err := event.Previous.UnmarshalText([]byte(e.Previous)); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if err := event.Hash.UnmarshalText([]byte(e.Hash)); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if err := catalog.VerifyEvents([]catalog.Event{event}, previous); err != nil && !broken {
			broken = true
			r.Problems = append(r.Problems, "audit trail: "+err.Error())
		}
		previous = event.Hash
	}
	return nil
}

// files counts the files of each replica and compares the counts with its totals. If files enter meanwhile, it counts
// again.
func (r *catalogReport) files(ctx context.Context, c *client.Client) error {
	var problems []string
	for range 3 {
		before, err := c.Replicas().List(ctx)
		if err != nil {
			return err
		}
		counted := map[string]wire.Replica{}
		r.Files, r.Removed = 0, 0
		for f, err := range c.Files().List(ctx, "") {
			if err != nil {
				return err
			}
			if !f.Removed.IsZero() {
				r.Removed++
				continue
			}
			r.Files++
			for _, held := range f.Copies {
				n := counted[held.Replica]
				n.Files++
				n.Bytes += f.Size
				if held.State == wire.UploadCompleted {
					n.Good++
				}
				counted[held.Replica] = n
			}
		}
		problems = nil
		for _, want := range before {
			if got := counted[want.Name]; got.Files != want.Files || got.Bytes != want.Bytes {
				problems = append(problems, fmt.Sprintf("replica %s: the totals say %d files of %d bytes, the "+
					"entries %d of %d", want.Name, want.Files, want.Bytes, got.Files, got.Bytes))
			}
		}
		if problems == nil {
			break
		}
	}
	r.Problems = append(r.Problems, problems...)
	return nil
}

type catalogTrailCmd struct {
	Newest bool   `help:"Print the newest first."`
	Limit  int    `placeholder:"N" help:"Print at most this many; 0 prints all."`
	Actor  string `placeholder:"NAME" help:"Print only what this person, program or node did: a name, or an id as --json prints it."`
	Act    string `placeholder:"file.remove" help:"Print only these acts."`
	About  string `placeholder:"NAME" help:"Print only what was done to this thing, such as a file, a job or a node, or to a part of it."`
	From   string `placeholder:"TIME" help:"Print only what was done at this time or later, such as 2026-01-02T03:04:05Z."`
	Until  string `placeholder:"TIME" help:"Print only what was done before this time."`
}

func (catalogTrailCmd) Help() string {
	return "With --json, prints one JSON object per line. What is printed by a filter hangs together by no hashes."
}

func (c catalogTrailCmd) query(names map[string]string) (q client.EventQuery, err error) {
	q = client.EventQuery{Newest: c.Newest, Actor: idOf(names, c.Actor), Act: c.Act, Subject: idOf(names, c.About)}
	if q.From, err = readTime("from", c.From); err == nil {
		q.Until, err = readTime("until", c.Until)
	}
	return q, err
}

// idOf is the id of what alone has the name; else the name itself.
func idOf(names map[string]string, name string) string {
	id, found := name, 0
	for one, is := range names {
		if is == name {
			id = one
			found++
		}
	}
	if found != 1 {
		return name
	}
	return id
}

func (c catalogTrailCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		known := newTrailNames(names)
		people, err := peopleNames(ctx, archive)
		if err != nil {
			return err
		}
		for id, name := range people {
			known.names[id] = name
		}
		q, err := c.query(known.names)
		if err != nil {
			return err
		}
		return stream(a, most(c.Limit, archive.Trail().Find(ctx, q)), func(w io.Writer, e wire.Event) error {
			return showEvent(w, known.show(e))
		})
	})
}

func showEvent(w io.Writer, e wire.Event) error {
	_, err := fmt.Fprintf(w, "%6d %s %-16s %s %s by %s\n", e.Seq, when(e.At), e.Act, e.Subject, e.Detail, e.Actor)
	return err
}
