package rebuild

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Shipped is a folder that was copied from another replica of the cluster.
type Shipped struct {
	Dir  string
	home home
}

// OpenShipped opens a folder with files of the cluster: the data folder of a node, its folder for files, or one with
// files side by side. ErrOtherCluster if it says, or ledgers in it say, that it is of another one, unless that is
// named.
func OpenShipped(dir, cluster string, also []string, whose func(string) (Owner, bool, error)) (*Shipped, error) {
	refuse := func(id string) error {
		return fmt.Errorf("%s: %w: %s, not %s; to take its files nevertheless, name it with --also %s", dir,
			ErrOtherCluster, id, cluster, id)
	}
	owner, _, err := whose(dir)
	if err != nil {
		return nil, err
	}
	fits := func(id string) bool { return id == cluster || slices.Contains(also, id) }
	if id := owner.Cluster.ID; id != "" && !fits(id) {
		return nil, refuse(id)
	}
	root := dir
	if h, err := openHome(filepath.Join(dir, "files")); err == nil && h.sharded {
		root = h.dir
	}
	h, err := openHome(root)
	if err != nil {
		return nil, err
	}
	s := &Shipped{Dir: dir, home: h}
	other, ours := "", false
	for n := range catalog.Shard(catalog.Shards) {
		paths, _ := s.Shard(n, func(string, ...any) {})
		for name, path := range paths {
			if strings.HasPrefix(string(name), "ledger-") && strings.HasSuffix(string(name), ".txt") {
				if id := clusterOf(string(name), path); fits(id) {
					ours = true
				} else if id != "" {
					other = id
				}
			}
		}
	}
	if other != "" && !ours {
		return nil, refuse(other)
	}
	return s, nil
}

// Shard returns where the files of the shard lie, and which its manifest lists that do not lie there. What cannot be
// read is told.
func (s *Shipped) Shard(n catalog.Shard, tell func(what string, args ...any)) (paths map[catalog.FileName]string,
	missing []catalog.FileName) {
	names, listed, dir := s.home.shard(n, tell, tell)
	paths = make(map[catalog.FileName]string, len(names))
	for _, name := range names {
		paths[catalog.FileName(name)] = filepath.Join(dir, name)
	}
	for name := range listed {
		if _, there := paths[name]; !there {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return paths, missing
}
