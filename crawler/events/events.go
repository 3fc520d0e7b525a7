// Package events records what happens in a crawl as numbered values. They are kept in memory for a while, written to
// job.log, and given to subscribers.
package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Started  Kind = "started"  // By
	Paused   Kind = "paused"   // Reason, Deadline, By
	Resumed  Kind = "resumed"  // By
	Stopping Kind = "stopping" // Reason, Deadline, By
	Finished Kind = "finished" // Reason
	// Queue, Reason: the crawl itself did as its total budget is spent, or an operator: Queue is an expression then,
	// Count, By
	QueueRetired    Kind = "queue-retired"
	QueueFrozen     Kind = "queue-frozen"     // Queue, By
	QueueThawed     Kind = "queue-thawed"     // Queue, By
	QueueBudget     Kind = "queue-budget"     // Queue, Count: its new budget, By
	HostBlocked     Kind = "host-blocked"     // Host, By, Reason
	SettingsChanged Kind = "settings-changed" // Names, By
	SeedsAdded      Kind = "seeds-added"      // Count, By
	URIsDeleted     Kind = "uris-deleted"     // Count, Reason: the expression, By
	Checkpoint      Kind = "checkpoint"       // Name
	FileFinished    Kind = "file-finished"    // Name, Count: bytes
	// once for each form of URIs: URI, the first that is turned away, Host, Reason: the heuristic, Count: pages that
	// showed it
	TrapCaught  Kind = "trap-caught"
	URIFinished Kind = "uri-finished" // URI, Status, Count: bytes; a sample, not written to job.log
	Alert       Kind = "alert"        // Reason: as in alerts.log
)

// Event is something that happened. Of the fields after Kind, those named at the kind are set.
type Event struct {
	Number   uint64     `json:"number"` // grows by one; after a restart it jumps
	Time     time.Time  `json:"time"`
	Kind     Kind       `json:"kind"`
	Reason   string     `json:"reason,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"` // nil: none
	By       string     `json:"by,omitempty"`       // who did it; "": the crawl itself
	Queue    string     `json:"queue,omitempty"`
	Host     string     `json:"host,omitempty"`
	URI      string     `json:"uri,omitempty"`
	Name     string     `json:"name,omitempty"`
	Names    []string   `json:"names,omitempty"`
	Status   int        `json:"status,omitempty"`
	Count    int64      `json:"count,omitempty"`
}

// Logged reports whether events of the kind are written to job.log.
func (k Kind) Logged() bool { return k != URIFinished }

// ErrLine is wrapped by the errors of Parse.
var ErrLine = errors.New("not a line of job.log")

const timeFormat = "2006-01-02T15:04:05.000Z"

// AppendTo appends the event's line in job.log to b: time, number, kind, and the rest as JSON.
func (e *Event) AppendTo(b []byte) []byte {
	b = e.Time.UTC().AppendFormat(b, timeFormat)
	b = strconv.AppendUint(append(b, ' '), e.Number, 10)
	b = append(append(append(b, ' '), e.Kind...), ' ')
	rest, err := json.Marshal(facts{e.Reason, e.Deadline, e.By, e.Queue, e.Host, e.URI, e.Name, e.Names, e.Status,
		e.Count})
	if err != nil { // a deadline in year 10000
		rest = []byte("{}")
	}
	return append(append(b, rest...), '\n')
}

// facts are the fields of an event that are in the JSON of its line.
type facts struct {
	Reason   string     `json:"reason,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"`
	By       string     `json:"by,omitempty"`
	Queue    string     `json:"queue,omitempty"`
	Host     string     `json:"host,omitempty"`
	URI      string     `json:"uri,omitempty"`
	Name     string     `json:"name,omitempty"`
	Names    []string   `json:"names,omitempty"`
	Status   int        `json:"status,omitempty"`
	Count    int64      `json:"count,omitempty"`
}

// Parse reads a line of job.log, with or without its end.
func Parse(line []byte) (Event, error) {
	line = bytes.TrimRight(line, "\r\n")
	cols := bytes.SplitN(line, []byte{' '}, 4)
	bad := func(err error) (Event, error) {
		return Event{}, fmt.Errorf("%w: %.200q: %w", ErrLine, line, err)
	}
	if len(cols) != 4 {
		return bad(fmt.Errorf("it has %d columns", len(cols)))
	}
	at, err := time.Parse(time.RFC3339, string(cols[0]))
	if at = at.UTC(); err == nil && (at.Year() < 0 || at.Year() > 9999) {
		err = errors.New("its second column is not a time")
	}
	if err != nil {
		return bad(err)
	}
	number, err := strconv.ParseUint(string(cols[1]), 10, 64)
	if err != nil {
		return bad(err)
	}
	var f facts
	if err := json.Unmarshal(cols[3], &f); err != nil {
		return bad(err)
	}
	return Event{number, at, Kind(cols[2]), f.Reason, f.Deadline, f.By, f.Queue, f.Host, f.URI, f.Name, f.Names,
		f.Status, f.Count}, nil
}
