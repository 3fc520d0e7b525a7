package notices

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/duty"
	"holdfast/internal/seal"
)

// Hook is what is secret about a webhook: its URL often has a token in it.
type Hook struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// ErrNobodyOpens reports that no member has a key for secrets yet.
var ErrNobodyOpens = errors.New("no node has published a key for secrets yet; if secrets-to is set in this node's " +
	"cluster.toml, only the nodes that it names count")

// Secrets seals what is secret about webhooks to the members, and opens what is sealed to this node.
type Secrets struct {
	Self catalog.NodeID
	Key  seal.Key
	Only []catalog.NodeID // that secrets are sealed to, as this node's operator said; none: all members
	View func(func(catalog.View) error) error
}

// about is what a secret is sealed about, so that none stands in for another.
func about(id string) string { return "holdfast/notice-secret/1\x00" + id }

func (s *Secrets) may(node catalog.NodeID) bool {
	return len(s.Only) == 0 || slices.Contains(s.Only, node)
}

// Seal seals a webhook to the members.
func (s *Secrets) Seal(hook Hook) (*agreed.Sealed, error) {
	var to []catalog.Member
	err := s.View(func(v catalog.View) error {
		members, err := v.Members()
		to = slices.DeleteFunc(members, func(m catalog.Member) bool { return !proven(&m) || !s.may(m.ID) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the members: %w", err)
	}
	if len(to) == 0 {
		return nil, ErrNobodyOpens
	}
	text, err := json.Marshal(hook)
	if err != nil {
		return nil, fmt.Errorf("encode a webhook: %w", err)
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	id := hex.EncodeToString(random)
	sealed, err := seal.Seal(text, about(id), keysOf(to))
	if err != nil {
		return nil, err
	}
	return &agreed.Sealed{ID: id, Text: sealed.Text, Boxes: boxesOf(to, sealed.Boxes)}, nil
}

// proven reports whether the member has a key for secrets that its own key vouches for.
func proven(m *catalog.Member) bool { return m.Seal != nil && m.Seal.Proved(m.Key) }

func keysOf(members []catalog.Member) (keys [][]byte) {
	for i := range members {
		keys = append(keys, members[i].Seal.Key)
	}
	return keys
}

// boxesOf names the nodes that boxes are for, in the order of their ids.
func boxesOf(members []catalog.Member, boxes [][]byte) (out []agreed.Box) {
	for i := range members {
		out = append(out, agreed.Box{Node: members[i].ID, Key: members[i].Seal.Key, Box: boxes[i]})
	}
	slices.SortFunc(out, func(a, b agreed.Box) int { return strings.Compare(string(a.Node), string(b.Node)) })
	return out
}

// box returns the box that this node can open, nil if there is none.
func (s *Secrets) box(x *agreed.Sealed) *agreed.Box {
	if x == nil {
		return nil
	}
	for i := range x.Boxes {
		if b := &x.Boxes[i]; b.Node == s.Self && slices.Equal(b.Key, s.Key.Public()) {
			return b
		}
	}
	return nil
}

// Open returns a webhook that is sealed to this node.
func (s *Secrets) Open(x *agreed.Sealed) (hook Hook, err error) {
	box := s.box(x)
	if box == nil {
		return hook, fmt.Errorf("%w: it was sealed to other nodes", seal.ErrSealed)
	}
	text, err := s.Key.Open(x.Text, box.Box, about(x.ID))
	if err == nil {
		err = json.Unmarshal(text, &hook)
	}
	return hook, err
}

// reseal gives secrets that this node can open to members that lack them.
func (n *Notices) reseal(ctx context.Context) error {
	s := &n.cfg.Secrets
	var due []duty.AddressSecret
	err := n.cfg.Agreement.View(func(v catalog.View) (err error) {
		due, err = duty.AddressSecrets(v, n.cfg.Self, n.cfg.Alive, s.may)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for secrets of webhooks to seal: %w", err)
	}
	for i := range due {
		d := &due[i]
		again := agreed.Resealing{Name: d.Address, ID: d.Sealed.ID}
		to := slices.DeleteFunc(slices.Clone(d.To), func(m catalog.Member) bool { return !proven(&m) })
		box := s.box(&d.Sealed)
		if len(to) > 0 && box != nil {
			boxes, err := s.Key.Again(box.Box, about(d.Sealed.ID), keysOf(to))
			if err != nil {
				return fmt.Errorf("seal the secret of address %s again: %w", d.Address, err)
			}
			again.Boxes = boxesOf(to, boxes)
		}
		if _, err := n.propose(ctx, agreed.SealAgain, again); err != nil {
			return err
		}
	}
	return nil
}
