package catalog

import (
	"bytes"
	"encoding/json"
	"slices"

	"holdfast/catalog/agree"
)

// Secret is what was parted from a job's settings: encrypted, and for each node that may open it a box with what opens it. The
// catalog never sees more. It goes when the job that it belongs to cannot run any more.
type Secret struct {
	ID      string `json:"id"` // random; what it is sealed about
	Text    []byte `json:"text"`
	Boxes   []Box  `json:"boxes"` // by node
	Created Time   `json:"created"`
}

// Box opens a secret for one node, with the key that the node had when it was made.
type Box struct {
	Node NodeID `json:"node"`
	Key  []byte `json:"key"`
	Box  []byte `json:"box"`
}

// Box returns the box that the member can open with its present key, or nil.
func (x *Secret) Box(m *Member) *Box {
	for i := range x.Boxes {
		if b := &x.Boxes[i]; b.Node == m.ID && m.Seal != nil && bytes.Equal(b.Key, m.Seal.Key) {
			return b
		}
	}
	return nil
}

// Sealing is the walk over the jobs from before level 2, whose secrets lay in the catalog in clear.
type Sealing struct {
	Jobs  uint64 `json:"jobs"`           // the number of the last of them
	After uint64 `json:"after"`          // the walk has come to this one
	Done  uint64 `json:"done,omitempty"` // the command of the log with which the last secret was gone from the catalog
}

// SealStep takes the walk on to job To. When that job has secrets, Job holds it without them.
type SealStep struct {
	After uint64     `json:"after"` // where the walk is
	To    uint64     `json:"to"`
	Job   *SealedJob `json:"job,omitempty"`
}

// SealedJob is a job's spec with references for its secrets. Without a Secret they are dropped: the job has ended for good.
type SealedJob struct {
	Spec   json.RawMessage `json:"spec"` // harvest.Job
	Secret *Secret         `json:"secret,omitempty"`
}

// SealAgain gives a secret's present boxes company: nodes that are to open it, too. Boxes of those who may not any more go.
type SealAgain struct {
	ID    string `json:"id"`
	Boxes []Box  `json:"boxes"`
}

// maxBoxes bounds the nodes that a secret is sealed to.
const maxBoxes = 1000

// checkSecret refuses a secret that is not sealed to members that crawl.
func (s *state) checkSecret(x *Secret) error {
	if err := agree.CheckName("secret", x.ID); err != nil {
		return err
	}
	if there, err := agree.Has(s, keySecret(x.ID)); err != nil || there {
		return agree.OrConflict(err, "there is a secret %s already", x.ID)
	}
	if len(x.Text) == 0 || len(x.Boxes) == 0 {
		return agree.Refuse(agree.Invalid, "a secret needs what is encrypted and a node that can open it")
	}
	return s.checkBoxes(x.Boxes)
}

func (s *state) checkBoxes(boxes []Box) error {
	if len(boxes) > maxBoxes {
		return agree.Refuse(agree.Invalid, "a secret for %d nodes: at most %d", len(boxes), maxBoxes)
	}
	for i := range boxes {
		b := &boxes[i]
		m, there, err := s.Member(b.Node)
		if err != nil || !there {
			return agree.OrNotFound(err, "no member %q to open a secret", agree.Clip(string(b.Node), 60))
		}
		if !opens(&m, b) {
			return agree.Refuse(agree.Conflict, "member %s does not crawl, or has another key for secrets by now", m.Name)
		}
		if len(b.Box) == 0 || len(b.Box) > 200 || i > 0 && boxes[i-1].Node >= b.Node {
			return agree.Refuse(agree.Invalid, "the boxes of a secret: want one for each node, in the order of their ids")
		}
	}
	return nil
}

// opens reports whether the member may open the box, and can.
func opens(m *Member, b *Box) bool {
	return m.Crawls && m.Seal != nil && bytes.Equal(m.Seal.Key, b.Key)
}

func (s *state) putSecret(x *Secret) error {
	x.Created = s.At
	return s.Set(keySecret(x.ID), x)
}

// dropSecret drops the secret of a job that cannot run any more.
func (s *state) dropSecret(j *Job) {
	if j.Secret != "" {
		s.Delete(keySecret(j.Secret))
		j.Secret = ""
	}
}

// sealAgain adds boxes to a secret.
func sealAgain(s *state, b *SealAgain) (any, error) {
	x, there, err := agree.Get[Secret](s, keySecret(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no secret %q", agree.Clip(b.ID, 64))
	}
	if err := s.checkBoxes(b.Boxes); err != nil {
		return nil, err
	}
	boxes := b.Boxes
	for _, old := range x.Boxes {
		m, there, err := s.Member(old.Node)
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

func compareIDs(a, b NodeID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// beginSealing begins the walk over the jobs that there are.
func (s *state) beginSealing() error {
	last, there, err := agree.Get[uint64](s, keyJobs)
	if err != nil || !there {
		return err
	}
	return s.Set(keySealing, Sealing{Jobs: last})
}

// sealNewJob lets a walk that is under way see the new job, too: it may be made of one that the walk has not come to.
func (s *state) sealNewJob(id uint64) error {
	w, there, err := agree.Get[Sealing](s, keySealing)
	if err != nil || !there || w.Done != 0 {
		return err
	}
	w.Jobs = id
	return s.Set(keySealing, w)
}

// sealStep takes the walk one step on.
func sealStep(s *state, b *SealStep) (any, error) {
	w, there, err := agree.Get[Sealing](s, keySealing)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no secrets of old jobs are to be sealed")
	}
	if w.Done != 0 || b.After != w.After || b.To <= w.After {
		return nil, agree.Refuse(agree.Conflict, "the walk has come to job %d", w.After)
	}
	if b.Job != nil {
		if err := s.sealJob(b.To, b.Job); err != nil {
			return nil, err
		}
	}
	w.After = min(b.To, w.Jobs)
	if w.After == w.Jobs {
		w.Done = s.Index
	}
	return nil, s.Set(keySealing, w)
}

// sealJob puts the spec without secrets in the place of the job's.
func (s *state) sealJob(id uint64, b *SealedJob) error {
	j, err := s.job(id)
	if err != nil {
		return err
	}
	if j.Secret != "" {
		return agree.Refuse(agree.Conflict, "the secrets of job %d are sealed already", id)
	}
	spec, err := readSpec(b.Spec)
	if err != nil {
		return err
	}
	j.Spec = spec
	ended := j.State == JobDone || j.State == JobFailedRejected || j.State == JobResubmitted
	switch {
	case b.Secret == nil && !ended:
		return agree.Refuse(agree.Unsafe, "job %d is %s: its secrets are needed", id, j.State)
	case b.Secret != nil && !ended:
		if err := s.checkSecret(b.Secret); err != nil {
			return err
		}
		if err := s.putSecret(b.Secret); err != nil {
			return err
		}
		j.Secret = b.Secret.ID
	}
	return s.putJob(j.State, j)
}

// Secret returns the secret, or ErrNotFound.
func (v View) Secret(id string) (Secret, error) {
	return agree.Found(agree.Get[Secret](v.rec, keySecret(id)))
}

// Secrets returns at most n secrets behind the given id.
func (v View) Secrets(after string, n int) ([]Secret, error) {
	return agree.List[Secret](v.rec, PrefixSecrets, after, n)
}

// Sealing returns the walk over the jobs from before level 2, or ErrNotFound when there were none.
func (v View) Sealing() (Sealing, error) { return agree.Found(agree.Get[Sealing](v.rec, keySealing)) }
