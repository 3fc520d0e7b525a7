package web

import (
	"context"
	"errors"

	"holdfast/api/wire"
)

// quarantinePage is what the nodes have set aside. Nil is not known.
type quarantinePage struct {
	Nodes []wire.NodeQuarantine `json:"nodes"`
}

func showQuarantine(ctx context.Context, v *visit) (any, error) {
	p := &quarantinePage{}
	v.ask(ctx, "web.quarantine", later, func(ctx context.Context) (err error) {
		p.Nodes, err = v.api.Files().Quarantine(ctx)
		return err
	})
	v.wait()
	return p, nil
}

// called is by what a node is named in paths: its name, or its id if it has none.
func called(name, id string) string {
	if name != "" {
		return name
	}
	return id
}

// NodeCalled is by what a node is named in paths and on pages.
func (ofCopies) NodeCalled(name, id string) string { return called(name, id) }

// errNotTold is what a form gets that is about bytes of a node which does not say what it has.
var errNotTold = errors.New("the node does not tell what it has")

// stray finds the bytes that a form is about. That they are not there is said only by a node that listed all it has.
func (v *visit) stray(ctx context.Context) (wire.Stray, error) {
	nodes, err := v.api.Files().Strays(ctx)
	if err != nil {
		return wire.Stray{}, err
	}
	for _, n := range nodes {
		if called(n.Name, n.Node) != v.given["name"] {
			continue
		}
		for _, s := range n.Strays {
			if s.Name == v.given["file"] {
				return s, nil
			}
		}
		if n.Unreachable != "" || n.Fault != "" || n.Files > len(n.Strays) {
			return wire.Stray{}, errNotTold
		}
	}
	return wire.Stray{}, wire.ErrNotFound
}

func askAdopt(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["file"]
	s, err := v.stray(ctx)
	if err != nil {
		return nil, err
	}
	collections, err := collectionsOf(ctx, v)
	f := &form{Help: "web.adopt-help", Effects: []said{
		{"web.effect-stray", []any{"size", size(s.Size), "node", v.given["name"], "path", s.Path}},
		{"web.effect-stray-is", []any{"what", s.State}}}}
	return f.add(field{Name: "collection", Label: "web.collection", Kind: choose, Help: "web.adopt-collection-help",
		Options: namedOptions("web.adopt-known", collections)},
		field{Name: "sha256", Plain: "SHA-256", Most: 64, Help: "web.adopt-sum-help"}), err
}

func adopt(ctx context.Context, v *visit, f *form) (outcome, error) {
	file, err := v.api.Files().Adopt(ctx, v.given["name"], v.given["file"],
		wire.Adoption{Collection: f.text("collection"), SHA256: f.text("sha256")})
	return outcome{Next: way("files", file.Name), Notes: []said{{Key: "web.did-adopt"}}}, err
}

func askSetAside(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["file"]
	s, err := v.stray(ctx)
	f := &form{Help: "web.set-aside-help", Effects: []said{
		{"web.effect-stray", []any{"size", size(s.Size), "node", v.given["name"], "path", s.Path}},
		{"web.effect-stray-is", []any{"what", s.State}}}}
	return f.add(reason(true)), err
}

func setAside(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/quarantine", Notes: []said{{Key: "web.did-set-aside"}}},
		v.api.Files().SetAside(ctx, v.given["name"], v.given["file"], f.text("reason"))
}

// aside finds the bytes that a form is about, as the node's list has them.
func (v *visit) aside(ctx context.Context) (wire.Aside, error) {
	nodes, err := v.api.Files().Quarantine(ctx)
	if err != nil {
		return wire.Aside{}, err
	}
	for _, n := range nodes {
		if called(n.Name, n.Node) != v.given["name"] {
			continue
		}
		for _, a := range n.Aside {
			if a.ID == v.given["id"] {
				return a, nil
			}
		}
		if n.Unreachable != "" || n.Fault != "" || n.Files > len(n.Aside) {
			return wire.Aside{}, errNotTold
		}
	}
	return wire.Aside{}, wire.ErrNotFound
}

// effectsOfAside say what the bytes are, and how many good copies the archive has besides them.
func effectsOfAside(v *visit, a wire.Aside) []said {
	return []said{{"web.effect-stray", []any{"size", size(a.Size), "node", v.given["name"], "path", a.Path}},
		{"web.effect-stray-is", []any{"what", a.State}}, {"web.effect-aside-good", []any{"count", a.Good}}}
}

func askRestoreAside(ctx context.Context, v *visit) (*form, error) {
	a, err := v.aside(ctx)
	v.about = a.Name
	return &form{Help: "web.aside-restore-help", Effects: effectsOfAside(v, a)}, err
}

func restoreAside(ctx context.Context, v *visit, _ *form) (outcome, error) {
	return outcome{Next: "/quarantine", Notes: []said{{Key: "web.did-restore-aside"}}},
		v.api.Files().RestoreAside(ctx, v.given["name"], v.given["id"])
}

// askDeleteAside has the SHA-256 of the bytes that are shown: the node reads them for it, and deletes no others.
func askDeleteAside(ctx context.Context, v *visit) (*form, error) {
	a, err := v.aside(ctx)
	if err == nil && a.SHA256 == "" && v.query.Get("sha256") == "" {
		a, err = v.api.Files().ShowAside(ctx, v.given["name"], v.given["id"])
	}
	v.about = a.Name
	f := &form{Help: "web.aside-delete-help", Confirm: a.Name, Grave: true, Effects: effectsOfAside(v, a)}
	if a.Kept != "" {
		f.Faults = append(f.Faults, formFault{Message: "web.aside-kept", Detail: a.Kept})
	}
	return f.add(field{Name: "sha256", Kind: hidden, Value: a.SHA256}, reason(true)), err
}

func deleteAside(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: "/quarantine", Notes: []said{{Key: "web.did-delete-aside"}}},
		v.api.Files().DeleteAside(ctx, v.given["name"], v.given["id"],
			wire.AsideRemoval{SHA256: f.text("sha256"), Reason: f.text("reason")})
}
