package cli

import (
	"context"
	"regexp"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// Tables show names; ids are for programs, with --json.

// namesOf are the names of nodes by their ids.
func namesOf(nodes []wire.Node) map[string]string {
	names := make(map[string]string, len(nodes))
	for _, n := range nodes {
		names[n.ID] = n.Name
	}
	return names
}

// nodeNames asks for the names of the nodes.
func nodeNames(ctx context.Context, c *client.Client) (map[string]string, error) {
	nodes, err := c.Nodes().List(ctx)
	return namesOf(nodes), err
}

// nameOf returns a node's name, or the beginning of its id if it is no longer a member.
func nameOf(names map[string]string, id string) string {
	if name := names[id]; name != "" || id == "" {
		return name
	}
	return short(id) + " (no member)"
}

// nodeIDs matches ids of nodes in a text.
func nodeIDs() *regexp.Regexp { return regexp.MustCompile(`\b[a-z2-7]{52}\b`) }

// named replaces the ids of nodes in a text by their names.
func named(names map[string]string, text string) string {
	return nodeIDs().ReplaceAllStringFunc(text, func(id string) string { return nameOf(names, id) })
}

// trailNames are the names of nodes, people and programs according to the audit trail, which also has removed ones.
type trailNames struct {
	ids   *regexp.Regexp
	names map[string]string // of nodes and access tokens, by id
}

func newTrailNames(nodes map[string]string) trailNames {
	t := trailNames{ids: nodeIDs(), names: map[string]string{}}
	for id, name := range nodes {
		t.names[id] = name
	}
	return t
}

// show returns the event with names for ids.
func (t trailNames) show(e wire.Event) wire.Event {
	switch catalog.Kind(e.Act) {
	case catalog.JoinMember, catalog.UpdateMember, catalog.RemoveMember, catalog.CreateAccess, catalog.RevokeAccess,
		catalog.MakeToken, catalog.TakeToken:
		if text, ok := strings.CutPrefix(e.Detail, "name="); ok {
			for _, next := range []string{" replica=", " weight=", " lost=", " role=", " owner="} {
				text, _, _ = strings.Cut(text, next)
			}
			t.names[e.Subject] = text
		}
	}
	if name := t.names[e.Subject]; name != "" {
		e.Subject = name
		e.Detail = strings.TrimSpace(strings.TrimPrefix(e.Detail, "name="+name))
	}
	if e.ActorName != "" {
		e.Actor = e.ActorName
	}
	e.Subject, e.Detail, e.Actor = t.text(e.Subject), t.text(e.Detail), t.text(e.Actor)
	return e
}

func (t trailNames) text(s string) string {
	return t.ids.ReplaceAllStringFunc(s, func(id string) string {
		if name := t.names[id]; name != "" {
			return name
		}
		return short(id)
	})
}
