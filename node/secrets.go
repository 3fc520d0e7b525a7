package node

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/node/vault"
	"holdfast/peer"
)

func (c folder) sealKeyPath() string { return filepath.Join(c.IdentityDir(), "seal.key") }

// sealKey reads the node's key for secrets, or makes one; it is readable by the node's user alone. A key that is there but cannot be
// read is an error: what is sealed to it would be lost.
func (c folder) sealKey(d disk.Disk) (seal.Key, error) {
	text, err := os.ReadFile(c.sealKeyPath())
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
	return key, d.WriteFileMode(c.sealKeyPath(), 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// proveKey returns the public half of a key for secrets, signed by the node's own key.
func proveKey(id peer.Identity, key seal.Key) *catalog.SealKey {
	return &catalog.SealKey{Key: key.Public(), Proof: ed25519.Sign(id.Key, catalog.SealStatement(key.Public()))}
}

// vaultConfig returns what the node's vault is opened with.
func (n *Node) vaultConfig() (vault.Config, error) {
	id, err := n.cfg.ownIdentity()
	if err != nil {
		return vault.Config{}, err
	}
	key, err := n.cfg.sealKey(n.disk)
	if err != nil {
		return vault.Config{}, err
	}
	only := make([]catalog.NodeID, len(n.cfg.SecretsTo))
	for i, id := range n.cfg.SecretsTo {
		only[i] = catalog.NodeID(id)
	}
	return vault.Config{Self: n.id, Crawls: n.cfg.Limits.Crawls > 0, Only: only, Key: key, Proved: *proveKey(id, key),
		Agree: n.raft, Alive: n.isAlive, Local: n.token.access, Log: n.log.With("room", "vault")}, nil
}

// secrets are the vault as the API sees it.
type secrets struct{ vault *vault.Vault }

// Seal parts a job from its secrets and seals these.
func (s secrets) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, sealed, err := s.vault.Seal(job)
	if errors.Is(err, vault.ErrNobodyOpens) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return open, sealed, err
}
