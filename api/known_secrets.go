package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
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
		if known, err = knownOfTemplates(v, node); err != nil {
			return err
		}
		return eachSealed(v, func(j *catalog.Job) error {
			spec, err := v.Head(j)
			if err != nil {
				return err
			}
			sealed := spec.Sealed()
			if len(sealed) == 0 {
				return nil
			}
			opens, err := mayHaveOpened(v, j, node)
			if err != nil || !opens {
				return err
			}
			if jobs++; jobs <= secretsShown {
				known = append(known, fmt.Sprintf("it knows logins of job %d, %s; change them at the sites: %s",
					j.ID, spec.Name, strings.Join(sealed, ", ")))
			}
			return nil
		})
	})
	if jobs > secretsShown {
		known = append(known, fmt.Sprintf("and logins of %d more jobs", jobs-secretsShown))
	}
	return known, err
}

// knownOfTemplates says which templates have logins that the node can open.
func knownOfTemplates(v catalog.View, node catalog.NodeID) (known []string, err error) {
	in := catalog.HarvestsIn(v)
	all, err := in.Definitions(defined.Template)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		versions, err := in.Versions(defined.Template, d.Name)
		if err != nil {
			return nil, err
		}
		opens := false
		for i := range versions {
			if versions[i].Secret == "" || opens {
				continue
			}
			x, err := v.Secret(versions[i].Secret)
			if err != nil {
				return nil, fmt.Errorf("secret of template %s: %w", d.Name, err)
			}
			opens = slices.ContainsFunc(x.Boxes, func(b catalog.Box) bool { return b.Node == node })
		}
		if opens {
			known = append(known, fmt.Sprintf("it knows logins of template %s; change them at the sites", d.Name))
		}
	}
	return known, nil
}

// eachSealed visits the jobs that have secrets or had some: those with parts are listed, the others are looked through.
func eachSealed(v catalog.View, visit func(*catalog.Job) error) error {
	for _, list := range []func(uint64, int) ([]catalog.Job, error){v.SealedJobs, v.OldJobs} {
		for after := uint64(0); ; {
			page, err := list(after, secretsPage)
			if err != nil {
				return err
			}
			for i := range page {
				after = page[i].ID
				if err := visit(&page[i]); err != nil {
					return err
				}
			}
			if len(page) < secretsPage {
				break
			}
		}
	}
	return nil
}

// mayHaveOpened reports whether any of a job's secrets is sealed to the node, or is gone and may have been.
func mayHaveOpened(v catalog.View, j *catalog.Job, node catalog.NodeID) (bool, error) {
	names := j.AllSecrets()
	for _, name := range names {
		x, err := v.Secret(name)
		if errors.Is(err, catalog.ErrNotFound) {
			return true, nil
		}
		if err != nil || slices.ContainsFunc(x.Boxes, func(b catalog.Box) bool { return b.Node == node }) {
			return true, err
		}
	}
	return len(names) == 0, nil
}
