package wire

import "time"

// Ledger is the record of one ledger of a replica, which is whole and a file of the archive.
type Ledger struct {
	Replica  string            `json:"replica"`
	Serial   uint64            `json:"serial" doc:"1 for the replica's first ledger, then one more each time"`
	Name     string            `json:"name" doc:"the file with the ledger's head; the others are named in it, or after it"`
	SHA256   string            `json:"sha256" doc:"of that file"`
	Time     time.Time         `json:"time" doc:"of the catalog that the ledger writes down"`
	Recorded time.Time         `json:"recorded"`
	Node     string            `json:"node" doc:"the node that made it"`
	By       string            `json:"by,omitempty" doc:"who asked for it; nobody if it was due"`
	Files    int64             `json:"files"`
	Bytes    int64             `json:"bytes"`
	Missing  int64             `json:"missing" doc:"files that the catalog counts on in the replica, and that were not found"`
	First    uint64            `json:"firstEvent" doc:"the first event of the trail in it"`
	Last     uint64            `json:"lastEvent"`
	Signed   []LedgerSigner    `json:"signed" doc:"nodes at other places that have countersigned it"`
	Unsigned []LedgerUnsigning `json:"unsigned" doc:"nodes at other places that have not, with the reason"`
}

// LedgerSigner is a node that countersigned a ledger.
type LedgerSigner struct {
	Node string `json:"node"`
	Name string `json:"name,omitempty" doc:"none if it is no member any more"`
}

// LedgerUnsigning is a node that did not.
type LedgerUnsigning struct {
	LedgerSigner
	Reason string `json:"reason"`
}

// LedgerMaking is how the ledger stands that a node makes, or made last since it started.
type LedgerMaking struct {
	Node    string    `json:"node"`
	Name    string    `json:"ledger,omitempty" doc:"the ledger, when it is made"`
	Replica string    `json:"replica"`
	State   string    `json:"state" enum:"idle,running,made,failed,unreachable"`
	Stage   string    `json:"stage,omitempty" doc:"what is being done"`
	Detail  string    `json:"detail,omitempty" doc:"why it failed, or why the node's answer is missing"`
	Serial  uint64    `json:"serial,omitempty" doc:"of the ledger, when it is made"`
	Began   time.Time `json:"began,omitzero"`
}
