package duty

import (
	"errors"

	"holdfast/catalog"
)

// Reseal is a secret whose boxes are not those of the nodes that may open it.
type Reseal struct {
	Secret catalog.Secret
	To     []catalog.Member // nodes that crawl and have no box yet; none: only that boxes are to go
}

const secretPage = 100

// Reseals lists the secrets that node self has to seal again: for a node that joined, began to crawl or has a new
// key, or to remove the boxes of nodes that may no longer open them. Of the nodes that can do it, the first living
// one does. It seals only to nodes that may allows.
func Reseals(view catalog.View, self catalog.NodeID, alive, may func(catalog.NodeID) bool) ([]Reseal, error) {
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	var out []Reseal
	for after := ""; ; {
		secrets, err := view.Secrets(after, secretPage)
		if err != nil {
			return nil, err
		}
		for _, x := range secrets {
			if r, due := reseal(x, members, self, alive, may); due {
				out = append(out, r)
			}
		}
		if len(secrets) < secretPage {
			return out, nil
		}
		after = secrets[len(secrets)-1].ID
	}
}

func reseal(x catalog.Secret, members []catalog.Member, self catalog.NodeID, alive,
	may func(catalog.NodeID) bool) (Reseal, bool) {
	out, boxes, first := Reseal{Secret: x}, 0, catalog.NodeID("")
	for i := range members {
		m := &members[i]
		switch {
		case !m.Crawls || m.Seal == nil:
		case x.Box(m) == nil:
			if may(m.ID) {
				out.To = append(out.To, *m)
			}
		default:
			boxes++
			if first == "" && (m.ID == self || alive(m.ID)) {
				first = m.ID
			}
		}
	}
	return out, first == self && self != "" && (len(out.To) > 0 || boxes < len(x.Boxes))
}

// CanOpen reports whether the node can open all of the job's secrets, or the job has none.
func CanOpen(view catalog.View, j *catalog.Job, self catalog.NodeID) (bool, error) {
	names := j.AllSecrets()
	if len(names) == 0 {
		return true, nil
	}
	m, err := view.Member(self)
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, name := range names {
		x, err := view.Secret(name)
		if errors.Is(err, catalog.ErrNotFound) {
			return false, nil
		}
		if err != nil || x.Box(&m) == nil {
			return false, err
		}
	}
	return true, nil
}
