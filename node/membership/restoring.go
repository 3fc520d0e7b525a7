package membership

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Next names the next command of a restoration, by what the ones before left; false after the last.
type Next = func(catalog.View) (catalog.Command, bool, error)

// Restoration is how a catalog is put into a node's folder.
type Restoration struct {
	Reason string
	Now    time.Time
	// Keep says which other members stay: their bytes lie where the state says. nil: none, all are removed as lost.
	Keep func(catalog.NodeID) bool
	// Put puts the state into the new folder dir, and has next's commands carried out.
	Put func(dir string, self catalog.NodeID, next Next) error
}

// ErrCatalogThere reports a folder in which nothing may be restored.
var ErrCatalogThere = errors.New("this node has a catalog, or a log of decisions")

// restoringDir is where the state is until it is whole.
func (c Folder) restoringDir() string { return filepath.Join(c.Data, "restoring") }

func (c Folder) restoredPath() string { return filepath.Join(c.restoringDir(), "members.json") }

// Restore makes the configured node the only voter of the cluster whose state is put there, in a new epoch, whose
// number is the time: greater than that of any recovery, and of any restoration before. Nothing is released until the
// copies that are counted were compared with what lies there. Other members are removed as lost unless they are kept,
// and have to join again in either case; join tokens that were not used are revoked. The node keeps its key if it has
// one; otherwise it is a new node with that name. It refuses a folder with a catalog or a log, and one of another
// cluster. What a crash left of a restoration is done again, or ended.
func Restore(cfg Folder, how Restoration) (_ catalog.Cluster, err error) {
	d := cfg.PrivateDisk()
	id, err := cfg.identity(d)
	if err != nil {
		return catalog.Cluster{}, err
	}
	unlock, err := cfg.Lock()
	if err != nil {
		return catalog.Cluster{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if k, err := cfg.readRestored(); err == nil {
		return k.Cluster, cfg.adoptRestored(d, k)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return catalog.Cluster{}, err
	}
	if err := MayRestore(cfg); err != nil {
		return catalog.Cluster{}, err
	}
	old, err := cfg.load()
	if err != nil && !errors.Is(err, ErrNotFounded) {
		return catalog.Cluster{}, err
	}
	if err := d.RemoveAll(cfg.restoringDir()); err != nil {
		return catalog.Cluster{}, err
	}
	if err := d.MkdirAll(cfg.restoringDir()); err != nil {
		return catalog.Cluster{}, err
	}
	steps := restoring{self: cfg.member(id), known: old.Cluster, reason: how.Reason, now: how.Now, keep: how.Keep}
	if err := how.Put(filepath.Join(cfg.restoringDir(), "data"), steps.self.ID, steps.next); err != nil {
		return catalog.Cluster{}, errors.Join(err, d.RemoveAll(cfg.restoringDir()))
	}
	k := Known{Cluster: steps.cluster, Members: []catalog.Member{steps.self}}
	if err := writeKnown(d, cfg.restoredPath(), k); err != nil {
		return catalog.Cluster{}, err
	}
	return k.Cluster, cfg.adoptRestored(d, k)
}

// MayRestore refuses a folder with a catalog or a log, unless a restoration is to be ended there.
func MayRestore(cfg Folder) error {
	if exists(cfg.restoredPath()) {
		return nil
	}
	for _, name := range []string{"raft", "catalog"} {
		if exists(filepath.Join(cfg.Data, name)) {
			return fmt.Errorf("%w (%s): to put another in its place, move that away first", ErrCatalogThere,
				filepath.Join(cfg.Data, name))
		}
	}
	return nil
}

func (c Folder) readRestored() (k Known, err error) {
	text, err := os.ReadFile(c.restoredPath())
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("read what was restored: %w", err)
	}
	return k, nil
}

// adoptRestored makes a whole restored state the node's. The catalog comes last: a node with a log alone does not
// start.
func (c Folder) adoptRestored(d disk.Disk, k Known) error {
	for _, step := range []func() error{
		func() error { return c.moveRestored(d, "raft") },
		func() error { return d.RemoveAll(c.supersededPath()) },
		func() error { return c.save(d, k) },
		func() error { return c.NoteAgreed(d) },
		func() error { return c.moveRestored(d, "catalog") },
		func() error { return d.RemoveAll(filepath.Join(c.restoringDir(), "data")) },
		// the list alone: until it is gone, all is done again
		func() error { return d.RemoveAll(c.restoringDir()) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("adopt the restored catalog: %w", err)
		}
	}
	return nil
}

// moveRestored moves a folder to its place, unless that was done before a crash.
func (c Folder) moveRestored(d disk.Disk, name string) error {
	from := filepath.Join(c.restoringDir(), "data", name)
	if !exists(from) && exists(filepath.Join(c.Data, name)) {
		return nil
	}
	return d.Rename(from, filepath.Join(c.Data, name))
}

// CheckRestoring fails while a restoration is not done. An empty folder is what a crash left of one that is.
func (c Folder) CheckRestoring() error {
	left, err := os.ReadDir(c.restoringDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for a catalog that is being restored: %w", err)
	}
	if len(left) > 0 {
		return fmt.Errorf("a catalog is being restored in %s, and that is not done: run holdfast catalog "+
			"restore, or "+
			"catalog rebuild, again",
			c.restoringDir())
	}
	return nil
}

// writeKnown writes a member list.
func writeKnown(d disk.Disk, path string, k Known) error {
	return d.WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(k)
	})
}

