package vault

import (
	"errors"
	"fmt"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
)

// Sealing is the vault as the API sees it.
type Sealing struct{ Vault *Vault }

// Seal parts a job from its secrets and seals these.
func (s Sealing) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, sealed, err := s.Vault.Seal(job)
	if errors.Is(err, ErrNobodyOpens) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return open, sealed, err
}
