// Package vault keeps the secrets of jobs (passwords, cookies, logins): it seals them to the nodes that crawl, opens
// those that are sealed to this node, and gives them to nodes that begin to crawl.
package vault

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/harvest"
	"holdfast/internal/seal"
)

// Level is the level of a cluster that knows secrets.
const Level = 2

// Agreement is what the vault reads and decides.
type Agreement interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
	Purge(ctx context.Context, index uint64) error
}

// Config is what a vault is opened with.
type Config struct {
	Self   catalog.NodeID
	Crawls bool             // this node crawls
	Only   []catalog.NodeID // that secrets are sealed to, as this node's operator said; none: all that crawl
	Key    seal.Key
	Proved catalog.SealKey // the key's public half, signed
	Agree  Agreement
	// What Agree answers when nobody decides now, and when older decisions are still on this disk.
	NoQuorum, NotPurged error
	Alive               func(catalog.NodeID) bool
	Local               func() (catalog.AccessToken, error) // the node's local token, as it is now
	Log                 *slog.Logger
}

// Vault is a node's part in the keeping of secrets. Its methods may be called at the same time.
type Vault struct {
	cfg     Config
	trouble atomic.Pointer[error] // of the latest round
}

// New returns the vault of a node.
func New(cfg Config) *Vault { return &Vault{cfg: cfg} }

// Watched are the prefixes of the catalog whose changes Run is to be told of.
func Watched() []string {
	return []string{catalog.PrefixMembers, catalog.PrefixCluster, catalog.PrefixSealing}
}

// lookEvery is how often the vault looks whether something is to be sealed, beside each change of the members.
const lookEvery = 15 * time.Second

// Run publishes this node's key and seals what it can open to nodes that are to open it, too, until ctx ends.
func (v *Vault) Run(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := v.Round(ctx)
		v.trouble.Store(&err)
		if err != nil && ctx.Err() == nil && !errors.Is(err, v.cfg.NoQuorum) {
			v.cfg.Log.Warn("secrets are not all sealed as they should be", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-tick.C:
		}
	}
}

// Round does once what is to be done in a cluster that knows secrets.
func (v *Vault) Round(ctx context.Context) error {
	level, err := v.level()
	if err != nil || level < Level {
		return err
	}
	return errors.Join(v.publish(ctx), v.reseal(ctx), v.sealOld(ctx), v.purge(ctx))
}

