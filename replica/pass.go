package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
)

// findingLinger is how long a finding waits for others to be reported with.
const findingLinger = 3 * time.Second

// passShard checks every verified copy of the shard from the pass's position on, reports the exceptions, and returns
// the record of the pass.
func (r *auditor) passShard(ctx context.Context, one *Audit, shard catalog.Shard) (catalog.ShardPass, error) {
	p := &passing{auditor: r, audit: one, shard: shard, saved: time.Now()}
	r.audits.update(func() {
		if one.Pass == nil || one.Pass.Shard != shard {
			one.Pass = &Pass{Shard: shard, Began: catalog.At(time.Now())}
		}
	})
	err := p.walk(ctx)
	if err == nil {
		err = p.stillHeld()
	}
	if err != nil {
		if len(p.findings) > 0 { // found again next time
			r.audits.update(func() { one.goBack(p.before) })
		}
		return catalog.ShardPass{}, err
	}
	pass := catalog.ShardPass{Replica: r.cfg.Replica, Shard: shard, Node: r.cfg.Self, Began: one.Pass.Began,
		Ended: catalog.At(time.Now()), Root: one.Pass.Root, Exceptions: one.Pass.Exceptions}
	r.audits.update(func() { one.Pass = nil })
	return pass, nil
}

// stillHeld answers errMoved if another node holds the shard now: that node's bytes count, and nobody read those.
// Duties are the holder's alone.
func (p *passing) stillHeld() error {
	return p.catalog.View(func(v catalog.View) error {
		at, err := v.Placement(p.cfg.Replica, p.shard)
		if err == nil && at.Holder != p.cfg.Self && !p.audit.Scheduled {
			return errMoved
		}
		return err
	})
}

// walk checks the shard's files and reports what it finds.
func (p *passing) walk(ctx context.Context) error {
	if err := p.survey(); err != nil {
		return err
	}
	begun := p.audit.Pass.After
	for f, err := range p.meant(p.shard, begun) {
		if err != nil {
			return err
		}
		delete(p.stale, f.Name)
		if !p.audit.Scope.Has(f.Name) {
			continue
		}
		if err := p.check(ctx, f); err != nil {
			return err
		}
	}
	for name := range p.stale {
		if name > begun && p.audit.Scope.Has(name) { // names before it were looked at before the audit was interrupted
			p.gone = append(p.gone, name)
		}
	}
	return p.flush(ctx)
}

// update changes an audit that others may be looking at.
func (a *audits) update(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// passing is one pass over one shard.
type passing struct {
	*auditor
	audit *Audit
	shard catalog.Shard
	held  map[catalog.FileName]Held // of a checksum replica
	// of the shard's manifest; nil in a checksum replica, whose manifests are its records
	lines map[catalog.FileName]line
	// the manifest lists them, and the catalog does not want them here, as far as was looked
	stale    map[catalog.FileName]bool
	right    []Held             // found right, with a line that is wrong or missing
	gone     []catalog.FileName // lines of files that are not wanted, to be dropped where there is no file
	findings []catalog.Finding
	since    time.Time // of the oldest finding not reported
	before   Audit     // as it stood then
	saved    time.Time
}

// survey lists the files on disk and records those that the archive does not count on here.
func (p *passing) survey() error {
	names, err := p.look()
	if err != nil {
		return err
	}
	if p.audit.Pass.Surveyed {
		return nil
	}
	var extras []Extra
	unknowns := 0
	for _, name := range names {
		if !p.audit.Scope.Has(name) {
			continue
		}
		is := claimed
		err := p.catalog.View(func(v catalog.View) (err error) { _, is, err = p.claimOn(v, name); return err })
		if err != nil {
			return err
		}
		if is == unknown {
			unknowns++
		}
		if why := is.extra(); why != "" {
			p.log.Warn("a file that the archive does not count on here", "shard", p.shard, "file", name, "why", why)
			extras = append(extras, Extra{name, why})
		}
	}
	p.audits.update(func() {
		p.audit.Pass.Surveyed = true
		p.audit.Unknowns += unknowns
		p.audit.Uncounted += len(extras) - unknowns
		p.audit.Extras = append(p.audit.Extras, extras[:max(0, min(len(extras), listed-len(p.audit.Extras)))]...)
	})
	return nil
}

// extra says why a file on disk is no copy that counts; empty for one that does, or that somebody sees to.
func (c claim) extra() string {
	switch c {
	case unknown:
		return "the catalog does not know it"
	case spare:
		return "the replica is not to have it; it is complete without, or was removed"
	case elsewhere:
		return "the replica is not to have it"
	case last:
		return "the replica is not to have it, and nobody else has good bytes"
	}
	return ""
}

// look reads the shard's manifest and its folder, and returns the names in the folder.
func (p *passing) look() (names []catalog.FileName, err error) {
	if p.sums == nil {
		c, err := p.store.contents(p.shard)
		if err != nil {
			return nil, err
		}
		p.lines, p.stale = c.lines, make(map[catalog.FileName]bool)
		for name := range c.lines {
			p.stale[name] = true
		}
		if c.faults > 0 {
			p.log.Warn("a manifest has lines that say nothing or say it twice", "shard", p.shard, "lines", c.faults)
			p.relisted(c.faults)
			if _, err := p.store.relist(p.shard, nil, nil); err != nil {
				return nil, fmt.Errorf("%w: %w", errShard, err)
			}
		}
		return c.files, nil
	}
	held, err := p.sums.List(p.shard)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errShard, err)
	}
	p.held = make(map[catalog.FileName]Held, len(held))
	for _, h := range held {
		p.held[h.Name] = h
		names = append(names, h.Name)
	}
	return names, nil
}

