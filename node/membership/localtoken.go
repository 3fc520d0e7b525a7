package membership

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/node/config"
)

// LocalToken is the token with which commands on the node's own machine use its API. It lies in the identity Folder,
// readable by the node's user alone, and is read again when the file is replaced.
type LocalToken struct {
	path, node string

	mu    sync.Mutex
	as    os.FileInfo // of the known token
	known string
}

// OpenToken reads the node's own API token, or makes one.
func (c Folder) OpenToken(d disk.Disk) (*LocalToken, error) {
	t := &LocalToken{path: c.TokenPath(), node: c.Name}
	_, err := t.Text()
	if errors.Is(err, fs.ErrNotExist) {
		err = c.writeToken(d)
	}
	return t, err
}

// RotateToken puts a new local token in the place of the node's. The old one is worth nothing from then on, on this
// node at once, on the others when the node has told them. The node may run or not.
func RotateToken(cfg config.Config) error {
	c := Folder{Config: cfg}
	if _, err := os.Stat(c.TokenPath()); err != nil {
		return fmt.Errorf("rotate the local token of %s: %w", c.Name, err)
	}
	return c.writeToken(c.PrivateDisk())
}

func (c Folder) writeToken(d disk.Disk) error {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	token := api.Token{ID: api.LocalID, Secret: hex.EncodeToString(secret)}
	return d.WriteFileMode(c.TokenPath(), OwnerOnly, func(w io.Writer) error {
		_, err := io.WriteString(w, token.String()+"\n")
		return err
	})
}

// Text returns the token as it is now.
func (t *LocalToken) Text() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err != nil {
		return "", fmt.Errorf("read the local token: %w", err)
	}
	if t.known == "" || !unchanged(t.as, info) {
		text, err := os.ReadFile(t.path)
		if err != nil {
			return "", fmt.Errorf("read the local token: %w", err)
		}
		t.known, t.as = strings.TrimSpace(string(text)), info
	}
	return t.known, nil
}

// unchanged reports whether two looks at a path saw the same file.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Access returns the part of the token that the API keeps.
func (t *LocalToken) Access() (catalog.AccessToken, error) {
	text, err := t.Text()
	if err != nil {
		return catalog.AccessToken{}, err
	}
	token, err := api.ParseToken(text)
	if err != nil {
		return catalog.AccessToken{}, fmt.Errorf("read the local token %s: %w", t.path, err)
	}
	return catalog.AccessToken{ID: api.LocalID, Name: "local:" + t.node,
		Role: catalog.RoleAdmin, SecretHash: token.Hash()}, nil
}

// LocalRole returns what the named member's local token may do on this node: what this node's own cluster.toml says
// for that node, or for all nodes if it does not list that node.
func (c Folder) LocalRole(member string) (catalog.Role, bool) {
	role := c.LocalToken
	if other, err := c.File.Node(member); err == nil {
		role = other.LocalToken
	}
	return catalog.Role(role), role != "none"
}
