package membership

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/peer"
)

// SealKeyPath is where the node keeps its key for secrets.
func (c Folder) SealKeyPath() string { return filepath.Join(c.IdentityDir(), "seal.key") }

// SealKey reads the node's key for secrets, or makes one; only the node's user can read it. A key that exists but
// cannot be read is an error: the secrets sealed to it would be lost.
func (c Folder) SealKey(d disk.Disk) (seal.Key, error) {
	text, err := os.ReadFile(c.SealKeyPath())
	if err == nil {
		return seal.ParseKey(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return seal.Key{}, fmt.Errorf("read the key for secrets: %w", err)
	}
	key, err := seal.NewKey()
	if err != nil {
		return seal.Key{}, err
	}
	if text, err = key.PEM(); err != nil {
		return seal.Key{}, err
	}
	return key, d.WriteFileMode(c.SealKeyPath(), 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ProveKey returns the public half of a key for secrets, signed by the node's own key.
func ProveKey(id peer.Identity, key seal.Key) *catalog.SealKey {
	return &catalog.SealKey{Key: key.Public(), Proof: ed25519.Sign(id.Key, catalog.SealStatement(key.Public()))}
}