// relisted counts lines of the manifest that were wrong.
func (p *passing) relisted(n int) {
	p.audits.update(func() {
		p.audit.Relisted += n
		p.audit.Excepted += n
		p.audit.Pass.Exceptions += n
	})
}

// relist puts the lines right that were found wrong so far.
func (p *passing) relist() error {
	if p.sums != nil || len(p.right)+len(p.gone) == 0 {
		return nil
	}
	wrong, err := p.store.relist(p.shard, p.right, p.gone)
	if err != nil {
		return fmt.Errorf("%w: %w", errShard, err)
	}
	p.right, p.gone = p.right[:0], p.gone[:0]
	if len(wrong) > 0 {
		p.log.Warn("lines of a manifest were wrong and have been put right", "shard", p.shard, "lines", len(wrong),
			"first", wrong[0])
		p.relisted(len(wrong))
		p.audits.update(func() {
			for _, name := range wrong[:max(0, min(len(wrong), listed-len(p.audit.Lines)))] {
				p.audit.Lines = append(p.audit.Lines, Extra{name, p.lineFault(name)})
			}
		})
	}
	return nil
}

// lineFault says what was wrong with a file's line in the manifest, which was put right since.
func (p *passing) lineFault(name catalog.FileName) string {
	f, err := p.entry(name)
	l, listed := p.lines[name]
	switch {
	case !listed:
		return "its line in the manifest was missing, and was written again from the catalog"
	case err != nil || !p.store.shards.present(name):
		return "the manifest had a line without a file, which was removed"
	case l.digest != f.SHA256:
		return "its line in the manifest had the SHA-256 " + l.digest.String() + ", and was put right from the catalog"
	}
	return "its line in the manifest was not safe on the disk, and was written again"
}

// check compares one copy with the catalog. One that the catalog does not count on is not read.
func (p *passing) check(ctx context.Context, f catalog.File) error {
	c := f.Copy(p.cfg.Replica)
	if c.State != catalog.UploadCompleted {
		p.pass(f, true)
		return p.save()
	}
	if p.audit.kind() == AuditPresence && !c.Disputed {
		if fine, err := p.present(f); err != nil {
			return err
		} else if fine {
			p.audits.update(func() { p.audit.Files++; p.audit.Pass.After = f.Name })
			return p.tend(ctx)
		}
	}
	finding, err := p.examine(ctx, f)
	if err != nil {
		return err
	}
	if finding == nil {
		if c.Disputed {
			p.find(catalog.Finding{Name: f.Name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumOK,
				Found: f.SHA256})
		}
		p.advance(f, nil, true)
		if l, listed := p.lines[f.Name]; p.sums == nil && (!listed || l.digest != f.SHA256) {
			p.right = append(p.right, heldAs(f))
		}
		return p.tend(ctx)
	}
	still, wanted, err := p.stillMine(f.Name)
	if err != nil {
		return err
	}
	if !still {
		p.pass(f, wanted)
		return nil
	}
	p.log.Warn("audit found a bad copy", "file", f.Name, "list", finding.FileList, "checksum", finding.Checksum,
		"sha256", finding.Found)
	p.find(*finding)
	p.advance(f, finding, false)
	return p.tend(ctx)
}

