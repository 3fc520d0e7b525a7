package notices

import "holdfast/catalog/agree"

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Report, Level: Level, Do: agree.With(report)},
	{Kind: Drop, Level: Level, Do: agree.With(drop)},
	{Kind: Acknowledge, Level: Level, Do: agree.With(acknowledge)},
	{Kind: Withdraw, Level: Level, Do: agree.With(withdraw)},
	{Kind: Create, Level: Level, Do: agree.With(create)},
	{Kind: Set, Level: Level, Do: agree.With(set)},
	{Kind: Remove, Level: Level, Do: agree.With(remove)},
	{Kind: SealAgain, Level: Level, Do: agree.With(sealAgain)},
	{Kind: Test, Level: Level, Do: agree.With(test)},
	{Kind: Claim, Level: Level, Do: agree.With(claim)},
	{Kind: Settle, Level: Level, Do: agree.With(settle)},
}

// The kinds of commands and their bodies.
const (
	Report      agree.Kind = "alert.report"      // Reporting
	Drop        agree.Kind = "alert.drop"        // Dropping
	Acknowledge agree.Kind = "alert.acknowledge" // Acknowledging
	Withdraw    agree.Kind = "alert.withdraw"    // Of
	Create      agree.Kind = "notice.create"     // Setting
	Set         agree.Kind = "notice.set"        // Setting
	Remove      agree.Kind = "notice.remove"     // Ref
	SealAgain   agree.Kind = "notice.seal"       // Resealing
	Test        agree.Kind = "notice.test"       // Testing
	Claim       agree.Kind = "notice.claim"      // Claiming
	Settle      agree.Kind = "notice.settle"     // Outcome
)

// Reporting says which alerts began and which ended, as a node sees it: of those that it alone sees, and, if it leads,
// of those that all see. It has at most agree.MaxItems of them.
type Reporting struct {
	Node    agree.NodeID `json:"node"`
	Raised  []Raising    `json:"raised,omitempty"`
	Cleared []Clearing   `json:"cleared,omitempty"`
}

// Raising says that an alert is there. With a round, it changes nothing if that round or a later one is known: a node
// that told of it without a quorum has counted it already.
type Raising struct {
	Of
	Severity   string            `json:"severity"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Since      agree.Time        `json:"since,omitempty"`
	Round      uint64            `json:"round,omitempty"`
}

// Clearing says that an alert is over. With a round, it clears no later one.
type Clearing struct {
	Of
	Round uint64 `json:"round,omitempty"`
}

// Dropping removes what need not be kept any more: faults that were cleared long ago, outcomes of tests.
type Dropping struct {
	Faults []Of        `json:"faults,omitempty"` // at most 100
	Tests  []NoticeRef `json:"tests,omitempty"`  // at most 100
}

// NoticeRef names a notice.
type NoticeRef struct {
	Address string `json:"address"`
	ID      string `json:"id"`
}

// Acknowledging says that the actor knows of a fault.
type Acknowledging struct {
	Of
	Note  string     `json:"note"`
	Until agree.Time `json:"until"`
}

// Setting makes an address, or puts another in its place. The address's version is the one that it replaces; number,
// times and actor are the catalog's. Without a sealed text, that of the address stays.
type Setting struct {
	Address Address `json:"address"`
}

// Ref names an address.
type Ref struct {
	Name string `json:"name"`
}

// Resealing gives an address's secret to more nodes.
type Resealing struct {
	Name  string `json:"name"`
	ID    string `json:"id"` // of the secret
	Boxes []Box  `json:"boxes,omitempty"`
}

// Testing asks for a notice that says only that it is a test. It is tried once.
type Testing struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// Claiming takes it on to deliver a notice: a new one, or one that waits for its next try.
type Claiming struct {
	Notice Notice       `json:"notice"` // its address, id, items, due and report; the rest is the catalog's
	Node   agree.NodeID `json:"node"`
}

// Outcome says how a try ended. What the receiver has accepted is told, whoever has claimed the notice by then.
type Outcome struct {
	Address string       `json:"address"`
	ID      string       `json:"id"`
	Node    agree.NodeID `json:"node"`
	Tries   int          `json:"tries,omitempty"`  // which try failed
	Failed  string       `json:"failed,omitempty"` // why; empty: the receiver has accepted it
	Items   []Item       `json:"items,omitempty"`  // of a notice that was told without a quorum
}
