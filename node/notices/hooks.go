package notices

import (
	"crypto/rand"
	"errors"
	"fmt"

	"holdfast/api"
	told "holdfast/catalog/notices"
	"holdfast/internal/words"
	"holdfast/notice"
)

// Hooks are the notices as the API sees them.
type Hooks struct {
	Secrets Secrets
	Texts   *words.Words
}

// Hook seals a webhook, with a secret that is made unless one is given.
func (h Hooks) Hook(text, secret string) (origin, made string, sealed *told.Sealed, err error) {
	if origin, err = notice.CheckURL(text); err != nil {
		return "", "", nil, fmt.Errorf("%w: to: %w", api.ErrInvalid, err)
	}
	if secret == "" {
		key := make([]byte, 32)
		_, _ = rand.Read(key)
		secret = notice.Secret(key)
	} else if _, err = notice.Key(secret); err != nil {
		return "", "", nil, fmt.Errorf("%w: secret: %w", api.ErrInvalid, err)
	}
	sealed, err = h.Secrets.Seal(Hook{URL: text, Secret: secret})
	if errors.Is(err, ErrNobodyOpens) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return origin, secret, sealed, err
}

// Languages are the tags of the languages in which notices can be written.
func (h Hooks) Languages() []string { return h.Texts.Tags() }