// stillMine reports whether the catalog counts on this node's copy of the file now, and whether the replica is to have
// one.
func (p *passing) stillMine(name catalog.FileName) (still, wanted bool, err error) {
	f, good, err := p.mine(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	c := f.Copy(p.cfg.Replica)
	wanted = c != nil && !c.Surplus && f.Removed == 0 && f.Lost == 0
	return good || c != nil && c.Disputed, wanted, nil
}

// pass goes by a file that is not read; owed when the replica is to have it.
func (p *passing) pass(f catalog.File, owed bool) {
	p.audits.update(func() {
		p.audit.Pass.After = f.Name
		if owed {
			p.audit.Owed++
			p.audit.OwedBytes += f.Size
		}
	})
}

// examine returns what is wrong with the copy, or nil.
func (p *passing) examine(ctx context.Context, f catalog.File) (*catalog.Finding, error) {
	want := heldAs(f)
	if p.sums != nil {
		got, ok := p.held[f.Name]
		return compare(want, got, ok), nil
	}
	if !p.store.shards.present(f.Name) {
		p.store.noteMissing(f.Name)
		return compare(want, Held{}, false), nil
	}
	got := Held{Name: f.Name}
	var err error
	got.Size, got.SHA256, err = p.store.measurePlaced(ctx, want, p.pace, false)
	switch {
	case p.store.lost(f.Name, err):
		p.log.Error("a copy cannot be read", "file", f.Name, "err", err)
		got.SHA256 = catalog.Digest{}
	case err != nil && !p.store.shards.present(f.Name) && ctx.Err() == nil:
		return compare(want, got, false), nil
	case err != nil:
		return nil, fmt.Errorf("audit %s: %w", f.Name, err)
	}
	return compare(want, got, true), nil
}

// compare returns what is wrong with a copy that was found, or was not found, as got.
func compare(want, got Held, found bool) *catalog.Finding {
	switch {
	case !found:
		f := missingFinding(want.Name)
		return &f
	case got.SHA256 == want.SHA256 && got.Size != want.Size: // a record that lost its size
		f := corruptFinding(want.Name, catalog.Digest{})
		return &f
	case got != want:
		f := corruptFinding(want.Name, got.SHA256)
		return &f
	}
	return nil
}

func missingFinding(name catalog.FileName) catalog.Finding {
	return catalog.Finding{Name: name, FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}
}

func corruptFinding(name catalog.FileName, found catalog.Digest) catalog.Finding {
	return catalog.Finding{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: found}
}

// advance notes that the file has been read, or is missing.
func (p *passing) advance(f catalog.File, bad *catalog.Finding, right bool) {
	p.audits.update(func() {
		one := p.audit
		one.Files++
		one.Bytes += f.Size
		one.Pass.After = f.Name
		if right {
			one.Pass.Root = one.Pass.Root.Add(catalog.RootOf(f.Name, f.Size, f.SHA256))
		}
		if bad == nil {
			return
		}
		one.Pass.Exceptions++
		one.except(*bad)
	})
}

// find keeps a finding for the next report, and the audit as it was before the first of them.
func (p *passing) find(f catalog.Finding) {
	if len(p.findings) == 0 {
		p.since = time.Now()
		p.audits.update(func() { p.before = p.audit.copy() })
	}
	p.findings = append(p.findings, f)
}

// tend reports findings that have waited, and saves the pass now and then. Everything before the position of a saved
// pass has been reported.
func (p *passing) tend(ctx context.Context) error {
	if len(p.findings) >= catalog.MaxItems || len(p.findings) > 0 && time.Since(p.since) > findingLinger {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	return p.save()
}

// save writes the state now and then, when all that was found has been reported.
func (p *passing) save() error {
	if time.Since(p.saved) < saveEvery || len(p.findings) > 0 {
		return nil
	}
	if err := p.relist(); err != nil {
		return err
	}
	p.saved = time.Now()
	return p.audits.keep(p.audit)
}

func (p *passing) flush(ctx context.Context) error {
	if len(p.findings) > 0 {
		if _, err := p.report(ctx, p.findings); err != nil {
			return err
		}
		p.findings = p.findings[:0]
	}
	return p.relist()
}

// report tells the catalog of findings and returns how many it refused. Of a disk that has gone away nothing is told.
func (r *findings) report(ctx context.Context, findings []catalog.Finding) (refused int, err error) {
	for _, f := range findings {
		if f.FileList != catalog.FileListMissing {
			continue
		}
		if err := r.store.reachable(f.Name); err != nil {
			return 0, err
		}
	}
	body := catalog.Findings{Node: r.cfg.Self, Files: findings}
	results, err := r.proposeItems(ctx, catalog.FindCopies, body, len(findings))
	if err != nil {
		return 0, err
	}
	for _, res := range results {
		if res.Refusal != nil {
			refused++
			r.log.Info("finding refused", "file", res.Name, "err", res.Refusal)
		}
	}
	return refused, nil
}

// doubt reports a finding on one copy, if the catalog as it shows here takes it for a good one of this node. It
// tells whether the finding was reported and taken.
func (r *findings) doubt(ctx context.Context, name catalog.FileName, finding catalog.Finding) (reported bool,
	err error) {
	_, good, err := r.mine(name)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && !good {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	refused, err := r.report(ctx, []catalog.Finding{finding})
	return err == nil && refused == 0, err
}
