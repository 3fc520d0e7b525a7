package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/catalog"
)

// pending are files in the outbox that this node has to look after: the catalog has not agreed to them yet, or it is
// not seen here that it counts on them. A name is put or looked after by one at a time.
type pending struct {
	mu    sync.Mutex
	names map[catalog.FileName]bool // true: the catalog has agreed, and that has to show here
	busy  map[catalog.FileName]chan struct{}
	wake  chan struct{}
	told  atomic.Bool // why nothing is released
}

func newPending() *pending {
	return &pending{names: make(map[catalog.FileName]bool), busy: make(map[catalog.FileName]chan struct{}),
		wake: make(chan struct{}, 1)}
}

func (p *pending) add(name catalog.FileName, agreed bool) {
	p.mu.Lock()
	p.names[name] = agreed
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// has reports whether the name is pending, and whether the catalog has agreed.
func (p *pending) has(name catalog.FileName) (there, agreed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	agreed, there = p.names[name]
	return there, agreed
}

// begin waits until nothing else is done about the name; end must be called when this is over.
func (p *pending) begin(ctx context.Context, name catalog.FileName) (end func(), err error) {
	for {
		end, other := p.try(name)
		if end != nil {
			return end, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try is begin without waiting; if end is nil, other is closed when the act under way is over.
func (p *pending) try(name catalog.FileName) (end func(), other <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.busy[name]; other != nil {
		return nil, other
	}
	over := make(chan struct{})
	p.busy[name] = over
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.busy, name)
		close(over)
	}, nil
}

func (p *pending) remove(name catalog.FileName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.names, name)
}

func (p *pending) list() []catalog.FileName {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := manifest{lines: make(map[catalog.FileName]line, len(p.names))}
	for name := range p.names {
		m.lines[name] = line{}
	}
	return m.names()
}

// Put lets the file at path enter the archive under the name, collection and job that as gives, and returns
// the whole entry. When Put returns nil the catalog has agreed and the bytes are safe here until every
// replica has them; ErrPending says that the bytes are safe and the catalog will be asked again. A refusal
// is returned as a *catalog.Refusal, and leaves bytes that an earlier put brought. The file at path stays as it is.
func (r *entries) Put(ctx context.Context, path string, as catalog.Addition, own Ownership) (_ catalog.Addition,
	err error) {
	noted := r.cfg.way(ctx, "put", as.Name)
	defer func() { noted(err) }()
	end, err := r.pending.begin(ctx, as.Name)
	if err != nil {
		return as, fmt.Errorf("put %s: %w", as.Name, err)
	}
	defer end()
	as.Source = r.cfg.Self
	as, placed, err := r.store.Adopt(ctx, path, as, own)
	if err != nil {
		return as, err
	}
	results, err := r.proposeItems(ctx, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{as}}, 1)
	if err != nil {
		r.pending.add(as.Name, false)
		return as, fmt.Errorf("put %s: %w: %w", as.Name, ErrPending, err)
	}
	if refusal := results[0].Refusal; refusal != nil {
		err := fmt.Errorf("put %s: %w", as.Name, refusal)
		if waits, _ := r.pending.has(as.Name); placed && !waits {
			err = errors.Join(err, r.withdraw(ctx, as, refusal))
		}
		return as, err
	}
	if f, err := r.entry(as.Name); err != nil || !r.countsOn(f, as) {
		r.pending.add(as.Name, true) // it is behind, or counts on another source's bytes and not on these
	}
	return as, nil
}

// countsOn reports whether the catalog counts on this node's bytes of the file as its source.
func (r *entries) countsOn(f catalog.File, as catalog.Addition) bool {
	return f.SHA256 == as.SHA256 && f.Source == r.cfg.Self && !f.Released
}

// withdraw takes a file that a refused put has brought to the outbox out again, when the catalog does not count on
// the bytes. The state here may be behind; so of a file that is not known here the catalog is asked.
func (r *entries) withdraw(ctx context.Context, as catalog.Addition, why *catalog.Refusal) error {
	f, err := r.entry(as.Name)
	switch {
	case err == nil && r.countsOn(f, as):
		return nil
	case err == nil, why.Code == catalog.Conflict, why.Code == catalog.Invalid: // it has other bytes, or from elsewhere
		return r.store.Discharge(as.Name)
	case !errors.Is(err, catalog.ErrNotFound):
		r.pending.add(as.Name, false)
		return err
	}
	if held, err := nothingProved(r.catalog, r.pending, r.log); err != nil || held {
		r.pending.add(as.Name, false)
		return err
	}
	body := catalog.Releases{Node: r.cfg.Self, Files: []catalog.FileName{as.Name}}
	results, err := r.proposeItems(ctx, catalog.ReleaseFiles, body, 1)
	if err == nil && results[0].Name == as.Name && results[0].Refusal != nil &&
		results[0].Refusal.Code == catalog.NotFound {
		return r.store.Discharge(as.Name)
	}
	r.pending.add(as.Name, false)
	return err
}

