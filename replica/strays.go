package replica

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/catalog"
)

// How often it is looked for bytes that nobody asks for: in shards that this node does not hold, and at every 36th look
// in all of them. Bytes in the quarantine that are known to be wrong, of a file that is complete, are kept for 30 days.
const (
	strayEvery     = 10 * time.Minute
	strayFirst     = time.Minute
	strayAll       = 36
	quarantineTime = 30 * 24 * time.Hour
)

// Stray is bytes on this node that the archive neither counts on nor asks for.
type Stray struct {
	Name  catalog.FileName `json:"name"`
	Where string           `json:"where"` // files, incoming or quarantine
	Path  string           `json:"path"`
	Size  int64            `json:"size"`
	State string           `json:"state"` // why it lies there, in words
	// Harmless is set when nobody needs to look: it is about to go.
	Harmless bool `json:"harmless,omitempty"`
}

// The states of strays.
const (
	strayUnknown  = "the catalog does not know the file"
	strayKept     = "kept until the file is complete elsewhere"
	strayOffered  = "offered as the file's source: no other copy is good"
	strayGoing    = "its release is asked for: the file is complete elsewhere"
	strayDamaged  = "its bytes are not the archive's file"
	strayUnread   = "its bytes cannot be read"
	strayPart     = "part of a file of which no copy is good"
	strayNoCopies = "no copy of the file is good, and these bytes were not read yet"
)

// strays are the results of the last look.
type strays struct {
	mu     sync.Mutex
	all    []Stray
	read   map[string]asideRead // path in the quarantine: what reading it gave
	failed [2]error             // what the last look could not look at, and the last look at all shards
}

// Strays returns the bytes that the last look found and that the archive neither counts on nor asks for.
func (r *finder) Strays() []Stray {
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	return slices.Clone(r.strays.all)
}

// straysFault says why there may be strays that are not listed: the first reason of many; empty when there is none.
func (r *finder) straysFault() string {
	r.strays.mu.Lock()
	failed := cmp.Or(r.strays.failed[0], r.strays.failed[1])
	r.strays.mu.Unlock()
	return firstOf(cmp.Or(r.store.Mounted(), failed))
}

// runStrays looks for strays now and then. The last good copy of a file is offered as its source; bytes that others
// have too are released; the rest is listed.
func (r *finder) runStrays(ctx context.Context) error {
	pause := strayFirst
	for looks := 0; ; looks++ {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = strayEvery
		if err := r.lookForStrays(ctx, looks%strayAll == 0); err != nil && ctx.Err() == nil {
			r.log.Warn("the look for bytes that nobody asks for was not finished", "err", err)
		}
	}
}

// lookForStrays looks once, in shards that this node does not hold or in all.
func (r *finder) lookForStrays(ctx context.Context, all bool) error {
	l := &strayLook{finder: r}
	failed := errors.Join(l.shards(ctx, all), l.parts(ctx), l.outbox())
	for _, dir := range r.store.quarantines() {
		failed = errors.Join(failed, l.quarantine(ctx, dir))
	}
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	if !all { // the last findings in shards that this look skipped
		for _, s := range r.strays.all {
			if s.Where == "files" && !slices.ContainsFunc(l.found, func(f Stray) bool { return f.Path == s.Path }) &&
				isFile(s.Path) {
				l.found = append(l.found, s)
			}
		}
	}
	slices.SortFunc(l.found, func(a, b Stray) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Path, b.Path))
	})
	r.strays.all = l.found
	r.strays.failed[0] = failed
	if all {
		r.strays.failed[1] = failed
	}
	return failed
}

// claim says what the archive wants of a file's bytes here.
type claim int

const (
	claimed   claim = iota // they are to be here, or somebody sees to it that they go
	unknown                // it does not know the file
	spare                  // the file is complete elsewhere, or removed
	elsewhere              // the file is not complete, and others have good bytes
	last                   // nobody else has good bytes
)

// claimOn looks at one file in a view of the catalog.
func (r *agreed) claimOn(v catalog.View, name catalog.FileName) (f catalog.File, c claim, err error) {
	f, err = v.File(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return f, unknown, nil
	}
	if err != nil {
		return f, claimed, err
	}
	p, err := v.Placement(r.cfg.Replica, name.Shard())
	if err != nil {
		return f, claimed, err
	}
	own := f.Copy(r.cfg.Replica)
	switch {
	case own != nil && own.Surplus && own.Node == r.cfg.Self:
		return f, claimed, nil
	case f.Removed != 0:
		return f, spare, nil
	case own != nil && !own.Surplus && (p.Holder == r.cfg.Self || p.Next == r.cfg.Self):
		return f, claimed, nil
	case f.Complete():
		return f, spare, nil
	}
	holders, err := v.CoveringFile(&f)
	if len(holders) == 0 {
		return f, last, err
	}
	return f, elsewhere, err
}

// strayLook is one look for strays.
type strayLook struct {
	*finder
	found []Stray
}

func (l *strayLook) note(where, path string, name catalog.FileName, state string) {
	size := int64(0)
	if info, err := os.Lstat(path); err == nil {
		size = info.Size()
	}
	l.found = append(l.found, Stray{Name: name, Where: where, Path: path, Size: size, State: state,
		Harmless: state == strayGoing})
}

