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
	secretsShown = 200 // of each kind
	secretsPage  = 100
)

// knownSecrets says which logins of jobs, templates and configurations a node can open, or may have opened before their
// jobs ended, and which of them nobody else can. A node that leaves gets no more of them, but nothing makes it forget
// these.
func knownSecrets(c Catalog, node catalog.NodeID) (known []string, err error) {
	err = c.View(func(v catalog.View) error {
		m, err := v.Member(node)
		if err != nil || m.Seal == nil {
			return err // without a key it could open nothing
		}
		o := opener{view: v, node: node}
		if o.members, err = v.Members(); err != nil {
			return err
		}
		for _, of := range []func() ([]string, error){o.templates, o.configurations, o.jobs} {
			some, err := of()
			if err != nil {
				return err
			}
			known = append(known, some...)
		}
		return nil
	})
	return known, err
}

// opener looks at what a node can open.
type opener struct {
	view    catalog.View
	node    catalog.NodeID
	members []catalog.Member
}

// opens reports whether a secret is sealed to the node, and whether no other node can open it.
func (o *opener) opens(x *catalog.Secret) (sealed, alone bool) {
	sealed = slices.ContainsFunc(x.Boxes, func(b catalog.Box) bool { return b.Node == o.node })
	others := slices.ContainsFunc(o.members, func(m catalog.Member) bool {
		return m.ID != o.node && m.Crawls && x.Box(&m) != nil
	})
	return sealed, sealed && !others
}

// knownList says of the first things what the node knows, and how many more there are. What only the node can open is
// said of all.
type knownList struct {
	known []string
	more  int
}

func (l *knownList) add(alone bool, text, lost string) {
	switch {
	case alone:
		l.known = append(l.known, text+"; no other node can open them: "+lost)
	case len(l.known) < secretsShown:
		l.known = append(l.known, text)
	default:
		l.more++
	}
}

func (l *knownList) all(of string) []string {
	if l.more > 0 {
		l.known = append(l.known, fmt.Sprintf("and logins of %d more %s", l.more, of))
	}
	return l.known
}

// templates says which templates have logins that the node can open.
func (o *opener) templates() ([]string, error) {
	in := catalog.HarvestsIn(o.view)
	all, err := in.Definitions(defined.Template)
	if err != nil {
		return nil, err
	}
	var out knownList
	for _, d := range all {
		versions, err := in.Versions(defined.Template, d.Name)
		if err != nil {
			return nil, err
		}
		opens, alone := false, false
		for i := range versions {
			if versions[i].Secret == "" {
				continue
			}
			x, err := o.view.Secret(versions[i].Secret)
			if err != nil {
				return nil, fmt.Errorf("secret of template %s: %w", d.Name, err)
			}
			sealed, only := o.opens(&x)
			opens, alone = opens || sealed, alone || only && versions[i].Number == d.Version
		}
		if opens {
			out.add(alone, fmt.Sprintf("it knows logins of template %s; change them at the sites", d.Name), giveAgain)
		}
	}
	return out.all("templates"), nil
}

// giveAgain is what is to be done about logins that nobody can open any more.
const giveAgain = "give them again"

// configurations says which configurations of domains have logins that the node can open. It looks through the
// secrets, which are far fewer than domains.
func (o *opener) configurations() ([]string, error) {
	var out knownList
	for after := ""; ; {
		page, err := o.view.Secrets(after, secretsPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			after = page[i].ID
			sealed, alone := o.opens(&page[i])
			if !sealed {
				continue
			}
			users, err := catalog.DomainsIn(o.view).ConfigurationsWith(page[i].ID, secretsPage)
			if err != nil {
				return nil, err
			}
			for _, user := range users {
				out.add(alone, fmt.Sprintf("it knows logins of configuration %s; change them at the site", user),
					giveAgain)
			}
		}
		if len(page) < secretsPage {
			return out.all("configurations"), nil
		}
	}
}

// jobs says of which jobs the node can open logins, or may have.
func (o *opener) jobs() ([]string, error) {
	var out knownList
	err := eachSealed(o.view, func(j *catalog.Job) error {
		spec, err := o.view.Head(j)
		if err != nil {
			return err
		}
		sealed := spec.Sealed()
		if len(sealed) == 0 {
			return nil
		}
		opens, alone, err := o.opensJob(j)
		if err == nil && opens {
			out.add(alone, fmt.Sprintf("it knows logins of job %d, %s; change them at the sites: %s", j.ID, spec.Name,
				strings.Join(sealed, ", ")), "without this one the job cannot run")
		}
		return err
	})
	return out.all("jobs"), err
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

// opensJob reports whether any of a job's secrets is sealed to the node, or is gone and may have been, and whether no
// other node can open one of them.
func (o *opener) opensJob(j *catalog.Job) (opens, alone bool, err error) {
	names := j.AllSecrets()
	for _, name := range names {
		x, err := o.view.Secret(name)
		if errors.Is(err, catalog.ErrNotFound) {
			opens = true
			continue
		}
		if err != nil {
			return false, false, err
		}
		sealed, only := o.opens(&x)
		opens, alone = opens || sealed, alone || only
	}
	return opens || len(names) == 0, alone, nil
}
