package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"holdfast/internal/disk"
)

// TestReadersAreServedWhileAShardMoves reads and lists without a pause while a shard goes back and forth.
func TestReadersAreServedWhileAShardMoves(t *testing.T) {
	t.Parallel()
	size := plainSize + 1000
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, size)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for i := 0; ctx.Err() == nil; i++ {
			name := names[i%3]
			want := heldOf(name, content(uint64(i%3), size))
			in, err := s.openSound(ctx, want, 0, want.Size, false, true)
			if err == nil {
				var got []byte
				got, err = io.ReadAll(in)
				in.Close()
				if err == nil && !bytes.Equal(got, content(uint64(i%3), size)) {
					err = errors.New("other bytes")
				}
			}
			if err == nil {
				_, digest, wrong := s.measurePlaced(ctx, want, nil, false)
				if err = wrong; err == nil && digest != want.SHA256 {
					err = fmt.Errorf("digest %s", digest)
				}
			}
			if err == nil && !s.Has(want.Name) {
				err = errors.New("not vouched for")
			}
			if err != nil && ctx.Err() == nil {
				failed <- fmt.Errorf("%s: %w", name, err)
				return
			}
		}
	}()
	for i := range 40 {
		if err := moveTo(s, names, size, (i+1)%2).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		clearAll(t, s)
	}
	cancel()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// TestAReaderThatComesTooLateLooksAgain lets the shard move, and go from its old disk, between a reader's look where the
// file lies and its opening.
func TestAReaderThatComesTooLateLooksAgain(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*Store, Held) error{
		"a checksum": func(s *Store, h Held) error {
			_, digest, err := s.measurePlaced(t.Context(), h, nil, false)
			if err == nil && digest != h.SHA256 {
				err = fmt.Errorf("digest %s", digest)
			}
			return err
		},
		"a range": func(s *Store, h Held) error {
			in, err := s.openSound(t.Context(), h, 0, h.Size, false, false)
			if err == nil {
				err = in.Close()
			}
			return err
		},
		"a proof": func(s *Store, h Held) error { return s.Vouch(t.Context(), h) },
	} {
		for _, back := range []bool{false, true} {
			s, names := onTwoDisks(t, t.TempDir(), disk.New(), 2, 3000)
			to := func(disk int) {
				if err := moveTo(s, names, 3000, disk).run(t.Context()); err != nil {
					t.Fatal(err)
				}
				clearAll(t, s)
			}
			late, end := false, 1
			s.open = func(path string) (*Bytes, error) {
				if late {
					return openBytes(path)
				}
				late = true
				to(1)
				b, err := openBytes(path)
				if back && err != nil { // it was away as it was opened, and is back when that is known
					end = 0
					to(0)
				}
				return b, err
			}
			if err := look(s, heldOf(names[0], content(0, 3000))); err != nil || !late {
				t.Errorf("%s, back %v: %v", name, back, err)
			}
			lies(t, s, names, 3000, end)
		}
	}
}

// TestAReaderWhoseFileMovesWhileItIsReadLooksAgain lets the shard move between the opening of a file and the making of its
// list of block digests, for which the file is opened once more.
func TestAReaderWhoseFileMovesWhileItIsReadLooksAgain(t *testing.T) {
	t.Parallel()
	size := plainSize + 1000
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 2, size)
	moved := false
	s.open = func(path string) (*Bytes, error) {
		b, err := openBytes(path)
		if !moved {
			moved = true
			if err := moveTo(s, names, size, 1).run(t.Context()); err != nil {
				t.Fatal(err)
			}
			clearAll(t, s)
		}
		return b, err
	}
	want := heldOf(names[0], content(0, size))
	in, err := s.openSound(t.Context(), want, 0, want.Size, false, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	in.Close()
	if err != nil || !bytes.Equal(got, content(0, size)) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}
