package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// restTime is how long ago bytes that the catalog does not know must have been written: before, somebody may still be
// writing them.
const restTime = time.Minute

// Adoption says which stray becomes a file of the archive, or its source.
type Adoption struct {
	Name       catalog.FileName       `json:"name"`
	Collection catalog.CollectionName `json:"collection,omitempty"` // of a file that the catalog does not know
	SHA256     catalog.Digest         `json:"sha256,omitzero"`      // if given, other bytes are refused
}

// AdoptStray reads bytes that lie here under the name, and that the archive does not ask for here. Those of a file that
// the catalog knows, and that misses copies, become its source, if they are the file's. Those of one that it does not
// know enter as a new file of the collection.
func (r *finder) AdoptStray(ctx context.Context, a Adoption) error {
	if err := checkName(a.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrStaysAside, err)
	}
	f, c, err := r.claimed(a.Name)
	if err != nil {
		return err
	}
	known := c != unknown
	switch {
	case known && f.RemovedAt() != 0:
		return fmt.Errorf("%s: %w: the file was removed; a name is used once", a.Name, ErrStaysAside)
	case known && f.Complete():
		return fmt.Errorf("%s: %w: the file is complete, and misses no copy", a.Name, ErrStaysAside)
	case c == claimed && f.Lost == 0:
		return fmt.Errorf("%s: %w: the archive asks for the file here, and reads what lies here by itself", a.Name,
			ErrStaysAside)
	case !known && a.Collection == "":
		return fmt.Errorf("%s: %w: the catalog does not know the file: name a collection", a.Name, ErrStaysAside)
	}
	path, one, err := r.chooseStray(ctx, a, f, known)
	if err != nil {
		return err
	}
	as, own := catalog.Addition{Name: a.Name, Collection: a.Collection, Size: one.size, SHA256: one.digest}, Foreign
	if known {
		as.Collection, as.Job, as.Attempt, own = f.Collection, f.Job, f.Attempt, Owned
	}
	if _, err := r.entries.Put(ctx, path, as, own); err != nil {
		return fmt.Errorf("adopt %s: %w", path, err)
	}
	r.store.cleared(a.Name)
	r.log.Info("bytes that nobody asked for were adopted", "file", a.Name, "path", path, "known", known)
	return nil
}

// claimed is claimOn in a view of its own.
func (r *finder) claimed(name catalog.FileName) (f catalog.File, c claim, err error) {
	err = r.catalog.View(func(v catalog.View) (err error) {
		f, c, err = r.claimOn(v, name)
		return err
	})
	return f, c, err
}

// chooseStray reads what lies here under the name and returns the bytes that are the file's, or that may become one.
func (r *finder) chooseStray(ctx context.Context, a Adoption, f catalog.File, known bool) (string, asideRead, error) {
	paths, err := r.strayPaths(a.Name, known)
	if err != nil {
		return "", asideRead{}, err
	}
	var fit string
	var found asideRead
	why := make([]string, 0, len(paths))
	for _, path := range paths {
		one, err := r.readAside(ctx, path, nil)
		if err != nil {
			return "", found, fmt.Errorf("read %s: %w", path, err)
		}
		reason := r.unfit(a, f, known, path, one)
		if reason == "" && fit != "" && one.digest != found.digest {
			return "", found, fmt.Errorf("%s: %w: %s and %s have different bytes: name the SHA-256", a.Name,
				ErrStaysAside, fit, path)
		}
		if reason == "" {
			fit, found = path, one
			continue
		}
		why = append(why, path+": "+reason)
	}
	switch {
	case fit != "":
		return fit, found, nil
	case len(why) > 0:
		return "", found, fmt.Errorf("%s: %w: %s", a.Name, ErrStaysAside, strings.Join(why, "; "))
	}
	if err := r.store.Mounted(); err != nil { // it may lie on a disk that is away
		return "", found, fmt.Errorf("look for %s: %w", a.Name, err)
	}
	return "", found, fmt.Errorf("%s: %w: nothing lies here under this name", a.Name, ErrNotAside)
}

// unfit says why bytes are not adopted; empty when they may be.
func (r *finder) unfit(a Adoption, f catalog.File, known bool, path string, one asideRead) string {
	switch {
	case one.digest.IsZero():
		return strayUnread
	case !a.SHA256.IsZero() && one.digest != a.SHA256:
		return "its bytes have SHA-256 " + one.digest.String()
	case known && asideState(one, f) != asideRight:
		return fmt.Sprintf("%s: it has %d bytes with SHA-256 %s, the file has %d with %s", strayDamaged, one.size,
			one.digest, f.Size, f.SHA256)
	case known:
		return ""
	case strings.HasSuffix(path, partSuffix):
		return "part of a copy that was being received: nobody knows whether it is whole"
	case time.Since(one.at) < restTime:
		return "written a moment ago: wait until nobody writes to it"
	}
	list, err := readManifest(filepath.Join(filepath.Dir(path), ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if line, listed := list.lines[a.Name]; listed && line.digest != one.digest {
		return "its manifest has SHA-256 " + line.digest.String() + ", its bytes have " + one.digest.String()
	}
	return ""
}

// strayPaths returns where bytes lie under a file's name that are no copy: in its shard, among what was received, and,
// of a file that the catalog does not know, in the quarantine.
func (r *finder) strayPaths(name catalog.FileName, known bool) (paths []string, err error) {
	all, err := remains(r.store, name)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", name, err)
	}
	for _, path := range all {
		_, aside := files.AsideName(filepath.Base(path)).File()
		aside = aside && filepath.Base(path) != string(name)
		if path != r.store.outboxPath(name) && (!aside || !known) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// SetStrayAside moves bytes that lie in a shard here, and that the archive neither counts on nor asks for, to the
// quarantine. The last bytes of a file are not moved: they are offered as its source.
func (r *finder) SetStrayAside(ctx context.Context, name catalog.FileName, reason string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrStaysAside, err)
	}
	if r.pulls.start(catalog.File{Name: name}, false) == nil { // nobody makes a copy of it meanwhile
		return fmt.Errorf("%s: %w: a copy of it is being made here", name, ErrStaysAside)
	}
	defer r.pulls.end(name)
	end, err := r.entries.pending.begin(ctx, name)
	if err != nil {
		return fmt.Errorf("set %s aside: %w", name, err)
	}
	defer end()
	if err := r.store.reachable(name); err != nil {
		return fmt.Errorf("set %s aside: %w", name, err)
	}
	_, c, err := r.claimed(name)
	switch {
	case err != nil:
		return err
	case c == claimed:
		return fmt.Errorf("%s: %w: it is a copy of the archive, or is to become one", name, ErrStaysAside)
	case c == last:
		return fmt.Errorf("%s: %w: these may be the last bytes of the file; they are read, and offered as its source",
			name, ErrStaysAside)
	case !isFile(r.store.Path(name)):
		return fmt.Errorf("%s: %w: nothing lies in its shard here", name, ErrNotAside)
	}
	if err := r.store.Quarantine(name, reason); err != nil {
		return err
	}
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	kept := r.strays.all[:0:0]
	for _, s := range r.strays.all {
		if _, err := os.Lstat(s.Path); err == nil {
			kept = append(kept, s)
		}
	}
	r.strays.all = kept
	return nil
}
