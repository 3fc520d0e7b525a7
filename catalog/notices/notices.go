// Package notices is the subject of who is told what goes wrong: the faults that there are (alerts, as the nodes report
// them), who has acknowledged them, the addresses that notices go to, the notices that are on their way, and what was
// told already. It is pure and deterministic, and knows nothing of how a notice is delivered.
package notices

import (
	"crypto/sha256"
	"encoding/hex"

	"holdfast/catalog/agree"
)

// Level is the level of a cluster that keeps all this.
const Level = 5

// Of names an alert: its kind, what it is of, and the name of the node that alone sees it.
type Of struct {
	Kind    string `json:"kind"`
	Node    string `json:"node,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// Key is a text of one length that stands for the alert.
func (o Of) Key() string {
	sum := sha256.Sum256([]byte(o.Kind + "\x00" + o.Node + "\x00" + o.Subject))
	return hex.EncodeToString(sum[:16])
}

// Fault is an alert that a node has reported. It is kept for some days after it was cleared.
type Fault struct {
	Of
	Severity   string            `json:"severity"`
	Parameters map[string]string `json:"parameters,omitempty"` // as they were when it was raised
	Round      uint64            `json:"round"`                // grows each time that the same is raised again
	Since      agree.Time        `json:"since"`
	Raised     agree.Time        `json:"raised"` // when it was agreed
	Cleared    agree.Time        `json:"cleared,omitempty"`
}

// Open reports whether the fault lasts.
func (f *Fault) Open() bool { return f.Cleared == 0 }

// Acknowledgement says that somebody knows of a fault. It goes with the fault, and with the time.
type Acknowledgement struct {
	Of
	Round uint64     `json:"round"`
	By    string     `json:"by"` // an actor
	At    agree.Time `json:"at"`
	Until agree.Time `json:"until"`
	Note  string     `json:"note"`
}

// Way is how notices reach an address.
type Way string

// The ways.
const (
	Mail     Way = "mail"
	Webhook  Way = "webhook"
	Standard Way = "stderr" // standard error of a node
)

// When says when an address is told.
type When string

// The times.
const (
	AtOnce When = "at-once"
	Hourly When = "hourly" // what an hour brought, together
	Daily  When = "daily"  // a report at a time of day
)

// Address is where notices go to.
type Address struct {
	Name string `json:"name"`
	// Number is given to no other address, so that a new one of the same name is told what the old one was.
	Number uint64 `json:"number"`
	Way    Way    `json:"way"`
	// To is the mail address; of a webhook scheme and host alone; for standard error the name of a node, or nothing if
	// any will do.
	To     []string `json:"to,omitempty"`
	Inside bool     `json:"inside,omitempty"` // a webhook may be at an address of the nodes' own network
	Filter
	Language string  `json:"language"`
	When     When    `json:"when"`
	Hour     string  `json:"hour,omitempty"`    // of a daily report, such as 07:30
	Zone     string  `json:"zone,omitempty"`    // of the hour
	Cleared  bool    `json:"cleared,omitempty"` // it is told, too, when a fault is over
	Sealed   *Sealed `json:"sealed,omitempty"`  // of a webhook: its URL and its secret

	Version int        `json:"version"` // counts the changes
	Created agree.Time `json:"created"`
	Changed agree.Time `json:"changed"`
	By      string     `json:"by"` // who changed it last
}

// Filter says which faults an address is told of. What is empty lets all pass.
type Filter struct {
	Kinds      []string `json:"kinds,omitempty"`
	Least      string   `json:"least,omitempty"` // severity: look or bad
	Collection string   `json:"collection,omitempty"`
	Place      string   `json:"place,omitempty"`
}

// Sealed is a secret text with a box for each member that may open it.
type Sealed struct {
	ID    string `json:"id"` // random; it is sealed about it
	Text  []byte `json:"text"`
	Boxes []Box  `json:"boxes"` // by node
}

// Box opens a secret for one node, with the key that the node had when it was made.
type Box struct {
	Node agree.NodeID `json:"node"`
	Key  []byte       `json:"key"`
	Box  []byte       `json:"box"`
}

// Item is what a notice says of one fault: that it began, or that it is over.
type Item struct {
	Of
	Round   uint64 `json:"round"`
	Cleared bool   `json:"cleared,omitempty"`
}

// Notice is on its way to an address. Its id is that of the message, however often it is tried.
type Notice struct {
	Address string       `json:"address"`
	ID      string       `json:"id"`
	Items   []Item       `json:"items,omitempty"`
	Report  bool         `json:"report,omitempty"` // of a day
	Test    bool         `json:"test,omitempty"`
	Due     agree.Time   `json:"due"`            // what it reports ended then
	Node    agree.NodeID `json:"node,omitempty"` // that delivers it, or tried last
	Tries   int          `json:"tries,omitempty"`
	First   agree.Time   `json:"first"`
	Next    agree.Time   `json:"next"`             // before then nobody else may claim it
	Reason  string       `json:"reason,omitempty"` // why the last try failed
	// How a test ended: it is kept, to be looked at.
	Told    agree.Time `json:"told,omitempty"`
	GivenUp agree.Time `json:"givenUp,omitempty"`
}

// Ended reports whether nobody is to deliver the notice any more.
func (n *Notice) Ended() bool { return n.Told != 0 || n.GivenUp != 0 }

// Told is what an address was told of a fault.
type Told struct {
	Round   uint64     `json:"round"`
	At      agree.Time `json:"at"`
	Cleared bool       `json:"cleared,omitempty"` // that it was over, too
	Lost    bool       `json:"lost,omitempty"`    // it was given up
}

// State is how an address stands.
type State struct {
	Last    agree.Time `json:"last,omitempty"`    // what was to be told by then is told
	GivenUp agree.Time `json:"givenUp,omitempty"` // since then nothing was accepted
	Reason  string     `json:"reason,omitempty"`
	Lost    int        `json:"lost,omitempty"` // notices that were given up, ever
	Told    int        `json:"told,omitempty"` // notices that were accepted, ever
}

// Times of deliveries, in milliseconds.
const (
	second agree.Time = 1000
	minute            = 60 * second
	hour              = 60 * minute
	day               = 24 * hour

	// ClaimLasts is how long a node that claimed a notice has for its try. After that another may claim it.
	ClaimLasts = 5 * minute
	// TryFor is how long a notice is tried.
	TryFor = 3 * day
	// KeptFor is how long a fault is kept after it was cleared.
	KeptFor = 7 * day
	// AcknowledgedMost is for how long a fault can be acknowledged.
	AcknowledgedMost = 90 * day
	// TestKept is how long the outcome of a test can be looked at.
	TestKept = hour
)

// Pause returns how long after a failed try the next one is.
func Pause(tries int) agree.Time {
	pause := 30 * second
	for range min(tries-1, 7) {
		pause *= 2
	}
	return min(pause, hour)
}

// Bounds of what is kept.
const (
	// MostFaults bounds the faults, those that were cleared included.
	MostFaults = 5000
	// MostAddresses bounds the addresses.
	MostAddresses = 100
	// MostNotices bounds the notices that are on their way to one address.
	MostNotices = 20
)
