package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/disk"
)

// ErrSuperseded reports that the cluster was recovered without this node: it went on under a higher epoch. The node
// would only keep a second cluster alive, together with others that were left behind.
var ErrSuperseded = errors.New("the cluster was recovered without this node: let it join again, " +
	"with a token from `holdfast node invite`")

func (c Folder) supersededPath() string { return filepath.Join(c.IdentityDir(), "superseded") }

// CheckSuperseded fails with ErrSuperseded when this node has learned so before.
func (c Folder) CheckSuperseded() error {
	text, err := os.ReadFile(c.supersededPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a higher epoch: %w", err)
	}
	return fmt.Errorf("%w (%s)", ErrSuperseded, strings.TrimSpace(string(text)))
}

// supersede keeps for the next start that the cluster is at a higher epoch.
func (c Folder) supersede(d disk.Disk, epoch uint64) error {
	return d.WriteFile(c.supersededPath(), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "epoch %d\n", epoch)
		return err
	})
}

// Yield ends the node when a member says that the cluster is at a higher epoch.
func (m Member) Yield(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case epoch := <-m.Refusals.newer:
		err := m.Folder.supersede(m.Roster.disk, epoch)
		return errors.Join(fmt.Errorf("%w (epoch %d)", ErrSuperseded, epoch), err)
	}
}
