package peer

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/disk"
)

// keyFile is the name of a node's key inside its identity folder.
const keyFile = "node.key"

// idLength is the length of an ID: 256 bits in base32.
const idLength = 52

// protocolName is what both ends name in TLS: another program on the port is refused there.
const protocolName = "holdfast/1"

// ID names a node: the lower-case base32 form, without padding, of the SHA-256 of its
// Ed25519 public key. Two nodes with equal IDs have the same key.
type ID string

// Fingerprint returns the ID of the node that owns key.
func Fingerprint(key ed25519.PublicKey) ID {
	sum := sha256.Sum256(key)
	return ID(strings.ToLower(encoding().EncodeToString(sum[:])))
}

// ParseID checks that text is a node's ID.
func ParseID(text string) (ID, error) {
	if len(text) != idLength || text != strings.ToLower(text) {
		return "", fmt.Errorf("node id %q: want %d lower-case base32 characters", clip(text), idLength)
	}
	if _, err := encoding().DecodeString(strings.ToUpper(text)); err != nil {
		return "", fmt.Errorf("node id %q: %w", clip(text), err)
	}
	return ID(text), nil
}

func encoding() *base32.Encoding { return base32.StdEncoding.WithPadding(base32.NoPadding) }

// Short returns the first characters of the ID, enough for a person's eye.
func (id ID) Short() string { return string(id[:min(len(id), 8)]) }

// Identity is a node's own key. Whoever has the key acts as that node.
type Identity struct {
	Key ed25519.PrivateKey
}

// ID returns the fingerprint of the identity's public key.
func (i Identity) ID() ID { return Fingerprint(i.Public()) }

// Public returns the public half of the key.
func (i Identity) Public() ed25519.PublicKey { return i.Key.Public().(ed25519.PublicKey) }

// NewIdentity makes a node key that is stored nowhere.
func NewIdentity() (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("make node key: %w", err)
	}
	return Identity{Key: key}, nil
}

// LoadIdentity reads the node key in dir; one that is not there is an fs.ErrNotExist.
func LoadIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, keyFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, fmt.Errorf("read node key: %w", err)
	}
	return parseIdentity(path, data)
}

// LoadOrCreateIdentity reads the node key in dir, or makes one if there is none. When it returns nil the key is on
// stable storage, readable by its owner alone. A key that exists but cannot be read is an error: it is never
// replaced.
func LoadOrCreateIdentity(dir string, d disk.Disk) (Identity, error) {
	id, err := LoadIdentity(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	id, err = NewIdentity()
	if err != nil {
		return Identity{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(id.Key)
	if err != nil {
		return Identity{}, fmt.Errorf("encode node key: %w", err)
	}
	if err := d.MkdirAll(dir); err != nil {
		return Identity{}, err
	}
	err = d.WriteFileMode(filepath.Join(dir, keyFile), 0o600, func(w io.Writer) error {
		return pem.Encode(w, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	})
	if err != nil {
		return Identity{}, err
	}
	return id, nil
}

func parseIdentity(path string, data []byte) (Identity, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return Identity{}, fmt.Errorf("node key %s is damaged: not one PEM private key", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Identity{}, fmt.Errorf("node key %s is damaged: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return Identity{}, fmt.Errorf("node key %s is a %T, not an Ed25519 key", path, key)
	}
	return Identity{Key: private}, nil
}

// secret derives n bytes for one purpose from the private key, the same after every restart.
func (i Identity) secret(purpose string, n int) ([]byte, error) {
	out, err := hkdf.Key(sha256.New, i.Key.Seed(), nil, purpose, n)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", purpose, err)
	}
	return out, nil
}

// certificate wraps the node key in a self-signed certificate. Only the key in it
// counts; it names nobody and runs until the end of time as X.509 knows it.
func (i Identity) certificate() (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: string(i.ID())},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, i.Public(), i.Key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make node certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.Key}, nil
}

// serverTLS accepts any Ed25519 key: who it belongs to is decided after the handshake,
// so that the refused side can be told why.
func serverTLS(cert tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{cert},
		ClientAuth:             tls.RequireAnyClientCert,
		NextProtos:             []string{protocolName},
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := remoteKey(state)
			return err
		},
	}
}

// clientTLS accepts one key only, that of node want. TLS itself proves that the other
// side holds the key; names and dates of its certificate mean nothing to us.
func clientTLS(cert tls.Certificate, want ID) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{cert},
		NextProtos:         []string{protocolName},
		InsecureSkipVerify: true, // VerifyConnection pins the key instead
		VerifyConnection: func(state tls.ConnectionState) error {
			key, err := remoteKey(state)
			if err != nil {
				return err
			}
			if got := Fingerprint(key); got != want {
				return fmt.Errorf("the node at this address has the key of %s, not of %s", got, want)
			}
			return nil
		},
	}
}

// anyTLS accepts any key. It is for questions whose answer may be given to anyone.
func anyTLS(cert tls.Certificate) *tls.Config {
	config := clientTLS(cert, "")
	config.VerifyConnection = func(state tls.ConnectionState) error {
		_, err := remoteKey(state)
		return err
	}
	return config
}

func remoteKey(state tls.ConnectionState) (ed25519.PublicKey, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, errors.New("other side shows no certificate")
	}
	key, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("other side's key is not an Ed25519 key")
	}
	return key, nil
}

// clip shortens foreign text for an error or a log line.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
