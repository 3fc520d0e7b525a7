package node

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/peer"
	"holdfast/raft"
)

// sealLevel is the level of a cluster that knows secrets.
const sealLevel = 2

// agreement is what the vault reads and decides.
type agreement interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
	Purge(ctx context.Context, index uint64) error
}

// vault seals the secrets of jobs to the nodes that crawl, opens those that are sealed to this node, and gives them to nodes that
// begin to crawl.
type vault struct {
	self   catalog.NodeID
	crawls bool             // this node crawls
	only   []catalog.NodeID // that secrets are sealed to, as this node's operator said; none: all that crawl
	key    seal.Key
	proved catalog.SealKey // the key's public half, signed
	agree  agreement
	alive  func(catalog.NodeID) bool
	local  func() (catalog.AccessToken, error) // the node's local token, as it is now
	log    *slog.Logger

	trouble atomic.Pointer[error] // of the latest round
}

func (c folder) sealKeyPath() string { return filepath.Join(c.IdentityDir(), "seal.key") }

// sealKey reads the node's key for secrets, or makes one; it is readable by the node's user alone. A key that is there but cannot be
// read is an error: what is sealed to it would be lost.
func (c folder) sealKey(d disk.Disk) (seal.Key, error) {
	text, err := os.ReadFile(c.sealKeyPath())
	if err == nil {
		return seal.ParseKey(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return seal.Key{}, fmt.Errorf("read the key for secrets: %w", err)
	}
	key, err := seal.NewKey()
	if err != nil {
		return seal.Key{}, err
	}
	if text, err = key.PEM(); err != nil {
		return seal.Key{}, err
	}
	return key, d.WriteFileMode(c.sealKeyPath(), 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// vaultLook is how often the vault looks whether something is to be sealed, beside each change of the members.
const vaultLook = 15 * time.Second

// run publishes this node's key and seals what it can open to nodes that are to open it, too, until ctx ends.
func (v *vault) run(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(vaultLook)
	defer tick.Stop()
	for {
		err := v.round(ctx)
		v.trouble.Store(&err)
		if err != nil && ctx.Err() == nil && !errors.Is(err, raft.ErrNoQuorum) {
			v.log.Warn("secrets are not all sealed as they should be", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-tick.C:
		}
	}
}

func (v *vault) round(ctx context.Context) error {
	level, err := v.level()
	if err != nil || level < sealLevel {
		return err
	}
	return errors.Join(v.publish(ctx), v.reseal(ctx), v.sealOld(ctx), v.purge(ctx))
}

// level returns the cluster's level, 0 while this node does not know it.
func (v *vault) level() (level int, err error) {
	err = v.agree.View(func(view catalog.View) error {
		cluster, err := view.Cluster()
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		level = cluster.Level
		return err
	})
	return level, err
}

// publish tells the cluster whether this node crawls, and its key, when it knows otherwise.
func (v *vault) publish(ctx context.Context) error {
	var m catalog.Member
	err := v.agree.View(func(view catalog.View) (err error) { m, err = view.Member(v.self); return err })
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read this node's entry in the member list: %w", err)
	}
	change := catalog.MemberChange{ID: v.self}
	if m.Seal == nil || !slices.Equal(m.Seal.Key, v.proved.Key) {
		change.Seal = &v.proved
	}
	if m.Crawls != v.crawls {
		change.Crawls = &v.crawls
	}
	local, err := v.local()
	if err != nil {
		return err
	}
	if m.Local != local.SecretHash {
		change.Local = &local.SecretHash
	}
	if change.Seal == nil && change.Crawls == nil && change.Local == nil {
		return nil
	}
	return v.decide(ctx, catalog.UpdateMember, change)
}

// decide proposes; a refusal is an error.
func (v *vault) decide(ctx context.Context, kind catalog.Kind, body any) error {
	result, err := v.agree.Propose(ctx, kind, body, string(v.self))
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	if err != nil {
		return fmt.Errorf("propose %s: %w", kind, err)
	}
	return nil
}

// reseal gives the secrets that this node can open to the nodes that lack them.
func (v *vault) reseal(ctx context.Context) error {
	var due []duty.Reseal
	err := v.agree.View(func(view catalog.View) (err error) { due, err = duty.Reseals(view, v.self, v.alive, v.may); return err })
	if err != nil {
		return fmt.Errorf("look for secrets to seal: %w", err)
	}
	var failed error
	for _, r := range due {
		again := catalog.SealAgain{ID: r.Secret.ID}
		i := slices.IndexFunc(r.Secret.Boxes, func(b catalog.Box) bool { return b.Node == v.self })
		to := proven(r.To)
		if i >= 0 && len(to) > 0 {
			boxes, err := v.key.Again(r.Secret.Boxes[i].Box, about(r.Secret.ID), sealKeys(to))
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("seal secret %s again: %w", r.Secret.ID, err))
				continue
			}
			again.Boxes = boxesOf(to, boxes)
		}
		failed = errors.Join(failed, v.decide(ctx, catalog.SealToNodes, again))
	}
	return failed
}

// about is what a secret is sealed about, so that none stands in for another.
func about(id string) string { return "holdfast/job-secret/1\x00" + id }

// proven leaves out members whose own key does not vouch for their key for secrets.
func proven(members []catalog.Member) []catalog.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m catalog.Member) bool { return !m.Seal.Proved(m.Key) })
}

