package node

import (
	"errors"
	"fmt"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/membership"
	"holdfast/node/vault"
)

// vaultConfig returns what the node's vault is opened with.
func (n *Node) vaultConfig() (vault.Config, error) {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return vault.Config{}, err
	}
	key, err := n.cfg.SealKey(n.disk)
	if err != nil {
		return vault.Config{}, err
	}
	only := make([]catalog.NodeID, len(n.cfg.SecretsTo))
	for i, id := range n.cfg.SecretsTo {
		only[i] = catalog.NodeID(id)
	}
	return vault.Config{Self: n.id, Crawls: n.cfg.Limits.Crawls > 0, Only: only, Key: key, Proved: *membership.ProveKey(id, key),
		Agree: n.raft, Alive: n.isAlive, Local: n.token.Access, Log: n.log.With("room", "vault")}, nil
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
