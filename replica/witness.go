package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

const (
	witnessPage  = 64          // disputed files that are looked at in one view
	witnessAgain = time.Minute // until copies that could not be read, or reported, are looked at again
)

// witness reads this node's copy of each file of which wrong bytes were found elsewhere since it was read last, and
// tells the catalog what it found: a copy is judged bad only when another one was read (duty.Verdicts).
type witness struct {
	*findings
	own func(ctx context.Context, name catalog.FileName) (Held, error) // reads the copy, not the outbox
}

// run reads what is asked for, soon after a dispute begins. A checksum replica has no bytes to read.
func (w *witness) run(ctx context.Context) error {
	if w.sums != nil {
		return nil
	}
	return w.eachChange(ctx, nil, func(ctx context.Context) (time.Duration, error) {
		left, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.Warn("copies of disputed files could not be read again", "err", err)
		}
		if left || err != nil {
			return witnessAgain, ctx.Err()
		}
		return 0, ctx.Err()
	})
}

// look goes through the disputed files once. It tells whether copies are left that could not be read or reported.
func (w *witness) look(ctx context.Context) (left bool, err error) {
	for after := catalog.FileName(""); ; {
		asked, next, err := w.asked(after)
		if err != nil {
			return true, err
		}
		var right []catalog.Finding
		for _, f := range asked {
			switch h, err := w.own(ctx, f.Name); {
			case ctx.Err() != nil:
				return true, ctx.Err()
			case err != nil: // told already, if the copy is gone or cannot be read
				left = left || !errors.Is(err, ErrNotHere)
				w.log.Info("a copy of a disputed file could not be read", "file", f.Name, "err", err)
			case h == heldAs(f) && w.store.Has(f.Name):
				right = append(right, catalog.Finding{Name: f.Name, FileList: catalog.FileListOK,
					Checksum: catalog.ChecksumOK, Found: f.SHA256})
			}
		}
		if len(right) > 0 {
			refused, err := w.report(ctx, right)
			if err != nil {
				return true, err
			}
			left = left || refused > 0
		}
		if next == "" {
			return left, nil
		}
		after = next
	}
}

// asked returns the disputed files behind after whose copy here counts as good and was not read since, and the name
// to go on behind; empty when there are no more.
func (w *witness) asked(after catalog.FileName) (out []catalog.File, next catalog.FileName, err error) {
	err = w.catalog.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil || c.Level < files.LevelOfWitnesses {
			return err
		}
		page, err := v.Disputed(after, witnessPage)
		if err != nil {
			return err
		}
		for _, f := range page {
			good, err := w.isGood(v, f)
			if err != nil {
				return err
			}
			if good && f.Unread(f.Copy(w.cfg.Replica)) {
				out = append(out, f)
			}
		}
		if len(page) == witnessPage {
			next = page[len(page)-1].Name
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("look for disputed files: %w", err)
	}
	return out, next, nil
}
