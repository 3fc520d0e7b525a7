package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Limits on the list of secrets that a node knew.
const (
	secretsShown = 200 // jobs
	secretsPage  = 100
)

// knownSecrets says which logins of jobs a node can open, or may have opened before their jobs ended. A node that
// leaves gets no more of them, but nothing makes it forget these.
func knownSecrets(c Catalog, node catalog.NodeID) (known []string, err error) {
	jobs := 0
	err = c.View(func(v catalog.View) error {
		m, err := v.Member(node)
		if err != nil || m.Seal == nil {
			return err // without a key it could open nothing
		}
		for after := uint64(0); ; {
			page, err := v.Jobs("", after, secretsPage)
			if err != nil {
				return err
			}
			for i := range page {
				j := &page[i]
				after = j.ID
				sealed := j.Spec.Sealed()
				if len(sealed) == 0 {
					continue
				}
				opens, err := mayHaveOpened(v, j, node)
				if err != nil {
					return err
				}
				if !opens {
					continue
				}
				if jobs++; jobs <= secretsShown {
					known = append(known, fmt.Sprintf("it knows logins of job %d, %s; change them at the sites: %s",
						j.ID, j.Spec.Name, strings.Join(sealed, ", ")))
				}
			}
			if len(page) < secretsPage {
				return nil
			}
		}
	})
	if jobs > secretsShown {
		known = append(known, fmt.Sprintf("and logins of %d more jobs", jobs-secretsShown))
	}
	return known, err
}

// mayHaveOpened reports whether a job's secrets are sealed to the node, or are gone and may have been.
func mayHaveOpened(v catalog.View, j *catalog.Job, node catalog.NodeID) (bool, error) {
	if j.Secret == "" {
		return true, nil
	}
	x, err := v.Secret(j.Secret)
	if errors.Is(err, catalog.ErrNotFound) {
		return true, nil
	}
	return slices.ContainsFunc(x.Boxes, func(b catalog.Box) bool { return b.Node == node }), err
}