// level returns the cluster's level, 0 while this node does not know it.
func (v *Vault) level() (level int, err error) {
	err = v.cfg.Agree.View(func(view catalog.View) error {
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
func (v *Vault) publish(ctx context.Context) error {
	var m catalog.Member
	err := v.cfg.Agree.View(func(view catalog.View) (err error) { m, err = view.Member(v.cfg.Self); return err })
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read this node's entry in the member list: %w", err)
	}
	change := catalog.MemberChange{ID: v.cfg.Self}
	if m.Seal == nil || !slices.Equal(m.Seal.Key, v.cfg.Proved.Key) {
		change.Seal = &v.cfg.Proved
	}
	if m.Crawls != v.cfg.Crawls {
		change.Crawls = &v.cfg.Crawls
	}
	local, err := v.cfg.Local()
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
func (v *Vault) decide(ctx context.Context, kind catalog.Kind, body any) error {
	result, err := v.cfg.Agree.Propose(ctx, kind, body, string(v.cfg.Self))
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	if err != nil {
		return fmt.Errorf("propose %s: %w", kind, err)
	}
	return nil
}

// reseal gives the secrets that this node can open to the nodes that lack them.
func (v *Vault) reseal(ctx context.Context) error {
	var due []duty.Reseal
	err := v.cfg.Agree.View(func(view catalog.View) (err error) {
		due, err = duty.Reseals(view, v.cfg.Self, v.cfg.Alive, v.may)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for secrets to seal: %w", err)
	}
	var failed error
	for _, r := range due {
		again := catalog.SealAgain{ID: r.Secret.ID}
		i := slices.IndexFunc(r.Secret.Boxes, func(b catalog.Box) bool { return b.Node == v.cfg.Self })
		to := proven(r.To)
		if i >= 0 && len(to) > 0 {
			boxes, err := v.cfg.Key.Again(r.Secret.Boxes[i].Box, about(r.Secret.ID), sealKeys(to))
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

// ErrNobodyOpens reports that no node that crawls has a key for secrets yet.
var ErrNobodyOpens = errors.New("the job has secrets (passwords, cookies or logins), and no node that crawls " +
	"has published a key for them yet; if secrets-to is set in this node's cluster.toml, " +
	"only the nodes that it names count")

// Seal parts a job from its secrets and seals these to the nodes that crawl. In a cluster of level 1 nothing can be
// sealed, and a job with secrets is refused: they would lie in clear on every node.
func (v *Vault) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, secrets, err := job.Part()
	if err != nil || len(secrets) == 0 {
		return open, nil, err
	}
	level, err := v.level()
	if err != nil {
		return open, nil, err
	}
	if level < Level {
		return open, nil, &catalog.Refusal{Code: catalog.Unsupported, Message: fmt.Sprintf(
			"the job has secrets (passwords, cookies or logins), which a cluster of level %d would store in clear; "+
				"raise the level: holdfast cluster level 2", level)}
	}
	sealed, err := v.seal(secrets)
	return open, sealed, err
}

func (v *Vault) seal(secrets harvest.Secrets) (*catalog.Secret, error) {
	var to []catalog.Member
	err := v.cfg.Agree.View(func(view catalog.View) error {
		members, err := view.Members()
		to = proven(slices.DeleteFunc(members, func(m catalog.Member) bool { return !m.Crawls || !v.may(m.ID) }))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the nodes that crawl: %w", err)
	}
	if len(to) == 0 {
		return nil, ErrNobodyOpens
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

// Open returns what a job crawls, put together from its parts, with its secrets.
func (v *Vault) Open(job catalog.Job) (spec harvest.Job, err error) {
	var sealed []catalog.Secret
	err = v.cfg.Agree.View(func(view catalog.View) error {
		if spec, err = view.Spec(&job); err != nil {
			return err
		}
		for _, id := range job.AllSecrets() {
			x, err := view.Secret(id)
			if err != nil {
				return fmt.Errorf("find the secrets of job %d: %w", job.ID, err)
			}
			sealed = append(sealed, x)
		}
		return nil
	})
	if err != nil || len(sealed) == 0 {
		return spec, err
	}
	all, twice := harvest.Secrets{}, []string{}
	for i := range sealed {
		secrets, err := v.unseal(&sealed[i])
		if err != nil {
			return harvest.Job{}, fmt.Errorf("open the secrets of job %d: %w", job.ID, err)
		}
		for name, value := range secrets {
			all[harvest.SecretOf(sealed[i].ID, name)] = value
			if _, there := all[name]; there {
				twice = append(twice, name)
			}
			all[name] = value
		}
	}
	for _, name := range twice { // only their names with the ids of their secrets say which is meant
		delete(all, name)
	}
	return spec.Join(all)
}

// unseal opens a secret that is sealed to this node.
func (v *Vault) unseal(x *catalog.Secret) (secrets harvest.Secrets, err error) {
	i := slices.IndexFunc(x.Boxes, func(b catalog.Box) bool {
		return b.Node == v.cfg.Self && slices.Equal(b.Key, v.cfg.Proved.Key)
	})
	if i < 0 {
		return nil, fmt.Errorf("%w: they were encrypted for other nodes", seal.ErrSealed)
	}
	text, err := v.cfg.Key.Open(x.Text, x.Boxes[i].Box, about(x.ID))
	if err == nil {
		err = json.Unmarshal(text, &secrets)
	}
	return secrets, err
}

// may reports whether this node's operator lets secrets be sealed to the node. A node says itself that it crawls, so
// that alone would let any member have them.
func (v *Vault) may(node catalog.NodeID) bool {
	return len(v.cfg.Only) == 0 || slices.Contains(v.cfg.Only, node)
}

// ignoreNotFound is nil for what the catalog does not have.
func ignoreNotFound(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}
