// Package archive carries out for the API what is asked of the archive as a whole: it puts, gets and verifies files,
// runs audits, declares files lost, and lists strays and disks, on this node and by asking the others.
package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/disk"
	"holdfast/replica"
)

// Files puts and gets files for the API.
type Files struct {
	Cluster
	Incoming string                // the folder that bodies are received in, on the outbox's disk
	Room     func() (int64, error) // bytes that may still be written there
}

// Put receives the body into the outbox's disk, then lets the file enter the archive.
func (a Files) Put(ctx context.Context, put api.PutRequest) (catalog.File, error) {
	if err := put.Name.Check(); err != nil {
		return catalog.File{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	path, err := a.receive(put)
	if path != "" {
		defer func() { _ = os.Remove(path) }()
	}
	if err != nil {
		return catalog.File{}, err
	}
	as := catalog.Addition{Name: put.Name, Collection: put.Collection, Source: a.Self,
		Size: put.Size, SHA256: put.SHA256}
	if as.By, err = a.namedAs(put.Actor); err != nil {
		return catalog.File{}, err
	}
	as, err = a.Own.Replica.Put(ctx, path, as, replica.Owned)
	switch {
	case errors.Is(err, replica.ErrPending):
		return catalog.File{}, fmt.Errorf("%s is stored on this node, and enters the archive "+
			"when the cluster can decide again: %w", put.Name, api.ErrNoQuorum)
	case err != nil:
		return catalog.File{}, a.explain(err)
	}
	a.Catalog.CatchUp(ctx)
	var file catalog.File
	err = a.Catalog.View(func(v catalog.View) (err error) { file, err = v.File(as.Name); return err })
	return file, notHeard(as.Name, err)
}

// namedAs returns the actor as who puts a file, for the trail: no node, and nobody in a cluster that does not know it
// yet.
func (a Files) namedAs(actor string) (by string, err error) {
	if kind, _ := catalog.ParseActor(actor); kind == "" {
		return "", nil
	}
	err = a.Catalog.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if c.Level >= files.LevelOfHidden {
			by = actor
		}
		return err
	})
	return by, err
}

// notHeard is the answer for a file that entered the archive though this node's own state does not show it yet, as
// when a leader was lost in between. Not found would say that it was refused.
func notHeard(name catalog.FileName, err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return fmt.Errorf("%w: %s is in the archive, but this node does not show it yet; put it again to be sure",
			api.ErrUnavailable, name)
	}
	return err
}

// receivedMark begins the names of bodies while they are received.
const receivedMark = ".put-"

// DropReceived removes from the folder what a crash left of bodies that were being received. Nobody was told that they
// are safe.
func DropReceived(dir string, d disk.Disk) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean %s: %w", dir, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), receivedMark) {
			if err := d.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive writes the body to a temporary file, and compares it with its announced size and digest.
func (a Files) receive(put api.PutRequest) (path string, err error) {
	f, err := os.CreateTemp(a.Incoming, receivedMark+"*")
	if err != nil {
		return "", fmt.Errorf("receive %s: %w", put.Name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	room := &roomWriter{to: f, free: a.Room}
	if err := room.need(put.Size); err != nil {
		return f.Name(), a.explain(fmt.Errorf("receive %s: %w", put.Name, err))
	}
	size, err := io.Copy(io.MultiWriter(room, sum), put.Body)
	switch {
	case err != nil:
		return f.Name(), a.explain(fmt.Errorf("receive %s: %w", put.Name, err))
	case put.Size >= 0 && size != put.Size:
		return f.Name(), fmt.Errorf("%w: %s has %d bytes, %d were announced", api.ErrDigest, put.Name, size, put.Size)
	}
	if got := catalog.Digest(sum.Sum(nil)); !put.SHA256.IsZero() && got != put.SHA256 {
		return f.Name(), fmt.Errorf("%w: %s has SHA-256 %s, %s was announced", api.ErrDigest, put.Name, got, put.SHA256)
	}
	if err := f.Sync(); err != nil {
		return f.Name(), a.explain(fmt.Errorf("receive %s: %w", put.Name, err))
	}
	return f.Name(), nil
}

// Open reads a part of a file from the copy here or the nearest good one.
func (a Files) Open(ctx context.Context, name catalog.FileName, offset, length int64) (io.ReadCloser, error) {
	body, err := a.Own.Replica.OpenRange(ctx, name, offset, length)
	if err == nil {
		return body, nil
	}
	return nil, a.explainOpen(ctx, err)
}

// OpenCopy reads a part of a file from one replica's copy alone. A copy that the catalog does not count on is refused.
func (a Files) OpenCopy(ctx context.Context, name catalog.FileName, from catalog.ReplicaName, offset,
	length int64) (io.ReadCloser, error) {
	var node catalog.NodeID
	err := a.Catalog.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err != nil {
			return err
		}
		c := f.Copy(from)
		if c == nil || c.Surplus || f.RemovedAt() != 0 {
			return fmt.Errorf("%w: replica %s is not to have file %s", api.ErrNotFound, from, name)
		}
		r, err := v.Replica(from)
		if err != nil {
			return err
		}
		if r.Kind != catalog.Bitarchive {
			return fmt.Errorf("%w: replica %s has no bytes", api.ErrInvalid, from)
		}
		if !c.Good() {
			return &catalog.Refusal{Code: catalog.Conflict, Message: fmt.Sprintf("the copy of %s in %s is not good: %s",
				name, from, wrongWith(c))}
		}
		if node, err = v.Keeper(&f, c); err == nil && node == "" {
			err = fmt.Errorf("%w: no node answers for the copy of %s in %s", api.ErrUnavailable, name, from)
		}
		return err
	})
	if err != nil {
		return nil, a.explain(err)
	}
	body, err := a.Own.Replica.OpenCopy(ctx, name, node, offset, length)
	if err == nil {
		return body, nil
	}
	return nil, a.explainOpen(ctx, err)
}

// wrongWith says in a word what is wrong with a copy.
func wrongWith(c *catalog.Copy) string {
	switch {
	case c.FileList == catalog.FileListMissing:
		return "missing"
	case c.Checksum == catalog.ChecksumCorrupt:
		return "changed"
	}
	return "still to be made (" + string(c.State) + ")"
}

// explainOpen is explain for a reader: whatever kept every copy from being read now may be over later.
func (a Files) explainOpen(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil, errors.Is(err, replica.ErrUnknown), errors.Is(err, replica.ErrRange):
		return a.explain(err)
	}
	return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
}

// explain translates the replica's errors into the API's.
func (a Files) explain(err error) error {
	switch {
	case errors.Is(err, replica.ErrUnknown), errors.Is(err, catalog.ErrNotFound):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, replica.ErrBusy), errors.Is(err, replica.ErrNotHere), errors.Is(err, replica.ErrNoCopy):
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	case errors.Is(err, replica.ErrExists):
		return fmt.Errorf("%w: %w", &catalog.Refusal{Code: catalog.Conflict, Message: err.Error()}, err)
	case errors.Is(err, replica.ErrDamaged):
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	case errors.Is(err, replica.ErrRange):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, disk.ErrFull), errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	return err
}
