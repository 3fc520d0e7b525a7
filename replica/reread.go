package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"holdfast/catalog"
)

// ReadState says how bytes turned out when they were read again.
type ReadState string

// The states of bytes that were to be read again.
const (
	ReadRight   ReadState = "ok"
	ReadWrong   ReadState = "corrupt"
	ReadMissing ReadState = "missing" // there is no file, and its disk is there
	ReadAway    ReadState = "away"    // its disk is not there, so that nobody can tell
	// ReadFailed: the file is there and its bytes cannot be read.
	ReadFailed ReadState = "unreadable"
)

// BytesRead is what reading bytes again has shown. Size and SHA256 are those found, if they were read to the end.
type BytesRead struct {
	State  ReadState      `json:"state"`
	Size   int64          `json:"size,omitempty"`
	SHA256 catalog.Digest `json:"sha256,omitzero"`
	Why    string         `json:"why,omitempty"`
}

// Reread is what a node found when it read its bytes of a file again: those of the copy, in the file's shard, and
// apart from them those that it keeps in its outbox, if any. The one says nothing about the other.
type Reread struct {
	Copy   BytesRead  `json:"copy"`
	Outbox *BytesRead `json:"outbox,omitempty"`
}

// LevelOfRereads is the level of the programs that answer a RereadCall. What an earlier one reads again when the copy
// is not in its place are the bytes in its outbox.
const LevelOfRereads = 5

// Rereads read this node's own bytes again, when somebody asks for it.
type Rereads struct {
	*findings
	entries *entries
	hashes  slots // shared with those who ask for checksums
	proved  *proved
}

// Read reads this node's copy of the file again, and its bytes in the outbox. What is wrong is reported to the catalog
// besides, and a line of the manifest that is missing is put right. On a node of a checksum replica the copy is what is
// recorded. A few at a time, else ErrBusy; an error says that nothing is known.
func (r *Rereads) Read(ctx context.Context, name catalog.FileName) (Reread, error) {
	release, ok := r.hashes.take()
	if !ok {
		return Reread{}, ErrBusy
	}
	defer release()
	f, good, err := r.mine(name)
	if err != nil {
		return Reread{}, fmt.Errorf("read %s again: %w", name, err)
	}
	var out Reread
	if r.sums != nil {
		out.Copy = r.recorded(f)
	} else if out.Copy, err = r.readPlaced(ctx, f, good); err != nil {
		return Reread{}, fmt.Errorf("read %s again: %w", name, err)
	}
	if out.Outbox, err = r.readOutbox(ctx, f, out.Copy); err != nil {
		return Reread{}, fmt.Errorf("read %s in the outbox again: %w", name, err)
	}
	return out, nil
}

// recorded compares what a checksum replica has recorded with the catalog.
func (r *Rereads) recorded(f catalog.File) BytesRead {
	h, there := r.sums.Lookup(f.Name)
	switch {
	case !there:
		return BytesRead{State: ReadMissing}
	case h != heldAs(f):
		return BytesRead{State: ReadWrong, Size: h.Size, SHA256: h.SHA256}
	}
	return BytesRead{State: ReadRight, Size: h.Size, SHA256: h.SHA256}
}

// readPlaced reads the copy in its shard; good says that the catalog counts on it.
func (r *Rereads) readPlaced(ctx context.Context, f catalog.File, good bool) (BytesRead, error) {
	name, want := f.Name, heldAs(f)
	if away := r.store.reachable(name); away != nil {
		return BytesRead{State: ReadAway, Why: away.Error()}, nil
	}
	if !r.store.shards.present(name) {
		return r.readNothing(ctx, name, good), nil
	}
	got := Held{Name: name}
	var err error
	got.Size, got.SHA256, err = r.store.measurePlaced(ctx, want, nil, true)
	read := BytesRead{State: ReadRight, Size: got.Size, SHA256: got.SHA256}
	if err == nil && got == want {
		if good && !r.store.Has(name) { // the next audit puts the line right, if it cannot be done now
			_, err := r.store.relist(name.Shard(), []Held{want}, nil)
			if read.Why = "its line in the manifest was missing, and was put right"; err != nil {
				read.Why = "its line in the manifest is missing, and could not be put right: " + err.Error()
			}
		}
		return read, nil
	}
	if ctx.Err() != nil {
		return BytesRead{}, ctx.Err()
	}
	r.proved.drop(name) // a move here counts on it no more
	switch {
	case r.store.lost(name, err):
		r.doubtful(ctx, corruptFinding(name, catalog.Digest{}))
		return BytesRead{State: ReadFailed, Why: err.Error()}, nil
	case err != nil && r.store.reachable(name) != nil:
		return BytesRead{State: ReadAway, Why: err.Error()}, nil
	case err != nil && !r.store.shards.present(name):
		return r.readNothing(ctx, name, good), nil
	case err != nil:
		return BytesRead{}, err
	}
	r.doubtful(ctx, corruptFinding(name, got.SHA256))
	read.State = ReadWrong
	return read, nil
}

