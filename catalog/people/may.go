package people

import (
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Act is a kind of thing that is done by people and programs.
type Act string

// The acts. See Needs for who may.
const (
	Look             Act = "look"              // read what is agreed, what was archived, and the state of crawls
	KeepOwn          Act = "keep-own"          // one's own account and tokens
	RunJob           Act = "run-job"           // create, steer and end jobs of a collection
	KeepDomain       Act = "keep-domain"       // of a collection; without one, what holds for the domains of all
	KeepHarvest      Act = "keep-harvest"      // define harvests of a collection, and activate them
	PutFile          Act = "put-file"          // into a collection
	Define           Act = "define"            // what harvests of any collection use
	ReachInside      Act = "reach-inside"      // let a crawl reach the nodes' own network
	LookAtDisks      Act = "look-at-disks"     // what lies on the nodes besides the archive
	LookAtNode       Act = "look-at-node"      // a node's settings
	ChangeNode       Act = "change-node"       // its weight; drain it
	CheckCopies      Act = "check-copies"      // verify, audit
	RebuildIndex     Act = "rebuild-index"     //
	InviteNode       Act = "invite-node"       //
	RemoveNode       Act = "remove-node"       //
	ChangeReplica    Act = "change-replica"    // add, remove; which collections it holds
	ChangeLayout     Act = "change-layout"     // apply and revert staged changes; say whether they are always staged
	ChangeCollection Act = "change-collection" // add, remove
	EraseFile        Act = "erase-file"        // remove a file, declare it lost
	ChangeLevel      Act = "change-level"      //
	BackUp           Act = "back-up"           // fetch encrypted backups of the catalog; check the catalog on all nodes
	KeepPeople       Act = "keep-people"       // invite, change, disable; grants; all tokens
	Acknowledge      Act = "acknowledge"       // some alerts; which of them the next two say
	AcknowledgeWork  Act = "acknowledge-work"  // alerts about jobs and harvests
	AcknowledgeNode  Act = "acknowledge-node"  // alerts about nodes and copies
	KeepAccess       Act = "keep-access"       // the rules that say who may see what; their private reasons
	Approve          Act = "approve"           // grant and deny what others proposed; say which acts wait for that
	KeepNotices      Act = "keep-notices"      // addresses for notices about a collection, or about all
	RunBatch         Act = "run-batch"         // programs over files of collections
	ReadBatch        Act = "read-batch"        // what such a program made of them
)

// Extent says which right an act needs: for the whole archive, for its collections, or for its places.
type Extent int

// The extents.
const (
	Nowhere     Extent = iota // unknown acts: nobody may
	Anywhere                  // a right in any scope does
	Collections               // every collection that it touches
	Places                    // every place that it touches
	Whole                     // a right in the whole archive alone
)

// Needs returns the role that an act needs, and where.
func (a Act) Needs() (Role, Extent) {
	switch a {
	case Look, KeepOwn:
		return RoleReader, Anywhere
	case ReadBatch:
		return RoleReader, Collections
	case Acknowledge:
		return RoleCurator, Anywhere
	case RunJob, KeepDomain, KeepHarvest, PutFile, AcknowledgeWork, KeepNotices, RunBatch:
		return RoleCurator, Collections
	case Define, KeepAccess:
		return RoleCurator, Whole
	case ReachInside, BackUp, ChangeLayout:
		return RoleOperator, Whole
	case LookAtDisks:
		return RoleOperator, Anywhere
	case LookAtNode, ChangeNode, CheckCopies, RebuildIndex, AcknowledgeNode:
		return RoleOperator, Places
	case InviteNode, RemoveNode, ChangeReplica, ChangeCollection, EraseFile, ChangeLevel, KeepPeople,
		Approve:
		return RoleAdmin, Whole
	}
	return "", Nowhere
}

// Where lists what an act touches. An act that depends on collections or places but names none touches the whole
// archive.
type Where struct {
	Collections []cluster.CollectionName
	Places      []string
}

// May decides whether somebody with these rights may do the act there. The refusal says what is missing. It is the one
// place where this is decided, whoever asks and by whatever way.
func May(rights []Right, act Act, where Where) error {
	role, extent := act.Needs()
	var lacking string
	switch extent {
	case Anywhere:
		if !slices.ContainsFunc(rights, func(r Right) bool { return r.Role.Includes(role) }) {
			lacking = " "
		}
	case Collections:
		lacking = missing(rights, role, where.Collections, func(name cluster.CollectionName) (Scope, string) {
			return Scope{Collection: name}, " for collection " + agree.Clip(string(name), 64)
		})
	case Places:
		lacking = missing(rights, role, where.Places, func(place string) (Scope, string) {
			return Scope{Place: place}, " at place " + agree.Clip(place, 64)
		})
	case Whole:
		lacking = missing(rights, role, nil, func(string) (Scope, string) { return Scope{}, "" })
	default:
		return agree.Refuse(agree.Denied, "nobody may do %q", string(act))
	}
	if lacking == "" {
		return nil
	}
	return agree.Refuse(agree.Denied, "this needs the role %s%s; you have %s",
		role, strings.TrimRight(lacking, " "), describe(rights))
}

// missing returns where the role is not held, empty when it is everywhere.
func missing[T ~string](rights []Right, role Role, names []T, scope func(T) (Scope, string)) string {
	holds := func(s Scope) bool {
		return slices.ContainsFunc(rights, func(r Right) bool { return r.Role.Includes(role) && r.covers(s) })
	}
	for _, name := range names {
		if name == "" { // unknown, and so it may be any
			return wholeArchive(holds)
		}
		if s, text := scope(name); !holds(s) {
			return text
		}
	}
	if len(names) == 0 {
		return wholeArchive(holds)
	}
	return ""
}

func wholeArchive(holds func(Scope) bool) string {
	if holds(Scope{}) {
		return ""
	}
	return " for the whole archive"
}
