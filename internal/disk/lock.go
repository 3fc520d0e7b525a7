package disk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked reports a lock that another holds.
var ErrLocked = errors.New("another process holds the lock")

// LockPatience is how long to wait for a lock that this process may hold itself without meaning to: a program that it
// starts has copies of all its open files, and of their locks, until the program runs. So a lock may be taken for a
// moment after it was given back.
const LockPatience = time.Second

// Lock takes the lock file, which it makes where there is none, and keeps it until unlock is called or the process
// ends. ErrLocked when another has it for longer than LockPatience.
func Lock(path string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), LockPatience)
	defer cancel()
	lock := flock.New(path)
	got, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) || err == nil && !got {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ErrLocked), lock.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock.Close, nil
}