func sealKeys(members []catalog.Member) (keys [][]byte) {
	for _, m := range members {
		keys = append(keys, m.Seal.Key)
	}
	return keys
}

// boxesOf names the nodes that boxes are for, in the order of their ids.
func boxesOf(members []catalog.Member, boxes [][]byte) (out []catalog.Box) {
	for i, m := range members {
		out = append(out, catalog.Box{Node: m.ID, Key: m.Seal.Key, Box: boxes[i]})
	}
	slices.SortFunc(out, func(a, b catalog.Box) int { return strings.Compare(string(a.Node), string(b.Node)) })
	return out
}

// errNobodyOpens reports that no node that crawls has a key for secrets yet.
var errNobodyOpens = fmt.Errorf("%w: the job has secrets, and no node that crawls (and that secrets-to in this node's cluster.toml names, if it names any) "+
	"has published a key to seal them to yet", api.ErrUnavailable)

// Seal parts a job from its secrets and seals these to the nodes that crawl. In a cluster of level 1 nothing can be sealed, and
// a job with secrets is refused: they would lie in clear on every node.
func (v *vault) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, secrets, err := job.Part()
	if err != nil || len(secrets) == 0 {
		return open, nil, err
	}
	level, err := v.level()
	if err != nil {
		return open, nil, err
	}
	if level < sealLevel {
		return open, nil, &catalog.Refusal{Code: catalog.Unsupported, Message: "the job has secrets (passwords, cookies or logins), which a cluster of level " +
			fmt.Sprint(level) + " would store in clear; raise the level: holdfast cluster level 2"}
	}
	sealed, err := v.seal(secrets)
	return open, sealed, err
}

func (v *vault) seal(secrets harvest.Secrets) (*catalog.Secret, error) {
	var to []catalog.Member
	err := v.agree.View(func(view catalog.View) error {
		members, err := view.Members()
		to = proven(slices.DeleteFunc(members, func(m catalog.Member) bool { return !m.Crawls || !v.may(m.ID) }))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the nodes that crawl: %w", err)
	}
	if len(to) == 0 {
		return nil, errNobodyOpens
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	id := hex.EncodeToString(random)
	sealed, err := seal.Seal(text, about(id), sealKeys(to))
	if err != nil {
		return nil, err
	}
	return &catalog.Secret{ID: id, Text: sealed.Text, Boxes: boxesOf(to, sealed.Boxes)}, nil
}

// open returns a job's spec with its secrets.
func (v *vault) open(job catalog.Job) (harvest.Job, error) {
	if job.Secret == "" {
		return job.Spec, nil
	}
	var x catalog.Secret
	err := v.agree.View(func(view catalog.View) (err error) { x, err = view.Secret(job.Secret); return err })
	if err != nil {
		return harvest.Job{}, fmt.Errorf("find the secrets of job %d: %w", job.ID, err)
	}
	i := slices.IndexFunc(x.Boxes, func(b catalog.Box) bool { return b.Node == v.self && slices.Equal(b.Key, v.proved.Key) })
	if i < 0 {
		return harvest.Job{}, fmt.Errorf("open the secrets of job %d: %w: they are not sealed to this node's key", job.ID, seal.ErrSealed)
	}
	text, err := v.key.Open(x.Text, x.Boxes[i].Box, about(x.ID))
	if err != nil {
		return harvest.Job{}, fmt.Errorf("open the secrets of job %d: %w", job.ID, err)
	}
	var secrets harvest.Secrets
	if err := json.Unmarshal(text, &secrets); err != nil {
		return harvest.Job{}, fmt.Errorf("read the secrets of job %d: %w", job.ID, err)
	}
	return job.Spec.Join(secrets)
}

// may reports whether this node's operator lets secrets be sealed to the node. A node says itself that it crawls, so that
// alone would let any member have them.
func (v *vault) may(node catalog.NodeID) bool {
	return len(v.only) == 0 || slices.Contains(v.only, node)
}

// ignoreNotFound is nil for what the catalog does not have.
func ignoreNotFound(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// proveKey returns the public half of a key for secrets, signed by the node's own key.
func proveKey(id peer.Identity, key seal.Key) *catalog.SealKey {
	return &catalog.SealKey{Key: key.Public(), Proof: ed25519.Sign(id.Key, catalog.SealStatement(key.Public()))}
}

func (n *Node) openVault() error {
	id, err := n.cfg.ownIdentity()
	if err != nil {
		return err
	}
	key, err := n.cfg.sealKey(n.disk)
	if err != nil {
		return err
	}
	n.vault = &vault{self: n.id, crawls: n.cfg.Limits.Crawls > 0, only: secretsTo(n.cfg.SecretsTo), key: key, proved: *proveKey(id, key), agree: n.raft, alive: n.isAlive, local: n.token.access,
		log: n.log.With("room", "vault")}
	return nil
}

// secretsTo returns the nodes of which cluster.toml gives the ids.
func secretsTo(ids []string) (out []catalog.NodeID) {
	for _, id := range ids {
		out = append(out, catalog.NodeID(id))
	}
	return out
}

// seal runs the vault.
func (n *Node) seal(ctx context.Context) error {
	watch := n.raft.Watch(catalog.PrefixMembers, catalog.PrefixCluster, catalog.PrefixSealing)
	defer watch.Close()
	return n.vault.run(ctx, watch.C)
}
