package wire

import "time"

// NodeStaging stages a change of a node, for the next apply of the layout.
type NodeStaging struct {
	Step   string `json:"step" enum:"drain,undrain,weight"`
	Weight int    `json:"weight,omitempty" minimum:"1" maximum:"10000" doc:"with weight: the node's share of its replica's shards, relative to others; 100 is usual"`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// ReplicaChange changes which collections a replica has to hold.
type ReplicaChange struct {
	Collections []string `json:"collections" maxItems:"100" doc:"all that it has to hold from now on; none: all collections"`
	Reason      string   `json:"reason,omitempty" maxLength:"500" doc:"kept with a staged change"`
}

// LayoutChange is a change of the layout that is staged: it is carried out by the next apply.
type LayoutChange struct {
	ID          uint64    `json:"id"`
	Step        string    `json:"step" enum:"drain,undrain,weight,remove,collections"`
	Node        string    `json:"node,omitempty" doc:"the node's id"`
	NodeName    string    `json:"nodeName,omitempty"`
	Weight      int       `json:"weight,omitempty"`
	Replica     string    `json:"replica,omitempty"`
	Collections []string  `json:"collections,omitempty" doc:"that the replica has to hold; absent: all"`
	Joined      bool      `json:"joined,omitempty" doc:"the node has joined and waits: it holds no shards before this is applied"`
	Reason      string    `json:"reason,omitempty"`
	By          string    `json:"by"`
	ByName      string    `json:"byName,omitempty"`
	At          time.Time `json:"at"`
}

// Layout is what is staged, and what would follow from it.
type Layout struct {
	Version uint64         `json:"version" doc:"grows with each change of what is staged; apply takes it"`
	Always  bool           `json:"always" doc:"changes of the layout are always staged, and new nodes wait for an apply"`
	Changes []LayoutChange `json:"changes" doc:"in the order in which they are carried out"`
	Plan    *LayoutPlan    `json:"plan,omitempty" doc:"absent if nothing is staged"`
}

// LayoutPlan says what would follow if all that is staged were carried out now. Shards that are made again for nodes
// that are away are not in it, nor is what is under way.
type LayoutPlan struct {
	Refused   []LayoutRefusal `json:"refused" doc:"changes that would be refused now; the rest says what would follow without them"`
	Links     []LayoutLink    `json:"links" doc:"what each node copies from each other one"`
	Short     []LayoutShort   `json:"short" doc:"replicas that would not have to hold files any more of which they have good copies"`
	Partly    bool            `json:"partly,omitempty" doc:"not all files were looked at: at least these would be short of copies"`
	Full      []LayoutFull    `json:"full" doc:"nodes that have not the room"`
	Stuck     []LayoutStuck   `json:"stuck" doc:"nodes that drain, or would, and keep shards, as nobody who is there would take them"`
	Unsettled []string        `json:"unsettled,omitempty" doc:"replicas of which it cannot be foreseen where all shards will lie"`
	Effects   []string        `json:"effects,omitempty" doc:"what the removal of nodes does to the cluster"`
}

// LayoutRefusal is a staged change that would be refused now.
type LayoutRefusal struct {
	Change uint64 `json:"change"`
	Why    string `json:"why"`
}

// LayoutLink is what one node copies from another.
type LayoutLink struct {
	Replica  string `json:"replica"`
	From     string `json:"from,omitempty" doc:"a node's id; absent: no node that is there is known to have it"`
	FromName string `json:"fromName,omitempty"`
	To       string `json:"to,omitempty" doc:"absent: the replica has no node that takes it"`
	ToName   string `json:"toName,omitempty"`
	Fill     bool   `json:"fill,omitempty" doc:"files that the replica has to hold from then on; else shards that move"`
	Shards   int    `json:"shards" doc:"of those that have files"`
	Files    int64  `json:"files"`
	Bytes    int64  `json:"bytes" doc:"none in a replica of checksums"`
	Rate     int64  `json:"bytesPerSecond,omitempty" doc:"the lowest limit that the answering node's cluster.toml has for the two nodes, shared with what else they copy; absent: it has none"`
	Seconds  int64  `json:"seconds,omitempty" doc:"how long it takes at least, by that limit and by all that the two nodes copy for the plan; absent: not known"`
}

// LayoutShort counts files of which a replica would give up good copies.
type LayoutShort struct {
	Replica  string `json:"replica"`
	Fewer    int64  `json:"fewer" doc:"files with fewer good copies than now"`
	OnePlace int64  `json:"onePlace" doc:"those of them that would have no good copy outside one place, and have one now"`
	None     int64  `json:"none" doc:"those of them that would have no good copy"`
}

// LayoutFull is a node that would have to take more than it has room for.
type LayoutFull struct {
	Node     string `json:"node"`
	NodeName string `json:"nodeName"`
	Free     int64  `json:"freeBytes"`
	Bytes    int64  `json:"bytes" doc:"that it would have to take, less what it gives up"`
}

// LayoutStuck is a node whose drain does not end.
type LayoutStuck struct {
	Node     string `json:"node"`
	NodeName string `json:"nodeName"`
	Shards   int    `json:"shards" doc:"that it keeps"`
}

// LayoutApply carries out all that is staged.
type LayoutApply struct {
	Version uint64 `json:"version" maximum:"9007199254740991" doc:"of what was shown; refused if it is another one now"`
	Reason  string `json:"reason,omitempty" maxLength:"500"`
}

// LayoutRevert discards what is staged. A node that joined and waits stays drained.
type LayoutRevert struct {
	Change  uint64 `json:"change,omitempty" doc:"the change's number; default: all changes"`
	Version uint64 `json:"version,omitempty" maximum:"9007199254740991" doc:"refused if what is staged has another version"`
	Reason  string `json:"reason,omitempty" maxLength:"500"`
}

// LayoutSetting says whether changes of the layout are always staged.
type LayoutSetting struct {
	Always bool   `json:"always" doc:"drains, weights, removals of drained nodes and collections of replicas are refused unless they are staged, and new nodes wait for an apply"`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}
