package disk

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// TestLockWaitsAMoment takes a lock while a copy of it is given back, and one that stays with another.
func TestLockWaitsAMoment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	other := flock.New(path)
	if got, err := other.TryLock(); err != nil || !got {
		t.Fatal(got, err)
	}
	if unlock, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a lock that another holds is taken: %v, %v", unlock != nil, err)
	}
	type answer struct {
		unlock func() error
		err    error
	}
	answers := make(chan answer)
	go func() {
		unlock, err := Lock(path)
		answers <- answer{unlock, err}
	}()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	if got, err := other.TryLock(); err != nil || got {
		t.Errorf("it is taken twice: %v, %v", got, err)
	}
	if err := a.unlock(); err != nil {
		t.Fatal(err)
	}
	if got, err := other.TryLock(); err != nil || !got {
		t.Errorf("it is not given back: %v, %v", got, err)
	}
	_ = other.Close()
}