// restoring names the commands by which a restored state becomes that of a cluster with one node. Each follows from
// what the state shows, so that none is lost and none comes twice.
type restoring struct {
	self    catalog.Member
	known   catalog.Cluster // what the node knew before, if anything
	reason  string
	now     time.Time
	keep    func(catalog.NodeID) bool
	cluster catalog.Cluster
	secret  []byte // of the token by which the node joins
	token   string
	begun   bool
}

// newNode is what a node that the state does not know is called until the member with its name is removed.
const newNode = "restored-"

func (r *restoring) next(v catalog.View) (c catalog.Command, more bool, err error) {
	now, err := catalog.Known(v)
	if err != nil {
		return c, false, err
	}
	if !r.begun {
		r.begun = true
		if r.known.ID != "" && r.known.ID != now.ID {
			return c, false, fmt.Errorf("%w: %s (%s); the backup is of %s (%s)", ErrFounded,
				r.known.Name, r.known.ID,
				now.Name, now.ID)
		}
		epoch := max(now.Epoch, r.known.Epoch, uint64(r.now.Unix())) + 1
		return r.command(catalog.RaiseEpoch, catalog.EpochChange{Epoch: epoch, Reason: r.reason})
	}
	r.cluster = now
	self, err := v.Member(r.self.ID)
	if errors.Is(err, catalog.ErrNotFound) {
		return r.join(v, now)
	}
	if err != nil {
		return c, false, err
	}
	if self.Replica != r.self.Replica {
		return c, false, fmt.Errorf("the backup has this node in replica %s, and cluster.toml in %s",
			self.Replica,
			r.self.Replica)
	}
	tokens, err := v.JoinTokens()
	if err != nil {
		return c, false, err
	}
	for _, t := range tokens {
		if t.UsedBy == "" && t.Revoked == 0 {
			return r.command(catalog.RevokeToken, catalog.Named{ID: t.ID})
		}
	}
	members, err := v.Members()
	if err != nil {
		return c, false, err
	}
	for _, m := range members {
		if m.ID != r.self.ID && (r.keep == nil || !r.keep(m.ID)) {
			return r.command(catalog.RemoveMember, catalog.MemberRemoval{ID: m.ID, Lost: true,
				Reason: r.reason})
		}
	}
	if self.Name != r.self.Name {
		name := r.self.Name
		return r.command(catalog.UpdateMember, catalog.MemberChange{ID: self.ID, Name: &name})
	}
	r.self = self
	return c, false, nil
}

// join makes the node a member, with a token of its own.
func (r *restoring) join(v catalog.View, now catalog.Cluster) (catalog.Command, bool, error) {
	if _, err := v.JoinToken(r.token); r.token == "" || errors.Is(err, catalog.ErrNotFound) {
		r.secret = make([]byte, 32)
		id := make([]byte, 6)
		_, _ = rand.Read(r.secret)
		_, _ = rand.Read(id)
		r.token = hex.EncodeToString(id)
		clock, err := v.Clock()
		if err != nil {
			return catalog.Command{}, false, err
		}
		at := max(clock, catalog.At(r.now))
		return r.command(catalog.CreateToken, catalog.JoinToken{ID: r.token,
			SecretHash: sha256.Sum256(r.secret),
			Replica:    r.self.Replica, Created: at, Expires: at + catalog.Time(time.Hour/time.Millisecond)})
	}
	joining := r.self
	joining.Name = newNode + hex.EncodeToString(r.secret[:6])
	return r.command(catalog.JoinMember, catalog.Joining{Token: r.token, Secret: r.secret, Member: joining})
}

func (r *restoring) command(kind catalog.Kind, body any) (catalog.Command, bool, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return catalog.Command{}, false, fmt.Errorf("encode %s: %w", kind, err)
	}
	return catalog.Command{Version: 1, Kind: kind, At: catalog.At(r.now), Actor: string(r.self.ID),
			Body: text}, true,
		nil
}
