package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Act is what a client asked for.
type Act string

// The acts of clients.
const (
	Put        Act = "put"
	Get        Act = "get"   // the whole file
	Range      Act = "range" // From to To, both within
	Head       Act = "head"
	Replay     Act = "replay" // page number From of a file of pages
	List       Act = "list"
	Weight     Act = "weight"     // sets or reads a node's weight
	NewJob     Act = "job"        // creates a job; Value is its number
	Revoke     Act = "revoke"     // revokes a join token
	Collect    Act = "collection" // adds a collection, or removes it: Value is 1 or -1
	FinalRead  Act = "final-read" // of a Subject of another act, after all
	Administer Act = "administer" // any other act of an administrator
)

// Op is one request and its answer.
type Op struct {
	ID         int
	Client     int
	Node       string
	Act        Act
	Subject    string // a file's name, or what is administered
	Variant    int    // of the content that a put sends
	Lie        bool   // the put promises a digest that its bytes do not have
	From, To   int64
	Value      int64 // written, or answered
	Begin, End time.Duration
	Status     int    // of the answer, 0 if there was none
	Code       string // of a problem
	Clean      bool   // the answer ended as HTTP says that it is whole
	Digest     string // SHA-256 of the whole file, as the answer says
	Size       int64  // of the body, or of the whole file for Head
	Sum        string // SHA-256 of the body
	Span       string // Content-Range
	Detail     string // the problem's text, or why there was no answer
}

// OK reports whether the act succeeded.
func (o Op) OK() bool { return o.Clean && o.Status >= 200 && o.Status < 300 }

// Unknown reports whether a change may have happened, or may happen yet, though nobody said so.
func (o Op) Unknown() bool { return !o.Clean || o.Status >= 500 || o.Status == 499 }

func (o Op) String() string {
	s := fmt.Sprintf("%6d %7.3f-%7.3fs client %d %-7s %s %s", o.ID, o.Begin.Seconds(), o.End.Seconds(), o.Client,
		o.Node, o.Act, o.Subject)
	switch o.Act {
	case Put:
		s += fmt.Sprintf(" variant %d", o.Variant)
		if o.Lie {
			s += " with a false digest"
		}
	case Range:
		s += fmt.Sprintf(" %d-%d", o.From, o.To)
	case Replay:
		s += fmt.Sprintf(" page %d", o.From)
	case Weight, NewJob, FinalRead:
		s += fmt.Sprintf(" value %d", o.Value)
	}
	s += fmt.Sprintf(": %d %s", o.Status, o.Code)
	if !o.Clean {
		s += " cut off"
	}
	if o.Sum != "" {
		s += fmt.Sprintf(" %d bytes %.12s", o.Size, o.Sum)
	}
	if o.Digest != "" {
		s += fmt.Sprintf(" of %.12s", o.Digest)
	}
	if o.Detail != "" {
		s += fmt.Sprintf(" (%.200s)", o.Detail)
	}
	return s
}

// History collects what clients did. It is safe for concurrent use.
type History struct {
	mu    sync.Mutex
	began time.Time
	ops   []Op
}

// NewHistory begins a history now.
func NewHistory() *History { return &History{began: time.Now()} }

// Now is the time since the history began, by a clock that does not jump.
func (h *History) Now() time.Duration { return time.Since(h.began) }

// Add adds a finished request.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.ID = len(h.ops)
	h.ops = append(h.ops, o)
}

// Ops returns what was added so far.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ops)
}

// Damage is what a fault did to stored bytes, or that a node's bytes as a whole were doubtful.
type Damage struct {
	Fault   Fault
	Began   time.Duration
	Node    string
	Replica string
	File    string // empty: any file of the node
	What    string
}

func (d Damage) String() string {
	return fmt.Sprintf("%7.3fs %s of %s on %s: %s", d.Began.Seconds(), d.Fault.Kind, d.File, d.Node, d.What)
}

// Violation is something that an archive must never do.
type Violation struct {
	Kind   string // the check that found it
	Detail string
	About  string // the file or subject, "" when it is about more
	Near   time.Duration
}

func (v Violation) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s: %s", v.Kind, v.About, v.Detail))
}

// Around returns the part of a history that explains a violation: the acts on the same subject, or those nearest in
// time.
func Around(ops []Op, v Violation, most int) []Op {
	var near []Op
	if v.About != "" {
		near = slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.Subject != v.About })
	} else {
		near = slices.DeleteFunc(slices.Clone(ops),
			func(o Op) bool { return o.Begin > v.Near+2*time.Second || o.End < v.Near-2*time.Second })
	}
	if len(near) <= most {
		return near
	}
	// The first and the last say most.
	return append(near[:most/2:most/2], near[len(near)-most/2:]...)
}
