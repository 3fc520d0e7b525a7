package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileRepairCmd struct {
	Names   []string      `arg:"" optional:"" name:"file" help:"The files whose copies are to be repaired."`
	Replica string        `required:"" placeholder:"NAME" help:"The replica whose copies are to be repaired."`
	Missing bool          `xor:"which" help:"All files that the last check found missing there."`
	Changed bool          `xor:"which" help:"All files whose bytes the last check found changed there."`
	Wait    time.Duration `help:"Wait at most this long for each file. Default: no limit." placeholder:"TIME"`
}

func (fileRepairCmd) Help() string {
	return "The archive repairs what audits find by itself. This command reads the copies of each file now, the\n" +
		"others too, so that a copy is known to be bad and another to be good before anything is done; what is\n" +
		"bad is then set aside and made again by vote, as after an audit. The command waits, and reads the new\n" +
		"copy once more. Interrupting it changes nothing: what was found is repaired all the same."
}

func (fileRepairCmd) exits() []string {
	return []string{"0   every copy is right; it was read",
		"1   a copy could not be repaired, or not within --wait; each is named with the reason"}
}

// repaired is the outcome for one file.
type repaired struct {
	File    string `json:"file"`
	Replica string `json:"replica"`
	Was     string `json:"was"`     // ok, missing, corrupt, away, unreadable or unreachable
	Outcome string `json:"outcome"` // nothing to do, repaired, or failed
	Reason  string `json:"reason,omitempty"`
}

func (c fileRepairCmd) Run(a *app) error {
	if c.Missing || c.Changed {
		if len(c.Names) > 0 {
			return usage("give files, or --missing or --changed")
		}
	} else if len(c.Names) == 0 {
		return usage("which files? Give their names, or --missing or --changed")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		names := c.Names
		if c.Missing || c.Changed {
			state := "missing"
			if c.Changed {
				state = "corrupt"
			}
			copies, err := collect(archive.Files().Copies(ctx, state, c.Replica))
			if err != nil {
				return err
			}
			for _, f := range copies {
				names = append(names, f.File)
			}
		}
		sums, err := checksumReplicas(ctx, archive)
		if err != nil {
			return err
		}
		progress := a.bars()
		bar := progress.count("repaired", int64(len(names)))
		var all []repaired
		failed := false
		for i, name := range names {
			bar.on(name)
			one := c.repair(ctx, archive, name, sums)
			all, failed = append(all, one), failed || one.Outcome == outcomeFailed
			bar.set(int64(i)+1, int64(len(names)))
			if ctx.Err() != nil {
				break
			}
		}
		bar.end(ctx.Err() == nil)
		progress.wait()
		if err := list(a, all, table.Row{"File", "Replica", "Was", "Outcome", "Reason"}, func(r repaired) table.Row {
			return table.Row{r.File, r.Replica, r.Was, r.Outcome, r.Reason}
		}); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if failed {
			return errNo
		}
		return nil
	})
}

// What becomes of a repair.
const (
	outcomeNothing  = "nothing to do"
	outcomeRepaired = "repaired"
	outcomeFailed   = "failed"
)

// checksumReplicas names the replicas that keep checksums alone: nothing can be repaired from them.
func checksumReplicas(ctx context.Context, archive *client.Client) (map[string]bool, error) {
	all, err := archive.Replicas().List(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[string]bool{}
	for _, r := range all {
		sums[r.Name] = r.Kind == wire.Checksum
	}
	return sums, nil
}

// repair reads a file's copies and, where the replica's is bad and another good, waits for the new one. Copies in the
// replicas that sums names are checksums alone.
func (c fileRepairCmd) repair(ctx context.Context, archive *client.Client, name string, sums map[string]bool) repaired {
	out := repaired{File: name, Replica: c.Replica, Outcome: outcomeFailed}
	if c.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Wait)
		defer cancel()
	}
	found, err := archive.Files().Verify(ctx, name)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	var good bool
	out.Was, good = c.among(found, sums)
	switch {
	case out.Was == "":
		out.Reason = "replica " + c.Replica + " is not to have this file"
		return out
	case out.Was == "ok":
		out.Outcome = outcomeNothing
		return out
	case out.Was == "away":
		out.Reason = "its disk is away: mount it again, or replace it (disk replace)"
		return out
	case !good:
		out.Reason = "no other copy with bytes is good: there is nothing to repair it from"
		return out
	}
	err = every(ctx, time.Second, func() (bool, error) { return c.isRight(ctx, archive, name) })
	switch {
	case err == nil:
		out.Outcome = outcomeRepaired
	case errors.Is(err, context.DeadlineExceeded):
		out.Reason = fmt.Sprintf("not within %v; the archive goes on trying", c.Wait)
	default:
		out.Reason = err.Error()
	}
	return out
}

// among returns how the replica's copy is, empty if it is not to have one, and whether another copy has good bytes.
func (c fileRepairCmd) among(found []wire.Verification, sums map[string]bool) (was string, good bool) {
	for _, v := range found {
		switch {
		case v.Replica == c.Replica:
			was = v.State
		case v.State == "ok" && !sums[v.Replica]:
			good = true
		}
	}
	return was, good
}

// isRight reports whether the replica's copy counts as verified, and was found right when it was read just now.
func (c fileRepairCmd) isRight(ctx context.Context, archive *client.Client, name string) (bool, error) {
	f, err := archive.Files().Show(ctx, name)
	if err != nil {
		return false, err
	}
	counts := false
	for _, one := range f.Copies {
		counts = counts || one.Replica == c.Replica && one.State == wire.UploadCompleted && !one.Disputed
	}
	if !counts {
		return false, nil
	}
	found, err := archive.Files().Verify(ctx, name, c.Replica)
	return err == nil && len(found) == 1 && found[0].State == "ok", err
}