// shards looks at the folders of shards, one after the other.
func (l *strayLook) shards(ctx context.Context, all bool) error {
	moves, err := l.duties.Moves()
	if err != nil {
		return err
	}
	var layout []catalog.Placement
	if err := l.catalog.View(func(v catalog.View) (err error) {
		layout, err = v.Layout(l.cfg.Replica)
		return err
	}); err != nil {
		return err
	}
	var failed error
	for n := range catalog.Shard(catalog.Shards) {
		p := layout[n]
		held := p.Holder == l.cfg.Self || p.Next == l.cfg.Self
		if held && !all || slices.Contains(moves.Out, n) {
			continue
		}
		if err := l.shard(ctx, n); err != nil {
			failed = errors.Join(failed, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return failed
}

func (l *strayLook) shard(ctx context.Context, n catalog.Shard) error {
	var names []catalog.FileName
	if l.sums != nil {
		held, err := l.sums.List(n)
		if err != nil {
			return err
		}
		for _, h := range held {
			names = append(names, h.Name)
		}
	} else {
		c, err := l.store.contents(n)
		if err != nil {
			return err
		}
		names = c.files
	}
	var going []catalog.FileName
	for _, name := range names {
		var f catalog.File
		var c claim
		if err := l.catalog.View(func(v catalog.View) (err error) {
			f, c, err = l.claimOn(v, name)
			return err
		}); err != nil {
			return err
		}
		path := l.store.Path(name)
		switch {
		case c == claimed:
		case c == spare:
			going = append(going, name)
			l.note("files", path, name, strayGoing)
		case c == last && l.sums == nil:
			state, err := l.offer(ctx, f, path)
			if state == strayDamaged {
				err = l.store.Quarantine(name, "not the archive's file, and not asked for here")
			}
			l.note("files", path, name, state)
			if err != nil {
				return err
			}
		default:
			l.note("files", path, name, map[claim]string{unknown: strayUnknown, elsewhere: strayKept,
				last: strayKept}[c])
		}
	}
	for chunk := range slices.Chunk(going, catalog.MaxItems) {
		if _, err := l.releases.release(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// offer reads bytes at path of a file that nobody else has, and makes this node the file's source if they are right.
func (l *strayLook) offer(ctx context.Context, f catalog.File, path string) (state string, err error) {
	if l.store.InOutbox(f.Name) {
		return strayOffered, nil
	}
	as := catalog.Addition{Name: f.Name, Size: f.Size, SHA256: f.SHA256, Collection: f.Collection, Job: f.Job,
		Attempt: f.Attempt}
	_, err = l.entries.Put(ctx, path, as, Owned)
	switch {
	case err == nil, errors.Is(err, ErrPending):
		l.store.cleared(f.Name)
		l.log.Warn("bytes that nobody asked for are the last good ones of a file, and are offered", "file", f.Name,
			"path", path)
		return strayOffered, nil
	case errors.Is(err, ErrDamaged):
		return strayDamaged, nil
	case errors.Is(readFault(err), errUnreadable):
		return strayUnread, nil
	}
	return strayNoCopies, err
}

// outbox handles files in the outbox that the archive does not count on, or no longer does: wanted ones are offered
// again, others are released.
func (l *strayLook) outbox() error {
	names, err := l.store.outboxNames()
	if err != nil {
		return err
	}
	for _, name := range names {
		if waits, _ := l.entries.pending.has(name); waits {
			continue
		}
		f, err := l.entry(name)
		if errors.Is(err, catalog.ErrNotFound) {
			continue // it is being put, or waits to be
		}
		if err != nil {
			return err
		}
		if f.Source != l.cfg.Self || f.Released {
			l.entries.pending.add(name, true)
		}
	}
	return nil
}

// parts looks at received parts of copies that are no longer wanted.
func (l *strayLook) parts(ctx context.Context) error {
	var failed error
	for _, dir := range l.store.incoming() {
		names, err := folderNames(dir)
		failed = errors.Join(failed, err)
		for _, text := range names {
			name, ok := strings.CutSuffix(text, partSuffix)
			if !ok || checkName(catalog.FileName(name)) != nil {
				continue
			}
			if err := l.part(ctx, catalog.FileName(name), filepath.Join(dir, text)); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

func (l *strayLook) part(ctx context.Context, name catalog.FileName, path string) error {
	var f catalog.File
	var c claim
	if err := l.catalog.View(func(v catalog.View) (err error) {
		f, c, err = l.claimOn(v, name)
		return err
	}); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil // finished meanwhile
	}
	switch {
	case c == claimed: // it is being made, or will be
	case c == spare:
		if l.pulls.busy(name) {
			return nil
		}
		return l.store.DropPart(name)
	case c == last && info.Size() == f.Size:
		state, err := l.offer(ctx, f, path)
		l.note("incoming", path, name, state)
		return err
	default:
		l.note("incoming", path, name, map[claim]string{unknown: strayUnknown, elsewhere: strayKept,
			last: strayPart}[c])
	}
	return nil
}
