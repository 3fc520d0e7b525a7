package harvest

import (
	"encoding/json"
	"time"
)

// MaxListed is how many entries one Reply lists.
const MaxListed = 10_000

// Reply is the answer to an act on a crawl; it has only the fields of that act.
type Reply struct {
	Count       int64             `json:"count,omitempty"` // URIs or queues that were changed
	Live        *Live             `json:"live,omitempty"`
	Queues      []Queue           `json:"queues,omitempty"`
	Domains     []DomainCount     `json:"domains,omitempty"`
	URIs        []QueuedURI       `json:"uris,omitempty"`
	Explained   *Explained        `json:"explained,omitempty"`
	Checkpoints []Checkpoint      `json:"checkpoints,omitempty"`
	Events      []json.RawMessage `json:"events,omitempty"`
	Lines       []string          `json:"lines,omitempty"`
	Next        string            `json:"next,omitempty"`   // give it as After for more; "" at the end
	Missed      bool              `json:"missed,omitempty"` // some events after the given one are no longer kept
	Ended       bool              `json:"ended,omitempty"`  // of events: there will be no more
}

// Live is the state of a crawl at this moment.
type Live struct {
	State       string           `json:"state"`
	Reason      string           `json:"reason,omitempty"`
	Until       *time.Time       `json:"until,omitempty"` // of a pause or stop
	Elapsed     Duration         `json:"elapsed"`
	Discovered  int64            `json:"discovered"`
	Queued      int64            `json:"queued"`
	Finished    int64            `json:"finished"`
	Succeeded   int64            `json:"succeeded"`
	Failed      int64            `json:"failed"`
	Disregard   int64            `json:"disregarded"`
	Bytes       int64            `json:"bytes"`
	Discarded   int64            `json:"discarded"`    // documents that were fetched and not kept
	Rate        float64          `json:"rate"`         // URIs finished per second, lately
	Average     float64          `json:"average"`      // since the beginning
	ByteRate    float64          `json:"byte_rate"`    // per second, lately
	Types       map[string]int64 `json:"types"`        // documents by media type
	Statuses    map[string]int64 `json:"statuses"`     // URIs by status
	QueueStates map[string]int64 `json:"queue_states"` // queues by state
	Slowest     []SlowHost       `json:"slowest"`
	Workers     []Worker         `json:"workers"`
	Waiting     *Waiting         `json:"waiting,omitempty"` // what the crawl waits for, if it has nothing else to do
}

// Waiting is what a crawl waits for that has nothing else to do.
type Waiting struct {
	Queue  string    `json:"queue,omitempty"` // that continues first
	Until  time.Time `json:"until"`
	Status int       `json:"status,omitempty"` // the last of the queue
	Why    string    `json:"why,omitempty"`    // the status in words
	Queued int64     `json:"queued,omitempty"` // URIs in the queue
}

// SlowHost is a host whose answers take long.
type SlowHost struct {
	Host string   `json:"host"`
	Mean Duration `json:"mean"`
	URIs int64    `json:"uris"`
}

// Worker is what one worker is doing.
type Worker struct {
	Number int      `json:"number"`
	Stage  string   `json:"stage"` // "idle", or of the chain
	URL    string   `json:"url,omitempty"`
	For    Duration `json:"for"` // how long it has been at this URI
}

// Queue is one queue of the frontier.
type Queue struct {
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Queued     int64      `json:"queued"`
	InFlight   int        `json:"in_flight"`
	Spent      int64      `json:"spent"`
	Session    int64      `json:"session_budget"`
	Total      int64      `json:"total_budget"`
	Precedence int        `json:"precedence"`
	Wake       *time.Time `json:"wake,omitempty"`
	Bytes      int64      `json:"bytes"`
	Fetched    int64      `json:"fetched"`
}

// DomainsStopped is the state of domains that are at a limit, for act.Domains.
const DomainsStopped = "stopped"

// DomainCount counts what a crawl fetched of one registered domain, as its limits count it: documents, without
// robots.txt and DNS.
type DomainCount struct {
	Domain  string `json:"domain"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	// the limit: config-object, config-size, harvest-object or harvest-size
	Stopped string `json:"stopped_by,omitempty"`
}

// QueuedURI is a URI that waits.
type QueuedURI struct {
	URL      string `json:"url"`
	Queue    string `json:"queue"`
	Path     string `json:"path"`
	Via      string `json:"via,omitempty"`
	Source   string `json:"source,omitempty"`
	Priority int    `json:"priority"`
	Tries    int    `json:"tries,omitempty"`
}

// Explained says how a crawl treats a URI, and why.
type Explained struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical"`
	// "new", "queued", "under way: fetch", "finished with status 200"
	Known     string            `json:"known"`
	Found     string            `json:"found"`            // the source of Path, Via and Source: queue, log, or assumed
	Path      string            `json:"path,omitempty"`   // the hops it was found by; "": a seed
	Via       string            `json:"via,omitempty"`    // the URI it was found in
	Source    string            `json:"source,omitempty"` // the seed it comes from
	Queue     string            `json:"queue"`            // it is in, or would be put in
	Logged    string            `json:"logged,omitempty"` // its last line in crawl.log
	Decision  string            `json:"decision"`
	DecidedBy string            `json:"decided_by"`
	Status    int               `json:"status,omitempty"` // it would end with, when rejected
	Words     []Word            `json:"words"`
	Robots    string            `json:"robots,omitempty"`
	Limits    string            `json:"limits,omitempty"` // how close its domain is to its limits
	Settings  map[string]Origin `json:"settings"`
}

// Word is the decision of one rule about a URI.
type Word struct {
	Rule     string `json:"rule"`
	Decision string `json:"decision"` // "ACCEPT", "REJECT" or "PASS"
	Why      string `json:"why,omitempty"`
}

// Checkpoint is a state that the crawl can be started from again.
type Checkpoint struct {
	Name   string    `json:"name"`
	Taken  time.Time `json:"taken"`
	Queued int64     `json:"queued"`
	Bytes  int64     `json:"bytes"` // on disk
}