// readNothing is readPlaced for a copy that is not in its place: it is missing only if its disk is there.
func (r *Rereads) readNothing(ctx context.Context, name catalog.FileName, good bool) BytesRead {
	if away := r.store.reachable(name); away != nil {
		return BytesRead{State: ReadAway, Why: away.Error()}
	}
	if good {
		r.store.noteMissing(name)
		r.doubtful(ctx, missingFinding(name))
	}
	return BytesRead{State: ReadMissing}
}

// readOutbox reads the bytes in the outbox; nil if there are none. If they are those of the copy, under a second name,
// they are not read twice.
func (r *Rereads) readOutbox(ctx context.Context, f catalog.File, placed BytesRead) (*BytesRead, error) {
	path := r.store.outboxPath(f.Name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return &BytesRead{State: ReadFailed, Why: err.Error()}, nil
	case placed.State == ReadRight || placed.State == ReadWrong:
		if other, err := os.Lstat(r.store.Path(f.Name)); err == nil && os.SameFile(info, other) {
			if placed.Why = ""; placed.State == ReadWrong {
				r.entries.denounceSoon(ctx, f.Name)
			}
			return &placed, nil
		}
	}
	want, got := heldAs(f), Held{Name: f.Name}
	got.Size, got.SHA256, err = r.store.measure(ctx, path, want, nil, true)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, fs.ErrNotExist): // released meanwhile
		return nil, nil
	case errors.Is(err, errUnreadable):
		r.entries.denounceSoon(ctx, f.Name)
		return &BytesRead{State: ReadFailed, Why: err.Error()}, nil
	case err != nil:
		return nil, err
	case got != want:
		r.entries.denounceSoon(ctx, f.Name)
		return &BytesRead{State: ReadWrong, Size: got.Size, SHA256: got.SHA256}, nil
	}
	return &BytesRead{State: ReadRight, Size: got.Size, SHA256: got.SHA256}, nil
}

// Verify is Read for those who ask about the copy alone, and returns what its bytes are. ErrNotHere says that there
// is no copy in its place, ErrNotMounted that nobody can tell, as the copy's disk is away.
func (r *Rereads) Verify(ctx context.Context, name catalog.FileName) (Held, error) {
	h := Held{Name: name}
	if r.sums != nil {
		if found, there := r.sums.Lookup(name); there {
			return found, nil
		}
		return h, ErrNotHere
	}
	release, ok := r.hashes.take()
	if !ok {
		return h, ErrBusy
	}
	defer release()
	f, good, err := r.mine(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return h, ErrNotHere
	}
	var read BytesRead
	if err == nil {
		read, err = r.readPlaced(ctx, f, good)
	}
	switch {
	case err != nil:
	case read.State == ReadMissing:
		return h, ErrNotHere
	case read.State == ReadAway:
		err = fmt.Errorf("%w: %s", ErrNotMounted, read.Why)
	case read.State == ReadFailed:
		err = fmt.Errorf("%w: %s", errUnreadable, read.Why)
	}
	if err != nil {
		return h, fmt.Errorf("read %s again: %w", name, err)
	}
	h.Size, h.SHA256 = read.Size, read.SHA256
	return h, nil
}
