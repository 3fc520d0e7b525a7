package wire

import "time"

// CatalogCheck is how the check of the catalog stands on all nodes.
type CatalogCheck struct {
	Index uint64      `json:"index" doc:"of the state that is checked"`
	Nodes []NodeCheck `json:"nodes" doc:"of every member, those that do not answer too"`
}

// NodeCheck is a node's check of its own catalog, the last since it started.
type NodeCheck struct {
	Node     string    `json:"node" doc:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state" enum:"idle,running,done,failed,stopped,unreachable"`
	Reason   string    `json:"reason,omitempty" doc:"why it failed, or why there is no answer"`
	Index    uint64    `json:"index,omitempty"`
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Keys     int64     `json:"keys" doc:"that were looked at so far"`
	Files    int64     `json:"files"`
	Removed  int64     `json:"removed"`
	Events   int64     `json:"events"`
	Digest   string    `json:"digest,omitempty" doc:"SHA-256 of all keys and values: equal catalogs have equal ones"`
	Found    int64     `json:"found" doc:"how many problems"`
	Problems []string  `json:"problems" doc:"the first of them"`
}

// Began reports whether the node has begun.
func (c *CatalogCheck) Began(node string) bool {
	for _, n := range c.Nodes {
		if n.Node == node {
			return n.State != "unreachable" && n.State != "failed"
		}
	}
	return false
}

// Follow returns how a check that was begun stands, by what all nodes say now. What a node says of an earlier check, or
// has forgotten, is no answer; nodes that came since are not asked.
func (c *CatalogCheck) Follow(now CatalogCheck) CatalogCheck {
	out := CatalogCheck{Index: c.Index}
	for _, n := range c.Nodes {
		if c.Began(n.Node) {
			is := NodeCheck{Node: n.Node, Name: n.Name, State: "unreachable", Reason: "it is no member any more"}
			for _, one := range now.Nodes {
				if one.Node == n.Node {
					is = one
				}
			}
			if is.State != "unreachable" && (is.Index != c.Index || is.Began.Before(n.Began)) {
				is.State, is.Reason = "failed", "the node has started again since the check began"
			}
			n = is
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

// Problem says why the check is no success, or nothing. It is none while a node is missing or at work, whatever the
// others found.
func (c *CatalogCheck) Problem() (problems []string) {
	digests := map[string]string{} // with the name of a node
	for _, n := range c.Nodes {
		switch {
		case n.State != "done":
			problems = append(problems, n.Name+": not checked: "+n.State+why(n.Reason))
			continue
		case n.Index != c.Index:
			problems = append(problems, n.Name+": not compared: it checked its catalog of another index")
		default:
			digests[n.Digest] = n.Name
		}
		for _, p := range n.Problems {
			problems = append(problems, n.Name+": "+p)
		}
		if n.Found > int64(len(n.Problems)) {
			problems = append(problems, n.Name+": and more")
		}
	}
	if len(digests) > 1 {
		text := "the nodes have different catalogs:"
		for _, n := range c.Nodes {
			if n.State == "done" && n.Index == c.Index {
				text += " " + n.Name + " " + n.Digest[:min(12, len(n.Digest))]
			}
		}
		problems = append(problems, text)
	}
	if len(c.Nodes) == 0 {
		problems = append(problems, "there is no node")
	}
	return problems
}

func why(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
