package replica

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"holdfast/catalog"
)

// nonceSize is the size of the number that makes each challenge another one.
const nonceSize = 32

// Challenge asks a node to show that it has the bytes of a file: for the HMAC-SHA256 of the bytes, keyed by the nonce.
// Whoever has the file's checksum alone, or an answer to an earlier challenge, cannot answer it.
type Challenge struct {
	Name  catalog.FileName `json:"name"`
	Draw  uint64           `json:"draw"` // by which the asking node is the copy's examiner
	Nonce []byte           `json:"nonce"`
}

// ErrNotExaminer refuses a challenge of a node that is not to examine the copy.
var ErrNotExaminer = errors.New("the node that asks is not the one that examines this copy")

// ErrNotReady refuses a challenge because the node is starting or stopping, or its catalog is behind.
var ErrNotReady = errors.New("the node is not ready to answer")

// newNonce draws a nonce.
func newNonce() []byte {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails
	return nonce
}

// challengeWord keeps answers apart from all else that is made with HMAC-SHA256.
const challengeWord = "holdfast challenge 1"

// answerTo returns the hash into which the bytes of the file are to be written. Before them come, each behind its
// length of eight bytes, the word, both nodes' ids and the file's name; then the draw, and the size that the catalog
// has.
func (c Challenge) answerTo(asker, asked catalog.NodeID, size int64) hash.Hash {
	h := hmac.New(sha256.New, c.Nonce)
	var head []byte
	for _, text := range []string{challengeWord, string(asker), string(asked), string(c.Name)} {
		head = binary.BigEndian.AppendUint64(head, uint64(len(text)))
		head = append(head, text...)
	}
	head = binary.BigEndian.AppendUint64(head, c.Draw)
	h.Write(binary.BigEndian.AppendUint64(head, uint64(size)))
	return h
}

// readFor reads a store's copy of the wanted file in its shard, and returns the answer to the challenge, its size and
// its SHA-256. The bytes are read now, from the disk, whatever is known of them.
func (c Challenge) readFor(ctx context.Context, s *Store, asker, asked catalog.NodeID, want Held,
	limit *limiter) (mac []byte, got Held, err error) {
	got.Name = want.Name
	err = s.shards.inPlace(s.Path, want.Name, func(path string) error {
		b, err := s.open(path)
		if err != nil {
			return readFault(err)
		}
		defer b.Close()
		adviseCold(b.File)
		defer adviseDone(b.File)
		h := c.answerTo(asker, asked, want.Size)
		if got.Size, got.SHA256, err = s.hash(ctx, io.TeeReader(b, h), limit); err != nil {
			return readFault(err)
		}
		mac = h.Sum(nil)
		return nil
	})
	return mac, got, err
}

// examinerOf returns the entry of a file, and the node that examines a replica's copy of it by the draw: empty when
// there is none, or when the draw does not hold any more.
func (r *agreed) examinerOf(name catalog.FileName, replica catalog.ReplicaName, number uint64) (f catalog.File,
	who catalog.NodeID, err error) {
	err = r.catalog.View(func(v catalog.View) error {
		var err error
		if f, err = v.File(name); err != nil {
			return err
		}
		draws, err := v.Draws()
		if err != nil {
			return err
		}
		if draw, ok := draws.Numbered(number); ok {
			who, err = v.Examiner(draw, replica, name.Shard(), f.Collection)
		}
		return err
	})
	return f, who, err
}

// Challenge answers a challenge of the node from, which must be the copy's examiner. The bytes are read; when they turn
// out wrong or gone, that is reported to the catalog besides. A few at a time, else ErrBusy; ErrNotMounted while the
// copy's disk is away; ErrNotReady when the catalog here cannot be read, or does not know the file: that it is behind
// says nothing about the copy.
func (r *server) Challenge(ctx context.Context, from catalog.NodeID, c Challenge) ([]byte, error) {
	if len(c.Nonce) != nonceSize {
		return nil, fmt.Errorf("challenge for %s: a nonce of %d bytes: want %d", c.Name, len(c.Nonce), nonceSize)
	}
	f, who, err := r.examinerOf(c.Name, r.cfg.Replica, c.Draw)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, fmt.Errorf("%w: its catalog does not know %s", ErrNotReady, c.Name)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotReady, err)
	case who != from:
		return nil, ErrNotExaminer
	case r.sums != nil:
		return nil, ErrNotHere
	}
	release, ok := r.answers.take()
	if !ok {
		return nil, ErrBusy
	}
	defer release()
	_, good, err := r.mine(c.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	mac, got, err := c.readFor(ctx, r.store, from, r.cfg.Self, heldAs(f), r.answering)
	switch {
	case err != nil && ctx.Err() == nil && !r.store.shards.present(c.Name):
		if away := r.store.reachable(c.Name); away != nil { // nobody can tell: it is not the answer that it is gone
			return nil, fmt.Errorf("answer the challenge of %s for %s: %w", from, c.Name, away)
		}
		r.store.noteMissing(c.Name)
		if good {
			r.doubtful(ctx, missingFinding(c.Name))
		}
		return nil, ErrNotHere
	case ctx.Err() != nil: // whoever asks has given up, or this node stops
		return nil, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	case r.store.lost(c.Name, err):
		r.doubtful(ctx, corruptFinding(c.Name, catalog.Digest{}))
	case err == nil && got != heldAs(f) && good:
		r.doubtful(ctx, corruptFinding(c.Name, got.SHA256))
	}
	if err != nil {
		return nil, fmt.Errorf("answer the challenge of %s for %s: %w", from, c.Name, err)
	}
	return mac, nil
}
