package node

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
	"holdfast/peer"
)

// ErrSuperseded reports that the cluster was recovered without this node: it went on under a higher epoch. The node
// would only keep a second cluster alive, together with others that were left behind.
var ErrSuperseded = errors.New("the cluster was recovered without this node; let it join anew with a token")

func (c folder) supersededPath() string { return filepath.Join(c.IdentityDir(), "superseded") }

// checkSuperseded fails with ErrSuperseded when this node has learned so before.
func (c folder) checkSuperseded() error {
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
func (c folder) supersede(d disk.Disk, epoch uint64) error {
	return d.WriteFile(c.supersededPath(), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "epoch %d\n", epoch)
		return err
	})
}

// onPeer is told what happens to the connections.
func (n *Node) onPeer(e peer.Event) {
	n.refused.note(e)
	if e.Kind == peer.EventConnected {
		n.clocks.Connected()
	}
	if e.Kind == peer.EventNewerEpoch {
		select {
		case n.newer <- e.Epoch:
		default:
		}
	}
}

// yield ends the node when a member says that the cluster is at a higher epoch.
func (n *Node) yield(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case epoch := <-n.newer:
		err := n.cfg.supersede(n.disk, epoch)
		return errors.Join(fmt.Errorf("%w (epoch %d)", ErrSuperseded, epoch), err)
	}
}
