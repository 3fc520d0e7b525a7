package backups

import (
	"context"
	"errors"
	"fmt"
	"io"

	"holdfast/catalog"
	"holdfast/internal/seal"
)

// Content is what a check of all that is in a backup looked at and found.
type Content struct {
	catalog.Checked
	Index    uint64
	Cluster  catalog.Cluster
	Members  []string
	Problems []string // the first of them
	Found    int64    // all
}

// mostProblems is how many findings of a check are kept.
const mostProblems = 100

// note keeps what was found.
func (c *Content) note(key, what string) {
	if c.Found++; c.Found <= mostProblems {
		c.Problems = append(c.Problems, key+": "+what)
	}
}

// ErrUnsound reports a backup whose content contradicts itself.
var ErrUnsound = errors.New("the catalog in the backup contradicts itself; see holdfast catalog verify-backup")

// Err returns ErrUnsound, with the first problem, if there are problems.
func (c *Content) Err() error {
	if c.Found == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, and %d more", ErrUnsound, c.Problems[0], c.Found-1)
}

// Aside restores the state that is in a backup where nothing uses it, and calls see with its index.
type Aside func(plain io.Reader, see func(index uint64, v catalog.View) error) error

// Verify restores a backup aside, and checks all that is in it. The error says why it cannot be restored; what is wrong
// with its content is found.
func Verify(ctx context.Context, file io.Reader, key seal.Key, aside Aside) (head Head, out Content, err error) {
	err = Open(file, key, func(h Head, plain io.Reader) error {
		head = h
		return aside(plain, func(index uint64, v catalog.View) error {
			out.Index = index
			return checkOf(ctx, v, h, &out)
		})
	})
	return head, out, err
}

// checkOf checks a catalog, and compares it with the head of its backup.
func checkOf(ctx context.Context, v catalog.View, h Head, out *Content) (err error) {
	if out.Cluster, err = catalog.Known(v); err != nil {
		return err
	}
	if err := sameAsHead(out.Cluster, out.Index, h); err != nil {
		return err
	}
	members, err := v.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		out.Members = append(out.Members, m.Name)
	}
	out.Checked, err = catalog.Check(v, ctx.Err, out.note)
	return err
}

func sameAsHead(c catalog.Cluster, index uint64, h Head) error {
	if c.ID != h.Cluster || c.Epoch != h.Epoch || c.Level != h.Level || index != h.Index {
		return fmt.Errorf("%w: its head says cluster %s, epoch %d, level %d, index %d; its content says %s, %d, %d, %d",
			ErrDamaged, h.Cluster, h.Epoch, h.Level, h.Index, c.ID, c.Epoch, c.Level, index)
	}
	return nil
}
