package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"holdfast/catalog"
	"holdfast/replica"
)

// Indexed are this node's files as its index reads them.
type Indexed struct{ Store *replica.Store }

// Has is true of files on a disk that is away, too: their captures are not forgotten.
func (f Indexed) Has(name catalog.FileName) bool { return f.Store.Has(name) || f.Store.Away(name) }

// Shards returns the shards of which files are here.
func (f Indexed) Shards() []catalog.Shard { return f.Store.Shards() }

// Open opens a file in its shard or in the outbox.
func (f Indexed) Open(name catalog.FileName) (io.ReadCloser, error) {
	b, err := f.Store.Open(name)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// List returns the names of the shard's files.
func (f Indexed) List(s catalog.Shard) ([]catalog.FileName, error) {
	held, err := f.Store.List(s)
	names := make([]catalog.FileName, len(held))
	for i := range held {
		names[i] = held[i].Name
	}
	return names, err
}

// Kept says what this node keeps until all copies are made.
type Kept interface {
	InOutbox(name catalog.FileName) bool
	Outbox() ([]catalog.Addition, error)
}

// Entering is where files that were made on this node enter the archive.
type Entering struct {
	Kept
	Replica *replica.Replica
	Log     *slog.Logger
}

// Put lets a finished file enter. When it returns nil the bytes are safe; a catalog that cannot be told now is told
// later.
func (e Entering) Put(ctx context.Context, path string, as catalog.Addition) error {
	_, err := e.Replica.Put(ctx, path, as, replica.Owned)
	if errors.Is(err, replica.ErrPending) {
		e.Log.Info("file waits for the catalog", "file", as.Name, "job", as.Job)
		return nil
	}
	return err
}

// Records opens records of the archive by file and position, from the copy here or the nearest good one.
type Records struct{ Replica *replica.Replica }

// record is the bytes of a record. Its Doubt is the reading's, for callers who find that the bytes do not match the
// record's own digest.
type record struct {
	*bufio.Reader
	*replica.Reading
}

// Read implements io.Reader.
func (r *record) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// Open opens the record; length is 0 if it is not known.
func (r Records) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 { // to the file's end
		length = -1
	}
	body, err := r.Replica.OpenRange(ctx, catalog.FileName(file), offset, length)
	if err != nil {
		return nil, err
	}
	return &record{bufio.NewReaderSize(body, 64<<10), body}, nil
}
