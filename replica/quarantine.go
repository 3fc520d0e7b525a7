package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// Aside is bytes in this node's quarantine.
type Aside struct {
	ID     files.AsideName  `json:"id"`
	Name   catalog.FileName `json:"name"` // of the file as which they lay here, or came
	Path   string           `json:"path"`
	Size   int64            `json:"size"`
	Since  time.Time        `json:"since"`
	Reason string           `json:"reason"`
	SHA256 catalog.Digest   `json:"sha256,omitzero"` // once they were read
	State  string           `json:"state"`           // what they are, one of the states of strays
	// Kept says why they are not deleted now, whoever asks; empty when they may be.
	Kept string `json:"kept,omitempty"`
}

// Answers about the quarantine.
var (
	// ErrNotAside reports bytes that are not in this node's quarantine.
	ErrNotAside = errors.New("not in the quarantine of this node")
	// ErrStaysAside refuses to take bytes out of the quarantine.
	ErrStaysAside = errors.New("it stays in the quarantine")
)

// The states of bytes in the quarantine that strays do not have.
const (
	asideRight   = "its bytes are the archive's file"
	asideUnread  = "not read yet"
	asideNothing = "not a file"
)

// asideRead is what reading bytes in the quarantine gave. It counts as long as size and time of the file are the same.
type asideRead struct {
	size   int64
	at     time.Time
	digest catalog.Digest // zero: they cannot be read
}

// keptReading returns what an earlier reading gave, if the file has not changed since.
func (r *finder) keptReading(path string, info fs.FileInfo) (asideRead, bool) {
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	one, ok := r.strays.read[path]
	return one, ok && one.size == info.Size() && one.at.Equal(info.ModTime())
}

// readAside reads bytes in the quarantine to their end and keeps what that gave.
func (r *finder) readAside(ctx context.Context, path string, limit *limiter) (asideRead, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return asideRead{}, err
	}
	if !info.Mode().IsRegular() {
		return asideRead{}, nil
	}
	one := asideRead{size: info.Size(), at: info.ModTime()}
	size, digest, err := r.store.hashFile(ctx, path, limit)
	if err != nil && !errors.Is(err, errUnreadable) {
		return one, err
	}
	if err != nil {
		return one, nil // it is read again at the next look
	}
	if size != info.Size() {
		return one, fmt.Errorf("%s: %w", path, ErrChanged)
	}
	one.digest = digest
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	if r.strays.read == nil {
		r.strays.read = make(map[string]asideRead)
	}
	r.strays.read[path] = one
	return one, nil
}

// asideState says what bytes are that the catalog has under f.
func asideState(one asideRead, f catalog.File) string {
	switch {
	case one.digest.IsZero():
		return strayUnread
	case one.size != f.Size || one.digest != f.SHA256:
		return strayDamaged
	}
	return asideRight
}

// Quarantine lists what is in this node's quarantine, by id. With an error, the list is not whole.
func (r *finder) Quarantine() ([]Aside, error) {
	var all []Aside
	failed := r.awayAside() // there may be more
	for _, dir := range r.store.quarantines() {
		names, err := folderNames(dir)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("list the quarantine: %w", err))
			continue
		}
		for _, text := range names {
			id := files.AsideName(text)
			name, ok := id.File()
			if !ok {
				continue
			}
			one, err := r.aside(id, name, filepath.Join(dir, text))
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone meanwhile
			}
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Aside) int { return strings.Compare(string(a.ID)+a.Path, string(b.ID)+b.Path) })
	return all, failed
}

// awayAside answers ErrNotMounted while a disk is away, which may have a quarantine of its own: what is not found here
// may lie there.
func (r *finder) awayAside() error {
	if err := r.store.Mounted(); err != nil {
		return fmt.Errorf("the quarantine cannot be looked through: %w", err)
	}
	return nil
}

// aside describes one of them.
func (r *finder) aside(id files.AsideName, name catalog.FileName, path string) (Aside, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Aside{}, err
	}
	one := Aside{ID: id, Name: name, Path: path, Size: info.Size(), Since: asideSince(path), State: asideUnread}
	if text, err := readReason(path); err == nil {
		one.Reason = text
	} else if !errors.Is(err, fs.ErrNotExist) {
		one.Reason = err.Error()
	}
	read, known := r.keptReading(path, info)
	if known {
		one.SHA256 = read.digest
	}
	err = r.catalog.View(func(v catalog.View) error {
		f, err := v.File(name)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			one.State = strayUnknown
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			one.State = asideNothing
		case known:
			one.State = asideState(read, f)
		}
		one.Kept, err = v.OnlyBytes(r.cfg.Self, &f)
		return err
	})
	if err != nil {
		return one, fmt.Errorf("look at %s in the quarantine: %w", id, err)
	}
	return one, nil
}

// readReason reads why bytes were set aside.
func readReason(path string) (string, error) {
	f, err := os.Open(path + reasonSuffix)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	return strings.TrimSpace(string(text)), err
}

// findAside returns where bytes lie in the quarantine.
func (r *finder) findAside(id files.AsideName) (catalog.FileName, string, error) {
	name, ok := id.File()
	if !ok {
		return "", "", fmt.Errorf("%q: %w", string(id), ErrNotAside)
	}
	found := ""
	for _, dir := range r.store.quarantines() {
		path := filepath.Join(dir, string(id))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", "", fmt.Errorf("look for %s in the quarantine: %w", id, err)
		}
		if found != "" {
			return "", "", fmt.Errorf("%s: %w: %s and %s have this name", id, ErrStaysAside, found, path)
		}
		found = path
	}
	if found == "" {
		if err := r.awayAside(); err != nil {
			return "", "", fmt.Errorf("look for %s: %w", id, err)
		}
		return "", "", fmt.Errorf("%s: %w", id, ErrNotAside)
	}
	return name, found, nil
}

