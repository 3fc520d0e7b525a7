package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// An act that cannot be undone needs two requests. The first is refused with 428, and the refusal says what the act
// would do. The second is the same request with the refusal's value of confirm, and carries out the act. That value
// stands for the effects that were shown: if they have changed, the act is refused again with the new effects.

// twice describes an act that is asked for twice.
func twice(op *huma.Operation) {
	op.Errors = append(op.Errors, http.StatusPreconditionRequired)
	op.Description += " Without confirm it is refused with 428, whose errors say what it would do and give the value " +
		"of confirm."
}

// confirmed refuses an act unless the value confirms just these effects on just this one: which tells the subject from
// others that have had, or will have, its name.
func confirmed(given, act, subject, which string, effects []string) error {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{act, subject, which}, effects...), "\x00")))
	want := hex.EncodeToString(sum[:8])
	if given == want {
		return nil
	}
	p := problem(http.StatusPreconditionRequired, wire.CodeUnconfirmed,
		fmt.Sprintf("to %s %s cannot be undone; send the same again with confirm", act, subject))
	for _, e := range effects {
		p.Errors = append(p.Errors, &huma.ErrorDetail{Message: e})
	}
	p.Errors = append(p.Errors, &huma.ErrorDetail{Message: "confirms this", Location: wire.ConfirmField, Value: want})
	return p
}

// effectsOfRemoval says what removing a node does to the cluster as this node sees it now.
func effectsOfRemoval(st wire.Status, node wire.Node, asked wire.Removal) []string {
	effects := []string{fmt.Sprintf("node %s is no member any more: the others refuse its key, and it stops",
		node.Name)}
	if node.ID == st.Node.ID {
		effects = append(effects, "it is the node that answers this request")
	}
	last := true
	for _, n := range st.Nodes {
		last = last && (n.Replica != node.Replica || n.ID == node.ID)
	}
	if last {
		effects = append(effects, fmt.Sprintf("replica %s has no node any more: nothing keeps its copies",
			node.Replica))
	}
	if asked.Lost {
		effects = append(effects, fmt.Sprintf("what lies on it counts as lost; its %d shards go to other nodes of "+
			"replica %s, which copy every file again", node.Shards, node.Replica),
			fmt.Sprintf("%d files have no good copy elsewhere: they are lost", asked.Files))
	}
	return append(effects, effectOnQuorum(st.Nodes, node))
}

// effectOnQuorum says whether the voters that are left can decide.
func effectOnQuorum(nodes []wire.Node, gone wire.Node) string {
	voters, reached := 0, 0
	for _, n := range nodes {
		if n.ID == gone.ID || !n.Presence.Voter {
			continue
		}
		voters++
		if n.Presence.State == "alive" {
			reached++
		}
	}
	if 2*reached > voters {
		return fmt.Sprintf("of %d voters that are left, %d are reached: the cluster can decide", voters, reached)
	}
	return fmt.Sprintf("of %d voters that are left, %d are reached: THE CLUSTER CANNOT DECIDE ANYTHING ANY MORE",
		voters, reached)
}

// effectsOfFileRemoval says what removing a file does, that can be restored for some days.
func effectsOfFileRemoval(f catalog.File, days int) []string {
	if days > 0 {
		return []string{fmt.Sprintf("file %s of %d bytes, SHA-256 %s, in collection %s is removed: nobody is given it "+
			"any more", f.Name, f.Size, f.SHA256, f.Collection),
			fmt.Sprintf("it can be restored for %d days; then its %d copies are deleted", days, len(f.Copies)),
			"its name stays and cannot be used again"}
	}
	good := 0
	for _, c := range f.Copies {
		if c.Good() {
			good++
		}
	}
	return []string{fmt.Sprintf("file %s of %d bytes, SHA-256 %s, in collection %s is removed for ever", f.Name, f.Size,
		f.SHA256, f.Collection),
		fmt.Sprintf("its bytes are deleted at %d replicas, where %d copies are verified", len(f.Copies), good),
		"its name stays as a tombstone and cannot be used again"}
}
