package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
)

// errSource reports bytes of the outbox that are not those which the archive counts on.
var errSource = errors.New("the bytes in the outbox are wrong")

// errPromise reports a file in the outbox of which cannot be told what its bytes have to be.
var errPromise = errors.New("the size and SHA-256 that were announced for it are missing")

// outboxEvery is how often the outbox is audited: what lies there may be the only copy.
const (
	outboxEvery = 24 * time.Hour
	outboxFirst = time.Hour
)

// outboxNames returns the names of the files in the outbox, in order.
func (s *outgoing) outboxNames() ([]catalog.FileName, error) {
	entries, err := os.ReadDir(s.cfg.Outbox)
	if err != nil {
		return nil, fmt.Errorf("list the outbox: %w", err)
	}
	var names []catalog.FileName
	for _, e := range entries {
		if name := catalog.FileName(e.Name()); !strings.HasPrefix(e.Name(), ".") && checkName(name) == nil &&
			e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// outboxDue reports whether the outbox is to be audited: something lies there, and it was not read for a day. A node
// that has just started has other things to do.
func (r *auditor) outboxDue(now time.Time) bool {
	if time.Since(r.audits.opened) < outboxFirst {
		return false
	}
	if names, err := r.store.outboxNames(); err == nil && len(names) == 0 {
		if kept, err := r.keptHere("", 1); err == nil && len(kept) == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(r.Audits(), func(one Audit) bool {
		return one.Outbox && one.State != AuditStopped &&
			(!one.State.Ended() || now.Sub(one.Ended) < outboxEvery && !one.Ended.After(now))
	})
}

// auditOutbox reads the files in the outbox, from the audit's position on.
func (r *auditor) auditOutbox(ctx context.Context, one *Audit) error {
	names, err := r.store.outboxNames()
	if err != nil {
		r.log.Error("the outbox cannot be audited", "audit", one.ID, "err", err)
		r.audits.update(func() { one.OutboxFault = err.Error() })
		return nil
	}
	for _, name := range names {
		if name <= one.OutboxAfter {
			continue
		}
		size, found, err := r.entries.checkSource(ctx, name)
		if errors.Is(err, errPromise) && ctx.Err() == nil { // its note is damaged: an operator has to look
			r.log.Error("a file in the outbox cannot be audited", "audit", one.ID, "file", name, "err", err)
			r.audits.update(func() { one.OutboxAfter, one.OutboxFault = name, fmt.Sprintf("%s: %v", name, err) })
			continue
		}
		if err != nil {
			return err
		}
		r.audits.update(func() {
			one.OutboxAfter = name
			one.Files++
			one.Bytes += size
			if found != nil {
				one.except(*found)
			}
		})
	}
	return r.auditMissing(ctx, one)
}

// keptHere returns at most n files behind after of which the catalog counts on this node as the source.
func (r *agreed) keptHere(after catalog.FileName, n int) (files []catalog.File, err error) {
	err = r.catalog.View(func(v catalog.View) (err error) {
		files, err = v.Sourced(r.cfg.Self, after, n)
		return err
	})
	return files, err
}

// auditMissing looks for files that the catalog counts on and the outbox does not have.
func (r *auditor) auditMissing(ctx context.Context, one *Audit) error {
	for after := catalog.FileName(""); ; {
		files, err := r.keptHere(after, page)
		if err != nil || len(files) == 0 {
			return err
		}
		for _, f := range files {
			found, err := r.entries.missSource(ctx, f.Name)
			if err != nil {
				return err
			}
			if found != nil {
				r.audits.update(func() { one.except(*found) })
			}
		}
		after = files[len(files)-1].Name
	}
}

// missSource reports that the bytes of a file are gone of which the catalog counts on this node as the source; nil when
// they are there, or are not counted on.
func (r *entries) missSource(ctx context.Context, name catalog.FileName) (*catalog.Finding, error) {
	end, err := r.pending.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := os.Lstat(r.store.outboxPath(name)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // what cannot be read was found by those who read it
	}
	f, err := r.entry(name)
	if err != nil || f.Removed != 0 || f.Source != r.cfg.Self || f.Released {
		return nil, err
	}
	r.log.Error("bytes that the archive counts on are not in the outbox", "file", name)
	finding := missingFinding(name)
	return &finding, r.tellSource(ctx, finding)
}

// setWrongAside reads this node's bytes of the file in the outbox and sets them aside when they are not the file's;
// then it tells so. The caller keeps others off the name.
func (r *entries) setWrongAside(ctx context.Context, f catalog.File) (set bool, err error) {
	size, digest, err := r.store.measure(ctx, r.store.outboxPath(f.Name), heldAs(f), nil, false)
	if err != nil || size == f.Size && digest == f.SHA256 {
		return false, err
	}
	r.log.Error("bytes in the outbox are not the archive's and are set aside", "file", f.Name, "sha256", digest)
	return true, r.store.Reject(f.Name, "bytes in the outbox are not the archive's file: SHA-256 "+digest.String())
}

// checkSource reads this node's bytes of a file in the outbox. Wrong bytes are set aside and reported to the catalog,
// which then no longer counts on them. It returns the fault that it found, nil if there was none, and how many bytes
// were read.
func (r *entries) checkSource(ctx context.Context, name catalog.FileName) (size int64, found *catalog.Finding,
	err error) {
	end, err := r.pending.begin(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	defer end()
	return r.checkLocked(ctx, name)
}

// checkLocked is checkSource for a caller that locks the name.
func (r *entries) checkLocked(ctx context.Context, name catalog.FileName) (size int64, found *catalog.Finding,
	err error) {
	want, err := r.promised(name)
	if err != nil && !isFile(r.store.outboxPath(name)) {
		return 0, nil, nil // released or refused meanwhile
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errPromise, err)
	}
	size, digest, err := r.store.measure(ctx, r.store.outboxPath(name), want, r.pace, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil, nil // released meanwhile
	case errors.Is(err, errUnreadable):
		digest = catalog.Digest{}
		r.log.Error("bytes in the outbox cannot be read", "file", name, "err", err)
	case err != nil:
		return size, nil, fmt.Errorf("audit %s in the outbox: %w", name, err)
	case size == want.Size && digest == want.SHA256:
		return size, nil, nil
	}
	finding := corruptFinding(name, digest)
	return size, &finding, r.denounce(ctx, finding)
}

// promised returns what the bytes of a file in the outbox must be: according to the catalog, or else to the file's
// put.
func (r *entries) promised(name catalog.FileName) (Held, error) {
	f, err := r.entry(name)
	if err == nil {
		return heldAs(f), nil
	}
	if !errors.Is(err, catalog.ErrNotFound) {
		return Held{}, err
	}
	as, err := r.store.note(name)
	return Held{Name: name, Size: as.Size, SHA256: as.SHA256}, err
}

// denounce tells the catalog, if it counts on this node's bytes as the file's source, that they are wrong, and sets
// them aside. The caller locks the name.
func (r *entries) denounce(ctx context.Context, finding catalog.Finding) error {
	name := finding.Name
	f, err := r.entry(name)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	if err == nil && f.Removed == 0 && f.Source == r.cfg.Self && !f.Released {
		if err := r.tellSource(ctx, finding); err != nil {
			return err
		}
	}
	r.log.Error("bytes in the outbox are not the archive's and are set aside", "file", name, "sha256", finding.Found)
	return r.store.Reject(name, "bytes in the outbox are not the archive's file: SHA-256 "+finding.Found.String())
}

// tellSource tells the catalog to stop counting on this node as the file's source.
func (r *entries) tellSource(ctx context.Context, finding catalog.Finding) error {
	results, err := r.proposeItems(ctx, catalog.FindSources,
		catalog.Findings{Node: r.cfg.Self, Files: []catalog.Finding{finding}}, 1)
	if err != nil {
		return err
	}
	switch refusal := results[0].Refusal; {
	case refusal == nil:
	case refusal.Code == catalog.Unsupported:
		r.log.Error("the archive still counts on bytes of the outbox that are wrong or gone; raise the level: "+
			"holdfast cluster level 2",
			"file", finding.Name)
	default:
		r.log.Info("finding on the outbox refused", "file", finding.Name, "err", refusal)
	}
	return nil
}

// denounceSoon is checkSource for one who has found wrong bytes and has other things to do: when something else is done
// about the file, or the catalog cannot be told now, the next look at the outbox finds it again. The bytes are read
// once more: those that were found wrong may have been put again since.
func (r *entries) denounceSoon(ctx context.Context, name catalog.FileName) {
	end, _ := r.pending.try(name)
	if end == nil {
		return
	}
	defer end()
	if _, _, err := r.checkLocked(ctx, name); err != nil {
		r.log.Warn("wrong bytes in the outbox could not be reported", "file", name, "err", err)
	}
}