// ShowAside reads bytes in the quarantine and describes them.
func (r *finder) ShowAside(ctx context.Context, id files.AsideName) (Aside, error) {
	name, path, err := r.findAside(id)
	if err != nil {
		return Aside{}, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		if _, err := r.readAside(ctx, path, nil); err != nil {
			return Aside{}, fmt.Errorf("read %s in the quarantine: %w", id, err)
		}
	}
	return r.aside(id, name, path)
}

// RestoreAside takes bytes out of the quarantine that are the archive's file, and offers them as the file's source: a
// copy that this node owes is made from there. Other bytes, and those of a file that misses nothing, are refused.
func (r *finder) RestoreAside(ctx context.Context, id files.AsideName) error {
	name, path, err := r.findAside(id)
	if err != nil {
		return err
	}
	f, err := r.entry(name)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return fmt.Errorf("%s: %w: the catalog does not know file %s", id, ErrStaysAside, name)
	case err != nil:
		return err
	case f.Removed != 0:
		return fmt.Errorf("%s: %w: file %s was removed from the archive", id, ErrStaysAside, name)
	case f.Complete():
		return fmt.Errorf("%s: %w: file %s is complete, and misses no copy", id, ErrStaysAside, name)
	}
	one, err := r.readAside(ctx, path, nil)
	if err != nil {
		return fmt.Errorf("read %s in the quarantine: %w", id, err)
	}
	if state := asideState(one, f); state != asideRight {
		return fmt.Errorf("%s: %w: %s: it has %d bytes with SHA-256 %s, the archive's file has %d with %s", id,
			ErrStaysAside, state, one.size, one.digest, f.Size, f.SHA256)
	}
	as := catalog.Addition{Name: f.Name, Size: f.Size, SHA256: f.SHA256, Collection: f.Collection, Job: f.Job,
		Attempt: f.Attempt}
	if _, err := r.entries.Put(ctx, path, as, Owned); err != nil {
		return fmt.Errorf("restore %s from the quarantine: %w", id, err)
	}
	r.store.cleared(name)
	r.log.Info("bytes from the quarantine are offered as the file's source", "file", name, "path", path)
	return r.forget(path) // they lie in the outbox, or a copy in its place was made of them and verified
}

// forget removes bytes from the quarantine, and what is known of them.
func (r *finder) forget(path string) error {
	if err := r.store.dropAside(path); err != nil {
		return err
	}
	r.strays.mu.Lock()
	defer r.strays.mu.Unlock()
	delete(r.strays.read, path)
	return nil
}

// runDiscards carries out wishes to delete bytes in the quarantine, as they come.
func (r *finder) runDiscards(ctx context.Context) error {
	return r.eachChange(ctx, nil, func(ctx context.Context) (time.Duration, error) {
		var wishes []files.Discarding
		err := r.catalog.View(func(v catalog.View) (err error) {
			wishes, err = v.Discards(r.cfg.Self, 0)
			return err
		})
		for _, w := range wishes {
			err = errors.Join(err, r.discard(ctx, w.Aside))
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("bytes in the quarantine wait to be deleted", "err", err)
			return time.Minute, nil
		}
		return 0, ctx.Err()
	})
}

// discard reads the bytes of a wish, asks once more, and deletes them.
func (r *finder) discard(ctx context.Context, id files.AsideName) error {
	ask := files.Drop{Node: r.cfg.Self, Aside: id, Wished: true}
	_, path, err := r.findAside(id)
	if errors.Is(err, ErrNotAside) || errors.Is(err, ErrStaysAside) {
		ask.Why = err.Error()
	} else if err != nil {
		return err
	} else {
		one, err := r.readAside(ctx, path, nil)
		if err != nil {
			return fmt.Errorf("read %s in the quarantine: %w", id, err)
		}
		if ask.SHA256 = one.digest; ask.SHA256.IsZero() {
			ask.Why = strayUnread
		}
	}
	answer, err := r.askDrop(ctx, ask)
	if err != nil {
		return err
	}
	if !answer.Allowed {
		r.log.Warn("bytes in the quarantine are not deleted", "path", path, "why", answer.Why)
		return nil
	}
	if err := r.forget(path); err != nil {
		return fmt.Errorf("delete %s from the quarantine: %w", id, err)
	}
	r.log.Info("bytes in the quarantine were deleted, as was asked", "path", path, "sha256", ask.SHA256)
	return nil
}

// askDrop asks the cluster whether bytes may be deleted. A *catalog.Refusal with Unsupported says that the cluster's
// level does not decide that.
func (r *finder) askDrop(ctx context.Context, ask files.Drop) (answer files.Dropped, err error) {
	result, err := r.catalog.Propose(ctx, files.DropAside, ask, string(r.cfg.Self))
	if err != nil {
		return answer, fmt.Errorf("ask whether %s may be deleted: %w", ask.Aside, err)
	}
	if result.Refusal != nil {
		return answer, fmt.Errorf("ask whether %s may be deleted: %w", ask.Aside, result.Refusal)
	}
	if err := json.Unmarshal(result.Value, &answer); err != nil {
		return answer, fmt.Errorf("ask whether %s may be deleted: %w", ask.Aside, err)
	}
	return answer, nil
}
