package jobs

import (
	"bytes"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Secret is the secret part of a job's settings: encrypted, with a box for each node that may open it. The catalog
// never sees it in clear. It is deleted when nothing uses it any more; a job that can no longer run uses none.
type Secret struct {
	ID      string     `json:"id"` // random; the secret is sealed with it
	Text    []byte     `json:"text"`
	Boxes   []Box      `json:"boxes"` // by node
	Created agree.Time `json:"created"`
}

// Box opens a secret for one node, with the key that the node had when it was made.
type Box struct {
	Node agree.NodeID `json:"node"`
	Key  []byte       `json:"key"`
	Box  []byte       `json:"box"`
}

// Box returns the box that the member can open with its present key, or nil.
func (x *Secret) Box(m *cluster.Member) *Box {
	for i := range x.Boxes {
		if b := &x.Boxes[i]; b.Node == m.ID && m.Seal != nil && bytes.Equal(b.Key, m.Seal.Key) {
			return b
		}
	}
	return nil
}

// maxBoxes bounds the nodes that a secret is sealed to.
const maxBoxes = 1000

// checkSecret refuses a secret that is not sealed to members that crawl.
func checkSecret(s *agree.State, x *Secret) error {
	if err := agree.CheckName("secret", x.ID); err != nil {
		return err
	}
	if there, err := agree.Has(s, keySecret(x.ID)); err != nil || there {
		return agree.OrConflict(err, "there is a secret %s already", x.ID)
	}
	if len(x.Text) == 0 || len(x.Boxes) == 0 {
		return agree.Refuse(agree.Invalid, "a secret needs what is encrypted and a node that can open it")
	}
	return checkBoxes(s, x.Boxes)
}

func checkBoxes(s *agree.State, boxes []Box) error {
	if len(boxes) > maxBoxes {
		return agree.Refuse(agree.Invalid, "a secret for %d nodes: at most %d", len(boxes), maxBoxes)
	}
	for i := range boxes {
		b := &boxes[i]
		m, there, err := cluster.In(s).Member(b.Node)
		if err != nil || !there {
			return agree.OrNotFound(err, "no member %q to open a secret", agree.Clip(string(b.Node), 60))
		}
		if !opens(&m, b) {
			return agree.Refuse(agree.Conflict, "member %s does not crawl, or has another key for secrets by now",
				m.Name)
		}
		if len(b.Box) == 0 || len(b.Box) > 200 || i > 0 && boxes[i-1].Node >= b.Node {
			return agree.Refuse(agree.Invalid,
				"the boxes of a secret: want one for each node, in the order of their ids")
		}
	}
	return nil
}

// opens reports whether the member may open the box, and can.
func opens(m *cluster.Member, b *Box) bool {
	return m.Crawls && m.Seal != nil && bytes.Equal(m.Seal.Key, b.Key)
}

// sealAgain adds boxes to a secret.
func sealAgain(s *agree.State, b *SealAgain) (any, error) {
	x, there, err := agree.Get[Secret](s, keySecret(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no secret %q", agree.Clip(b.ID, 64))
	}
	if err := checkBoxes(s, b.Boxes); err != nil {
		return nil, err
	}
	boxes := b.Boxes
	for _, old := range x.Boxes {
		m, there, err := cluster.In(s).Member(old.Node)
		if err != nil {
			return nil, err
		}
		replaced := slices.ContainsFunc(b.Boxes, func(n Box) bool { return n.Node == old.Node })
		if there && !replaced && opens(&m, &old) {
			boxes = append(boxes, old)
		}
	}
	if len(boxes) == 0 {
		return nil, agree.Refuse(agree.Unsafe, "nobody could open secret %s any more", x.ID)
	}
	slices.SortFunc(boxes, func(a, b Box) int { return compareIDs(a.Node, b.Node) })
	x.Boxes = boxes
	return nil, s.Set(keySecret(x.ID), x)
}

func compareIDs(a, b agree.NodeID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
