package node

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"holdfast/catalog"
	"holdfast/replica"
)

// indexedFiles are the node's files as the index reads them.
type indexedFiles struct{ store *replica.Store }

// Has is true of files on a disk that is away, too: their captures are not forgotten.
func (f indexedFiles) Has(name catalog.FileName) bool { return f.store.Has(name) || f.store.Away(name) }

func (f indexedFiles) Shards() []catalog.Shard { return f.store.Shards() }

func (f indexedFiles) Open(name catalog.FileName) (io.ReadCloser, error) {
	b, err := f.store.Open(name)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (f indexedFiles) List(s catalog.Shard) ([]catalog.FileName, error) {
	held, err := f.store.List(s)
	names := make([]catalog.FileName, len(held))
	for i := range held {
		names[i] = held[i].Name
	}
	return names, err
}

// harvested is where the runner's files enter the archive.
type harvested struct {
	keeping
	replica *replica.Replica
	log     *slog.Logger
}

// keeping says what this node keeps until all copies are made.
type keeping interface {
	InOutbox(name catalog.FileName) bool
	Outbox() ([]catalog.Addition, error)
}

func (h harvested) Put(ctx context.Context, path string, as catalog.Addition) error {
	_, err := h.replica.Put(ctx, path, as, replica.Owned)
	if errors.Is(err, replica.ErrPending) {
		h.log.Info("file waits for the catalog", "file", as.Name, "job", as.Job)
		return nil
	}
	return err
}

// record is the bytes of a record. Its Doubt is the reading's, for callers who find that the bytes do not match the
// record's own digest.
type record struct {
	*bufio.Reader
	*replica.Reading
}

// Read implements io.Reader.
func (r *record) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// replayRecords opens records for replay by file and position, from the copy here or the nearest good one.
type replayRecords struct{ replica *replica.Replica }

func (r replayRecords) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 { // not known: to the file's end
		length = -1
	}
	body, err := r.replica.OpenRange(ctx, catalog.FileName(file), offset, length)
	if err != nil {
		return nil, err
	}
	return &record{bufio.NewReaderSize(body, 64<<10), body}, nil
}
