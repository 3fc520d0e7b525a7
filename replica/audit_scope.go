package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
)

// AuditKind says how an audit checks a copy.
type AuditKind string

// The kinds of audits. An audit of a program that knew only one has no kind, and is of the first.
const (
	// AuditChecksum reads every byte of every copy.
	AuditChecksum AuditKind = "checksum"
	// AuditPresence looks at names, sizes and manifests. It reads only the bytes of copies at which something is odd.
	AuditPresence AuditKind = "presence"
	// AuditChallenge challenges the nodes of other replicas for the bytes of the copies that this node examines.
	AuditChallenge AuditKind = "challenge"
)

// scopeFiles is how many files may be named for one audit.
const scopeFiles = 1000

// AuditScope says which copies an audit is about: those that meet all that it says. The zero scope is all that a node
// holds.
type AuditScope struct {
	Shard  *catalog.Shard     `json:"shard,omitempty"`
	Prefix catalog.FileName   `json:"prefix,omitempty"` // of the files' names
	Files  []catalog.FileName `json:"files,omitempty"`  // at most scopeFiles
	// Replica is whose copies are challenged, empty: those of all others.
	Replica catalog.ReplicaName `json:"replica,omitempty"`
	// Copies is how many copies all nodes together are to look at, according to who asked; 0 if that is not known.
	Copies int64 `json:"copies,omitempty"`
}

// All reports whether no file is left out.
func (s *AuditScope) All() bool { return s.Shard == nil && s.Prefix == "" && len(s.Files) == 0 }

// Has reports whether the file is in the scope.
func (s *AuditScope) Has(name catalog.FileName) bool {
	return (s.Shard == nil || *s.Shard == name.Shard()) && strings.HasPrefix(string(name), string(s.Prefix)) &&
		(len(s.Files) == 0 || slices.Contains(s.Files, name))
}

// ByName reports whether the scope says which names are meant, so that parts of shards are left out.
func (s *AuditScope) ByName() bool { return s.Prefix != "" || len(s.Files) > 0 }

// Check refuses a scope that is too large to be carried around.
func (s *AuditScope) Check() error {
	if len(s.Files) > scopeFiles {
		return fmt.Errorf("an audit of %d named files: at most %d can be named", len(s.Files), scopeFiles)
	}
	if s.Shard != nil && *s.Shard >= catalog.Shards {
		return fmt.Errorf("shard %d: want 0 to %d", *s.Shard, catalog.Shards-1)
	}
	return nil
}

// Wanted walks the files of the scope, which names files, and calls see with each that the archive is to have. The
// walk is made in pages of one view each.
func (s *AuditScope) Wanted(view func(func(catalog.View) error) error,
	see func(catalog.View, catalog.File) error) error {
	one := func(v catalog.View, f catalog.File) error {
		if f.Removed != 0 || f.Lost != 0 || !s.Has(f.Name) {
			return nil
		}
		return see(v, f)
	}
	if len(s.Files) > 0 {
		return view(func(v catalog.View) error {
			for _, name := range s.Files {
				f, err := v.File(name)
				if err != nil {
					return fmt.Errorf("file %s: %w", name, err)
				}
				if err := one(v, f); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for after := catalog.FileName(""); ; {
		var files []catalog.File
		err := view(func(v catalog.View) (err error) {
			if files, err = v.Files(string(s.Prefix), after, page); err != nil {
				return err
			}
			for _, f := range files {
				if err := one(v, f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(files) < page {
			return err
		}
		after = files[len(files)-1].Name
	}
}

// plan lists the shards of an audit whose scope names files, and counts the copies in them that this node is to have.
// It is made when the audit begins to run, as it may take a while.
func (r *auditor) plan(ctx context.Context, one *Audit) error {
	if one.Planned || !one.Scope.ByName() {
		return nil
	}
	wanted := map[catalog.Shard]bool{}
	var files, bytes int64
	err := one.Scope.Wanted(r.catalog.View, func(v catalog.View, f catalog.File) error {
		if one.kind() == AuditChallenge {
			draw, err := drawOf(v, one.Draw)
			if err != nil {
				return err
			}
			some, err := r.targets(v, draw, one.Scope.Replica, f)
			if len(some) > 0 {
				wanted[f.Name.Shard()] = true
				files, bytes = files+int64(len(some)), bytes+f.Size*int64(len(some))
			}
			return err
		}
		p, err := v.Placement(r.cfg.Replica, f.Name.Shard())
		if err != nil || p.Holder != r.cfg.Self {
			return err
		}
		if c := f.Copy(r.cfg.Replica); c != nil && !c.Surplus {
			wanted[f.Name.Shard()] = true
			files, bytes = files+1, bytes+f.Size
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("plan audit %s: %w", one.ID, err)
	}
	r.audits.update(func() {
		for shard := range catalog.Shard(catalog.Shards) {
			if wanted[shard] {
				one.Shards = append(one.Shards, shard)
			}
		}
		one.TotalFiles, one.TotalBytes, one.Planned = files, bytes, true
	})
	return r.audits.keep(one)
}

// kind returns what the audit does with each copy.
func (one *Audit) kind() AuditKind {
	if one.Kind == "" {
		return AuditChecksum
	}
	return one.Kind
}

// Proves reports whether the audit's passes read whole shards, so that the catalog may say so of every copy in them.
func (one *Audit) Proves() bool { return one.kind() == AuditChecksum && !one.Scope.ByName() }

// unmet notes named files that the audit was to look at and that it did not meet: they were removed, or are not to be
// here any more. Nobody looked at them.
func (one *Audit) unmet() {
	met := one.Files + one.Owed + int64(one.Refused+one.Late+one.Unreached)
	if len(one.Scope.Files) > 0 && one.Faulty == 0 && met < one.TotalFiles {
		one.Faulty++
		one.Faults = append(one.Faults, ShardFault{Shard: one.Shards[0], Reason: fmt.Sprintf(
			"%d of the named files are not to be here any more, and were not looked at", one.TotalFiles-met)})
	}
}

// Left estimates how long the audit will go on, by what it has done so far while it was at work: 0 if that cannot be
// told.
func (one *Audit) Left() time.Duration {
	done, all := one.Bytes+one.OwedBytes, one.TotalBytes
	if one.kind() != AuditChecksum {
		done, all = one.Files+one.Owed, one.TotalFiles
	}
	if one.State.Ended() || done <= 0 || all <= done || one.Worked <= 0 {
		return 0
	}
	return time.Duration(float64(one.Worked) / float64(done) * float64(all-done))
}

// presenceDue reports whether this node's copies were not looked at, all of them, for as long as they may be. A look
// that did not see all is made again after a while.
func (r *auditor) presenceDue(now time.Time) bool {
	every := r.cfg.PresenceEvery
	if every <= 0 || time.Since(r.audits.opened) < min(presenceFirst, every) {
		return false
	}
	return !slices.ContainsFunc(r.Audits(), func(one Audit) bool {
		if one.kind() != AuditPresence || !one.Scope.All() || one.State == AuditStopped {
			return false
		}
		pause := every
		if one.State == AuditIncomplete {
			pause = min(every, restOfShard)
		}
		return !one.State.Ended() || now.Sub(one.Ended) < pause && !one.Ended.After(now)
	})
}

// presenceFirst is how long a node that has just started waits before it looks at its copies.
const presenceFirst = 10 * time.Minute
