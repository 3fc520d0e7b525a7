package rebuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/ledger"
	"holdfast/replica"
)

// Owner is whose folder it is.
type Owner struct {
	Cluster catalog.Cluster
	Node    catalog.NodeID // empty: that of a node, but nobody knows of which
	Members []catalog.Member
	Fault   string // what of this could not be read
}

// Dir is a folder to look into: the data folder of a node, a folder for files of one, or one with files side by side.
type Dir struct {
	Path  string
	Files []string // its folders for files, where the settings say which they are
	// Own is the replica of the node on which the catalog is made, for that node's own folder.
	Own catalog.ReplicaName
}

// folder is a Dir that was opened.
type folder struct {
	dir     string
	cluster catalog.Cluster // ID "": nothing says it
	node    catalog.NodeID
	own     catalog.ReplicaName // see Dir
	members []catalog.Member    // that it names
	homes   []home
	outbox  string // "": none
	sums    string
	disks   map[string]string // by their marks: folders for files that the node has used
	facts   Folder
}

// home is a place with files of the archive.
type home struct {
	dir     string
	sharded bool
	flat    map[catalog.Shard][]string
	listed  map[catalog.FileName]replica.Held // of one without shards: what its manifest lists
}

// voter is who speaks from the folder.
func (s *Survey) voter(f *folder) string {
	return cmp.Or(string(s.replicaOf(f)), "folder "+f.dir)
}

// replicaOf is the replica of the folder's node, empty if it is not known.
func (s *Survey) replicaOf(f *folder) catalog.ReplicaName {
	return cmp.Or(s.members[f.node].Replica, f.own)
}

// entryMark begins the name of the entry beside a file in an outbox.
const entryMark = ".entry-"