// runOutbox proposes files that a crash or a lost quorum left in the outbox without an entry.
func (r *entries) runOutbox(ctx context.Context) error {
	for tries := 1; ; tries++ {
		kept, err := r.store.Outbox()
		for _, as := range kept {
			r.pending.add(as.Name, false)
		}
		if err == nil {
			break
		}
		r.log.Error("the outbox cannot be listed", "err", err)
		if err := sleep(ctx, backoff(tries, proposePause, longestPropose)); err != nil {
			return err
		}
	}
	tries := 0
	for {
		tries++
		began := time.Now()
		if r.settlePending(ctx) == 0 {
			tries = 0
		}
		// Each put wakes this: not all that are pending are looked at for each.
		if err := sleep(ctx, min(max(lookRest*time.Since(began), 10*time.Millisecond), 5*time.Second)); err != nil {
			return err
		}
		var timeout <-chan time.Time
		if tries > 0 {
			timeout = time.After(backoff(tries, proposePause, longestPropose))
		}
		select {
		case <-r.pending.wake:
		case <-timeout:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settlePending looks after each pending file and returns how many stay pending.
func (r *entries) settlePending(ctx context.Context) (left int) {
	for _, name := range r.pending.list() {
		end, _ := r.pending.try(name)
		if end == nil { // it is being put
			left++
			continue
		}
		done, err := r.settleOne(ctx, name)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("file waits in the outbox", "file", name, "err", err)
		}
		if done && err == nil {
			r.pending.remove(name)
		} else {
			left++
		}
		end()
	}
	return left
}

// settleOne proposes a file that the catalog does not know; of one that it knows, it makes sure that the
// bytes are kept for a reason, and otherwise asks to release them.
func (r *entries) settleOne(ctx context.Context, name catalog.FileName) (done bool, err error) {
	as, err := r.store.note(name)
	if err != nil {
		if !isFile(r.store.outboxPath(name)) {
			return true, nil // released meanwhile
		}
		return false, err
	}
	f, err := r.entry(name)
	_, agreed := r.pending.has(name)
	switch {
	case errors.Is(err, catalog.ErrNotFound) && agreed:
		return false, nil
	case errors.Is(err, catalog.ErrNotFound):
	case err != nil:
		return false, err
	case r.countsOn(f, as):
		// the state here may be from before the release: it is looked at again until the bytes are gone
		return false, nil
	case f.SHA256 == as.SHA256 && r.keeps(name):
		return true, r.store.Discharge(name)
	case f.SHA256 == as.SHA256 && f.Removed == 0 && (f.Lost != 0 || f.Released && !f.Complete()):
		// Nobody counts on these bytes, and they are wanted: put again below, if they are still the file's.
		if set, err := r.setWrongAside(ctx, f); set || err != nil {
			return set, err
		}
	case f.SHA256 == as.SHA256 && f.Removed == 0 && !f.Complete() && r.isMember(f.Source):
		return r.takeSource(ctx, f)
	case f.SHA256 == as.SHA256 && (f.Complete() || f.Removed != 0):
		_, err := r.releases.releaseHeld(ctx, []catalog.FileName{name})
		return err == nil && !isFile(r.store.outboxPath(name)), err
	}
	as.Source = r.cfg.Self
	results, err := r.proposeItems(ctx, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{as}}, 1)
	if err != nil {
		return false, err
	}
	refusal := results[0].Refusal
	if refusal == nil || refusal.Code != catalog.Conflict && refusal.Code != catalog.Invalid {
		return false, errors.Join(refusalError(refusal)) // looked at once more, when the entry is seen here
	}
	r.log.Error("file in the outbox is refused by the catalog and set aside", "file", name, "err", refusal)
	return true, r.store.Reject(name, "refused by the catalog: "+refusal.Message)
}

// keeps reports whether the file is complete, and this node has a replica's good copy of it besides the outbox: its
// bytes; or its checksum, in a checksum replica, whose nodes' bytes count only if they are the file's source. It
// looks at everything in one state, because a file that was complete a moment ago may be disputed now.
func (r *entries) keeps(name catalog.FileName) bool {
	keeps := false
	err := r.catalog.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err != nil || !f.Complete() {
			return err
		}
		if keeps, err = r.isGood(v, f); err != nil || r.sums == nil {
			keeps = keeps && r.store.Has(name)
			return err
		}
		compared, err := allCompared(v, f)
		keeps = keeps && compared
		return err
	})
	return err == nil && keeps
}

