package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast/ledger"
)

// manifestName is the name of the manifest in each shard's folder.
const manifestName = "manifest-sha256.txt"

// home is a folder with files of the archive: in a folder for each shard, or side by side.
type home struct {
	dir     string
	sharded bool
	names   map[int][]string // by shard, of a folder with the files side by side
	odd     []string         // what lies beside the folders of the shards
}

// openHome looks how the files lie in the folder.
func openHome(dir string) (home, error) {
	if info, err := os.Stat(filepath.Join(dir, "files")); err == nil && info.IsDir() {
		dir = filepath.Join(dir, "files")
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return home{}, fmt.Errorf("look into %s: %w", dir, err)
	}
	h := home{dir: dir, names: map[int][]string{}}
	for _, e := range all {
		h.sharded = h.sharded || e.IsDir() && isShard(e.Name())
	}
	for _, e := range all {
		switch name := e.Name(); {
		case ours(name) || h.sharded && e.IsDir() && isShard(name):
		case h.sharded || e.IsDir():
			h.odd = append(h.odd, name)
		default:
			h.names[ledger.ShardOf(name)] = append(h.names[ledger.ShardOf(name)], name)
		}
	}
	return h, nil
}

// ours reports whether the name is the program's own, and no file of the archive.
func ours(name string) bool { return strings.HasPrefix(name, ".") || name == manifestName }

func isShard(name string) bool {
	return len(name) == 3 && strings.Trim(name, "0123456789abcdef") == ""
}

// path returns where the file lies if it lies here.
func (h *home) path(name string) string {
	if h.sharded {
		return filepath.Join(h.dir, ledger.ShardName(ledger.ShardOf(name)), name)
	}
	return filepath.Join(h.dir, name)
}

// shard lists the files of the shard that lie here.
func (h *home) shard(shard int) ([]string, error) {
	if !h.sharded {
		return h.names[shard], nil
	}
	all, err := os.ReadDir(filepath.Join(h.dir, ledger.ShardName(shard)))
	if os.IsNotExist(err) {
		return nil, nil
	}
	var names []string
	for _, e := range all {
		if !ours(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// paths returns where the file lies.
func (c *check) paths(name string) (out []string) {
	for i := range c.homes {
		path := c.homes[i].path(name)
		if _, err := os.Lstat(path); err == nil || !os.IsNotExist(err) {
			out = append(out, path)
		}
	}
	return out
}