// open opens the folders, and finds out whose they are, and of which cluster.
func (s *Survey) open(ctx context.Context) error {
	seen := map[string]bool{}
	for _, d := range s.cfg.Dirs {
		real, err := filepath.EvalSymlinks(d.Path)
		if err != nil {
			return err
		}
		if real, err = filepath.Abs(real); err != nil {
			return err
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		f, err := s.openFolder(d)
		if err != nil {
			return err
		}
		f.homes = slices.DeleteFunc(f.homes, func(h home) bool { // another name of a place that is looked into
			at, err := filepath.EvalSymlinks(h.dir)
			twice := err == nil && at != real && seen[at]
			seen[at] = true
			return twice
		})
		s.folders = append(s.folders, f)
	}
	if err := s.whichCluster(); err != nil {
		return err
	}
	s.nameMembers()
	s.whoseDisks()
	for _, f := range s.folders {
		f.facts.Dir, f.facts.Replica = f.dir, string(s.replicaOf(f))
		f.facts.Node = s.members[f.node].Name
		if err := s.shelve(ctx, f); err != nil {
			return err
		}
	}
	return strangers(s)
}

// strangers refuses a folder that does not say of which cluster it is, and in which lie ledgers of others alone.
func strangers(s *Survey) error {
	for _, f := range s.folders {
		if !f.facts.Unsaid {
			continue
		}
		other, ours := "", false
		for _, name := range s.shelf.heads() {
			for _, path := range s.shelf.paths[name] {
				if rest, err := filepath.Rel(f.dir, path); err != nil || strings.HasPrefix(rest, "..") {
					continue
				}
				id := clusterOf(name, path)
				ours = ours || id == s.cluster.ID || slices.Contains(s.cfg.Others, id)
				other = cmp.Or(other, id)
			}
		}
		if other != "" && !ours {
			return fmt.Errorf("%s: %w: ledgers in it are of %s, not %s (%s); to take its files in "+
				"nevertheless, name it "+
				"with --also %s", f.dir, ErrOtherCluster, other, s.cluster.Name, s.cluster.ID, other)
		}
		f.facts.Unsaid = !ours
	}
	return nil
}

// clusterOf returns the cluster that the head of a ledger names, if it can be read.
func clusterOf(name, path string) string {
	text, err := ledger.Slurp(name, func(string) (io.ReadCloser, error) { return openRegular(path) })
	if err != nil {
		return ""
	}
	h, err := ledger.ReadHead(name, text)
	if err != nil {
		return ""
	}
	return h.ClusterID
}

func (s *Survey) openFolder(d Dir) (*folder, error) {
	f := &folder{dir: d.Path, own: d.Own, disks: map[string]string{}}
	owner, there, err := s.cfg.Whose(d.Path)
	if err != nil {
		return nil, err
	}
	if there {
		f.cluster, f.node = owner.Cluster, owner.Node
		if owner.Fault != "" {
			s.differs(d.Path, "whose folder it is: %s", owner.Fault)
		}
		f.members = owner.Members
	}
	isDir := func(name string) bool {
		info, err := os.Stat(filepath.Join(d.Path, name))
		return err == nil && info.IsDir()
	}
	if isDir("outbox") {
		f.outbox = filepath.Join(d.Path, "outbox")
	}
	if isDir("checksums") {
		f.sums = filepath.Join(d.Path, "checksums")
	}
	roots := d.Files
	if len(roots) == 0 && isDir("files") {
		roots = []string{filepath.Join(d.Path, "files")}
	}
	if len(roots) == 0 && !there && f.sums == "" {
		roots = []string{d.Path}
	}
	for _, root := range roots {
		h, err := openHome(root)
		if errors.Is(err, fs.ErrNotExist) && len(d.Files) > 0 {
			s.lacks("what lies in %s: the folder is not there; is the disk mounted?", root)
			continue
		}
		if err != nil {
			return nil, err
		}
		f.homes = append(f.homes, h)
	}
	if f.disks, err = usedDisks(d.Path); err != nil {
		s.differs(d.Path, "which disks its node has used: %v", err)
	}
	return f, nil
}

// usedDisks returns the folders for files that a node has used, by their marks, without those that were emptied.
func usedDisks(dir string) (map[string]string, error) {
	known, err := replica.ReadRoots(filepath.Join(dir, "roots"))
	if err != nil {
		return nil, err
	}
	var asked struct {
		Drain []struct {
			Mark    string          `json:"mark"`
			Emptied json.RawMessage `json:"emptied"`
		} `json:"drain"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "disks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &asked)
	}
	for _, d := range asked.Drain {
		if len(d.Emptied) > 0 {
			delete(known, d.Mark)
		}
	}
	return known, err
}

// openHome looks how files lie in a folder.
func openHome(dir string) (home, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return home{}, fmt.Errorf("look into %s: %w", dir, err)
	}
	h := home{dir: dir, flat: map[catalog.Shard][]string{}}
	for _, e := range all {
		_, err := catalog.ParseShard(e.Name())
		h.sharded = h.sharded || err == nil && e.IsDir() || e.Name() == replica.MarkName
	}
	if h.sharded {
		return h, nil
	}
	for _, e := range all {
		if name := catalog.FileName(e.Name()); isFile(e, name) {
			h.flat[name.Shard()] = append(h.flat[name.Shard()], string(name))
		}
	}
	h.listed, _, err = replica.ReadManifest(filepath.Join(dir, replica.ManifestName))
	if err != nil {
		return home{}, err
	}
	return h, nil
}

// isFile reports whether what lies there has the name of a file of the archive, and is one.
func isFile(e fs.DirEntry, name catalog.FileName) bool {
	return e.Type().IsRegular() && name.Check() == nil && name != replica.ManifestName
}

// shard lists what lies in a shard's folder, and what its manifest lists. What cannot be read is told.
func (h *home) shard(n catalog.Shard, tell, unread func(string, ...any)) (names []string,
	listed map[catalog.FileName]replica.Held,
	dir string) {
	if !h.sharded {
		listed = map[catalog.FileName]replica.Held{}
		for name, held := range h.listed {
			if name.Shard() == n {
				listed[name] = held
			}
		}
		return h.flat[n], listed, h.dir
	}
	dir = filepath.Join(h.dir, n.String())
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, dir
	}
	if err != nil {
		unread("%s cannot be read: %v", dir, err)
	}
	for _, e := range all {
		if name := catalog.FileName(e.Name()); isFile(e, name) {
			if name.Shard() == n {
				names = append(names, e.Name())
			} else {
				tell("%s lies in a shard that it does not belong to, and is passed over",
					filepath.Join(dir, e.Name()))
			}
		}
	}
	listed, faults, err := replica.ReadManifest(filepath.Join(dir, replica.ManifestName))
	if err != nil {
		unread("%v", err)
	}
	if faults > 0 {
		tell("%s: %d lines say nothing", filepath.Join(dir, replica.ManifestName), faults)
	}
	return names, listed, dir
}

// ErrOtherCluster reports a folder of another cluster.
var ErrOtherCluster = errors.New("it belongs to another cluster")

// whichCluster decides of which cluster the folders are: as it was asked for; else that of the node itself; else that
// of all folders. A folder of another one is refused unless that is named.
func (s *Survey) whichCluster() error {
	for _, f := range s.folders {
		if f.cluster.ID != "" && (s.cluster.ID == "" || f.cluster.ID == s.cluster.ID &&
			f.cluster.Epoch > s.cluster.Epoch) &&
			(s.cfg.Cluster == "" || f.cluster.ID == s.cfg.Cluster) {
			s.cluster = f.cluster
		}
	}
	if s.cluster.ID == "" && s.cfg.Cluster != "" {
		s.cluster = catalog.Cluster{ID: s.cfg.Cluster, Name: s.cfg.Name, Epoch: 1}
	}
	if s.cluster.ID == "" {
		return errors.New("none of the folders says which cluster it belongs to: name its id with " +
			"--cluster; the heads " +
			"of ledgers have it, and identity/members.json in a node's folder")
	}
	for _, f := range s.folders {
		if f.cluster.ID != "" && f.cluster.ID != s.cluster.ID && !slices.Contains(s.cfg.Others, f.cluster.ID) {
			return fmt.Errorf("%s: %w: %s (%s), not %s (%s); to take its files in nevertheless, name "+
				"it with --also %s",
				f.dir, ErrOtherCluster, f.cluster.Name, f.cluster.ID, s.cluster.Name,
				s.cluster.ID, f.cluster.ID)
		}
	}
	for _, f := range s.folders { // its node is none of this cluster, and its shards are not where they belong
		if f.cluster.ID != "" && f.cluster.ID != s.cluster.ID {
			f.node = ""
		}
		if f.cluster.ID == "" && f.node == "" && len(f.homes) > 0 {
			f.facts.Unsaid = true
		}
	}
	return nil
}

// nameMembers takes over who the members were: those whom the node's own folder names, and those whom most of the
// folders of the cluster name that name any. One folder alone cannot say whose signatures count.
func (s *Survey) nameMembers() {
	named, lists := map[catalog.NodeID]int{}, 0
	own := map[catalog.NodeID]bool{}
	latest := map[catalog.NodeID]catalog.Member{}
	for _, f := range s.folders {
		if f.cluster.ID != s.cluster.ID || len(f.members) == 0 {
			continue
		}
		lists++
		for _, m := range f.members {
			if catalog.Fingerprint(m.Key) != m.ID {
				s.differs(f.dir, "it names a member whose key does not fit its id, %s", m.Name)
				continue
			}
			named[m.ID]++
			own[m.ID] = own[m.ID] || f.own != ""
			if was, known := latest[m.ID]; !known || m.Joined > was.Joined {
				latest[m.ID] = m
			}
		}
	}
	for id, m := range latest {
		if own[id] || 2*named[id] > lists {
			s.members[id] = m
		} else {
			s.differs(m.Name, "only %d of %d folders name it as a member: it counts as none", named[id], lists)
		}
	}
}

// whoseDisks finds out which nodes the folders for files belong to, by their marks, and which are not here.
func (s *Survey) whoseDisks() {
	here := map[string]bool{}
	for _, f := range s.folders {
		for i := range f.homes {
			mark, err := replica.ReadMark(f.homes[i].dir)
			if err != nil || mark == "" {
				continue
			}
			here[mark] = true
			for _, other := range s.folders {
				if _, has := other.disks[mark]; has && f.node == "" && f.cluster.ID == "" {
					f.node, f.facts.Unsaid = other.node, false
				}
			}
		}
	}
	for _, f := range s.folders {
		for _, mark := range slices.Sorted(maps.Keys(f.disks)) {
			if !here[mark] {
				s.lacks("what lies on the disk of %s that was at %s: it is not among the folders",
					cmp.Or(s.members[f.node].Name, f.dir), f.disks[mark])
			}
		}
	}
}

// shelve notes where files of ledgers and metadata files of jobs lie.
func (s *Survey) shelve(ctx context.Context, f *folder) error {
	quiet := func(string, ...any) {}
	take := func(dir, name string) {
		if strings.HasPrefix(name, "ledger-") && strings.HasSuffix(name, ".txt") ||
			metadataName(name) != (jobAttempt{}) {
			s.shelf.add(name, filepath.Join(dir, name))
		}
	}
	for i := range f.homes {
		for n := range catalog.Shard(catalog.Shards) {
			if err := ctx.Err(); err != nil {
				return err
			}
			names, _, dir := f.homes[i].shard(n, quiet, quiet)
			for _, name := range names {
				take(dir, name)
			}
		}
	}
	if f.outbox == "" {
		return nil
	}
	all, err := os.ReadDir(f.outbox)
	if err != nil {
		s.unread(f.outbox, "it cannot be read: %v", err)
		return nil
	}
	for _, e := range all {
		if name := catalog.FileName(e.Name()); isFile(e, name) {
			take(f.outbox, e.Name())
			s.waiting[name.Shard()] = append(s.waiting[name.Shard()], waiting{f, name})
		}
	}
	return nil
}

// waiting is a file in an outbox.
type waiting struct {
	in   *folder
	name catalog.FileName
}

// note returns the entry that lies beside a file in an outbox.
func (w *waiting) note() (as catalog.Addition, err error) {
	text, err := os.ReadFile(filepath.Join(w.in.outbox, entryMark+string(w.name)))
	if err == nil {
		err = json.Unmarshal(text, &as)
	}
	if err == nil && as.Name != w.name {
		err = fmt.Errorf("it is about %q", as.Name)
	}
	return as, err
}

// digest reads a whole file.
func digest(ctx context.Context, path string, told func(int64)) (size int64, sum catalog.Digest, err error) {
	f, err := openRegular(path)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	h, space := sha256.New(), make([]byte, 1<<20)
	for ctx.Err() == nil {
		n, err := f.Read(space)
		h.Write(space[:n])
		if size += int64(n); told != nil {
			told(int64(n))
		}
		if errors.Is(err, io.EOF) {
			return size, catalog.Digest(h.Sum(nil)), nil
		}
		if err != nil {
			return size, sum, err
		}
	}
	return size, sum, ctx.Err()
}

func digestOfText(text []byte) catalog.Digest { return sha256.Sum256(text) }