// allCompared reports whether some node is said to have good bytes of the file, and all such nodes have compared
// their copies with the catalog since the cluster was recovered.
func allCompared(v catalog.View, f catalog.File) (bool, error) {
	if trust, err := recoveredOnTrust(v); err != nil || trust {
		return false, err
	}
	holders, err := v.CoveringFile(&f)
	for _, h := range holders {
		if epoch, err := v.Unproved(h.Node); err != nil || epoch != 0 {
			return false, err
		}
	}
	return len(holders) > 0, err
}

func refusalError(r *catalog.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}

// runReleases asks for the releases that are due and deletes bytes whose release has applied.
func (r *releases) runReleases(ctx context.Context) error {
	return r.eachChange(ctx, nil, r.releaseAll)
}

// releaseAll does so once, and returns when to do it again even if nothing changes; 0: that is not needed.
func (r *releases) releaseAll(ctx context.Context) (again time.Duration, err error) {
	again, err = r.releaseDue(ctx)
	if err == nil {
		var later time.Duration
		later, err = r.leaveShards(ctx)
		again = sooner(again, later)
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("releases wait", "err", err)
		return time.Minute, nil
	}
	return again, ctx.Err()
}

// sooner returns the shorter of two pauses; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (r *releases) releaseDue(ctx context.Context) (again time.Duration, err error) {
	for after := catalog.FileName(""); ; {
		names, err := r.duties.Releases(after, catalog.MaxItems)
		if err != nil || len(names) == 0 {
			return again, err
		}
		after = names[len(names)-1]
		ready, rest := r.refused.ready(names, time.Now())
		again = sooner(again, rest)
		if len(ready) == 0 {
			continue
		}
		left, err := r.release(ctx, ready)
		if err != nil {
			return again, err
		}
		if left > 0 {
			again = sooner(again, firstRefusal)
		}
	}
}

// release releases those of the files that no other act is working on, as releaseHeld does. It returns how many are
// left, for whatever reason.
func (r *releases) release(ctx context.Context, names []catalog.FileName) (left int, err error) {
	held := make([]catalog.FileName, 0, len(names))
	for _, name := range names {
		if end, _ := r.pending.try(name); end != nil {
			defer end()
			held = append(held, name)
		}
	}
	if len(held) == 0 {
		return len(names), nil
	}
	left, err = r.releaseHeld(ctx, held)
	return left + len(names) - len(held), err
}

// releaseHeld proposes the release of the files and deletes the bytes of those whose release has applied here. It
// returns how many are left, because they were refused or their release is not visible here yet. The caller locks the
// names, because bytes that a put brings between the release and the deletion are not those that were released.
func (r *releases) releaseHeld(ctx context.Context, names []catalog.FileName) (left int, err error) {
	if held, err := nothingProved(r.catalog, r.pending, r.log); err != nil || held {
		return len(names), err
	}
	body := catalog.Releases{Node: r.cfg.Self, Files: names}
	results, err := r.proposeItems(ctx, catalog.ReleaseFiles, body, len(names))
	if err != nil {
		return len(names), err
	}
	var accepted []catalog.FileName
	for i, name := range names {
		if refusal := results[i].Refusal; refusal != nil {
			r.log.Info("release refused", "file", name, "err", refusal)
			r.refused.note(name, time.Now())
			left++
			continue
		}
		r.refused.forget(name)
		accepted = append(accepted, name)
	}
	for waited := 20 * time.Millisecond; ; waited *= 2 {
		accepted, err = r.deleteReleased(accepted)
		if len(accepted) == 0 || err != nil || waited > appliedWithin {
			return left + len(accepted), err
		}
		if err := sleep(ctx, waited); err != nil {
			return left + len(accepted), err
		}
	}
}

// appliedWithin is how long this node's own catalog may be behind an answer before a release is left for later.
const appliedWithin = 5 * time.Second

// names returns all that lies here of a shard, vouched for or not, that the catalog knows.
func (r *releases) names(shard catalog.Shard) ([]catalog.FileName, error) {
	held, err := r.list(shard)
	if err != nil {
		return nil, err
	}
	var all []catalog.FileName
	for _, h := range held {
		all = append(all, h.Name)
	}
	all = append(all, r.store.loose.of(shard)...)
	if r.sums == nil {
		listed, err := r.store.contents(shard)
		if err != nil {
			return nil, err
		}
		for name := range listed.lines { // of files that are missing or cannot be read, too
			all = append(all, name)
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	var known []catalog.FileName
	for _, name := range all {
		switch _, err := r.entry(name); {
		case err == nil:
			known = append(known, name)
		case !errors.Is(err, catalog.ErrNotFound):
			return nil, err
		}
	}
	return known, nil
}
