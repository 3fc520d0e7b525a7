package openid

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Life is how long somebody may take to sign in at the service.
const Life = 10 * time.Minute

// maxSealed bounds the text of a sign-in that has begun: browsers keep no cookie that is longer than 4 KiB.
const maxSealed = 3600

// maxUsed bounds the sign-ins that came back within Life. Each took an answer of this browser's own cookie.
const maxUsed = 20_000

// flow is a sign-in that has begun, as the browser keeps it, sealed.
type flow struct {
	State      string    `json:"state"`
	Nonce      string    `json:"nonce"`
	Verifier   string    `json:"verifier"`
	Next       string    `json:"next,omitempty"`
	Invitation string    `json:"invitation,omitempty"`
	Expires    time.Time `json:"expires"`
}

// newSeal returns a key that only this process has: what began before a restart has to begin again, and what another
// node began is worth nothing here.
func newSeal() cipher.AEAD {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return seal
}

var coding = base64.RawURLEncoding.Strict()

// sealed separates what is sealed here from all else.
const sealed = "holdfast sign-in v1"

// Begin returns the address at the service where somebody signs in, and what her browser has to bring back. next and
// invitation are given back by Finish.
func (s *Service) Begin(ctx context.Context, next, invitation string) (url, text string, err error) {
	k, err := s.ask(ctx, alive)
	if err != nil {
		return "", "", err
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next,
		Invitation: invitation, Expires: s.cfg.Now().Add(Life)}
	if text, err = s.seal(f); err == nil && len(text) > maxSealed {
		f.Next = ""
		text, err = s.seal(f)
	}
	if err != nil || len(text) > maxSealed {
		return "", "", fmt.Errorf("seal a sign-in of %d bytes: %w", len(text), err)
	}
	return s.oauth(k, "").AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), text, nil
}

func (s *Service) seal(f flow) (string, error) {
	plain, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("encode a sign-in: %w", err)
	}
	return coding.EncodeToString(s.flows.Seal(nil, nil, plain, []byte(sealed))), nil
}

// begun returns the sign-in that began with the state, if one of the texts is that, and it is not over.
func (s *Service) begun(texts []string, state string) (flow, error) {
	for _, text := range texts {
		bytes, err := coding.DecodeString(text)
		if err != nil || len(text) > maxSealed {
			continue
		}
		plain, err := s.flows.Open(nil, nil, bytes, []byte(sealed))
		var f flow
		if err != nil || json.Unmarshal(plain, &f) != nil {
			continue
		}
		if subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) == 1 && s.cfg.Now().Before(f.Expires) {
			return f, nil
		}
	}
	return flow{}, ErrBegin
}

// used are the sign-ins that came back. Each may once.
type used struct {
	mu     sync.Mutex
	states map[string]time.Time // until when they would be good
}

// take reports whether the state was not used before. ErrBusy: too many came back lately.
func (u *used) take(f flow, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.states == nil {
		u.states = map[string]time.Time{}
	}
	if _, was := u.states[f.State]; was {
		return ErrBegin
	}
	if len(u.states) >= maxUsed {
		for state, until := range u.states {
			if !now.Before(until) {
				delete(u.states, state)
			}
		}
	}
	if len(u.states) >= maxUsed {
		return ErrBusy
	}
	u.states[f.State] = f.Expires
	return nil
}
