// Package seal encrypts a secret so that only the owners of some keys can read it: the secret is encrypted once with
// a key of its own, and that key is sealed to each owner (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM). One
// owner can give the secret to another without encrypting it again.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ErrSealed reports a secret that the key does not open: it is sealed to another key, about something else, or damaged.
var ErrSealed = errors.New("the secret cannot be opened with this key")

// PublicSize is the length of a public key.
const PublicSize = 32

const (
	pemType    = "PRIVATE KEY"
	boxPurpose = "holdfast/box/1\x00"
)

// Key is an owner's private key.
type Key struct{ private *ecdh.PrivateKey }

// NewKey draws a key.
func NewKey() (Key, error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("draw a sealing key: %w", err)
	}
	return Key{k}, nil
}

// ParseKey reads what Key.PEM wrote.
func ParseKey(text []byte) (Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return Key{}, errors.New("read a sealing key: no PEM block of a private key")
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, fmt.Errorf("read a sealing key: %w", err)
	}
	k, ok := any.(*ecdh.PrivateKey)
	if !ok || k.Curve() != ecdh.X25519() {
		return Key{}, errors.New("read a sealing key: not an X25519 key")
	}
	return Key{k}, nil
}

// PEM returns the key as it is kept on disk.
func (k Key) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("write a sealing key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// Public returns the public key, for others to seal to.
func (k Key) Public() []byte { return k.private.PublicKey().Bytes() }

// Sealed is an encrypted secret with a box for each public key that it was sealed to, in their order; each box holds
// the key that opens the secret.
type Sealed struct {
	Text  []byte
	Boxes [][]byte
}

// Seal encrypts the secret and seals it to the public keys. about is not part of the result, but must be given to
// open it, so that one secret cannot be put in the place of another.
func Seal(secret []byte, about string, to [][]byte) (Sealed, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	aead, err := newCipher(key)
	if err != nil {
		return Sealed{}, fmt.Errorf("seal a secret: %w", err)
	}
	// The key is used once: its only nonce is zero.
	out := Sealed{Text: aead.Seal(nil, make([]byte, aead.NonceSize()), secret, []byte(about))}
	out.Boxes, err = boxes(key, about, to)
	return out, err
}

func boxes(key []byte, about string, to [][]byte) ([][]byte, error) {
	var out [][]byte
	for _, public := range to {
		k, err := ecdh.X25519().NewPublicKey(public)
		if err != nil {
			return nil, fmt.Errorf("seal a secret: %w", err)
		}
		recipient, err := hpke.NewDHKEMPublicKey(k)
		if err != nil {
			return nil, fmt.Errorf("seal a secret: %w", err)
		}
		box, err := hpke.Seal(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(boxPurpose+about), key)
		if err != nil {
			return nil, fmt.Errorf("seal a secret: %w", err)
		}
		out = append(out, box)
	}
	return out, nil
}

// Open returns the secret. box is the one that was made for this key.
func (k Key) Open(text, box []byte, about string) ([]byte, error) {
	aead, _, err := k.unbox(box, about)
	if err != nil {
		return nil, err
	}
	secret, err := aead.Open(nil, make([]byte, aead.NonceSize()), text, []byte(about))
	if err != nil {
		return nil, ErrSealed
	}
	return secret, nil
}

// Again returns boxes of the same secret for other public keys. box is the one that was made for this key.
func (k Key) Again(box []byte, about string, to [][]byte) ([][]byte, error) {
	_, key, err := k.unbox(box, about)
	if err != nil {
		return nil, err
	}
	return boxes(key, about, to)
}

func (k Key) unbox(box []byte, about string) (cipher.AEAD, []byte, error) {
	private, err := hpke.NewDHKEMPrivateKey(k.private)
	if err != nil {
		return nil, nil, fmt.Errorf("open a secret: %w", err)
	}
	key, err := hpke.Open(private, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(boxPurpose+about), box)
	if err != nil {
		return nil, nil, ErrSealed
	}
	aead, err := newCipher(key)
	if err != nil {
		return nil, nil, ErrSealed
	}
	return aead, key, nil
}

func newCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
