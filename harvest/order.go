package harvest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Act is what an Order asks a running crawl to do.
type Act string

// The acts. Each names the fields of Order that it reads.
const (
	ActLive        Act = "live"        // counts, rates, slowest hosts, workers; reads nothing
	ActPause       Act = "pause"       // Reason, For: resume by itself after that
	ActResume      Act = "resume"      //
	ActStop        Act = "stop"        // Reason, For: how long fetches in flight may still take
	ActKill        Act = "kill"        // URL or Worker: abort one fetch; the URI ends with status -7000
	ActSeeds       Act = "seeds"       // Seeds: add them
	ActChange      Act = "change"      // Settings
	ActExplain     Act = "explain"     // URL, Path, Via: the settings that apply to it, and each rule's decision
	ActQueues      Act = "queues"      // Queue, State, Sort, Limit: list queues
	ActDomains     Act = "domains"     // Pattern, State, After, Limit: what was fetched of each registered domain
	ActURIs        Act = "uris"        // Queue, Pattern, After, Limit: list queued URIs
	ActDelete      Act = "delete"      // Queue, Pattern: end queued URIs with status -6000
	ActFreeze      Act = "freeze"      // Queue
	ActUnfreeze    Act = "unfreeze"    // Queue
	ActRetire      Act = "retire"      // Queue
	ActBudget      Act = "budget"      // Queue, Session, Total: give queues other budgets; retired ones come back
	ActBlock       Act = "block"       // URL, SURT prefix or host: fetch nothing from there
	ActUnblock     Act = "unblock"     // the same
	ActForget      Act = "forget"      // URL: as if it had never been seen; it is taken when found again
	ActNever       Act = "never"       // URL: it ends with status -5001 and is not taken again
	ActCheckpoint  Act = "checkpoint"  // Name: default a time
	ActCheckpoints Act = "checkpoints" //
	ActRestore     Act = "restore"     // Name: start from that checkpoint again
	ActEvents      Act = "events"      // After, Limit: what happened
	ActSearch      Act = "search"      // Log, Pattern, After, Limit: lines of a log, newest first
	ActReport      Act = "report"      // Name, Pattern, After, Limit: lines of a report, written first without After
)

// Order is one act of live control. All by which URIs and queues are chosen are regular expressions (RE2).
type Order struct {
	Act      Act                        `json:"act"`
	By       string                     `json:"by,omitempty"` // who gives it
	Reason   string                     `json:"reason,omitempty"`
	For      Duration                   `json:"for,omitempty"`
	URL      string                     `json:"url,omitempty"`
	Path     string                     `json:"path,omitempty"` // hops
	Via      string                     `json:"via,omitempty"`
	Worker   int                        `json:"worker,omitempty"`
	Seeds    []string                   `json:"seeds,omitempty"`
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
	Queue    string                     `json:"queue,omitempty"`   // expression
	Pattern  string                     `json:"pattern,omitempty"` // expression
	State    string                     `json:"state,omitempty"`
	Sort     string                     `json:"sort,omitempty"`
	Session  *int64                     `json:"session_budget,omitempty"`
	Total    *int64                     `json:"total_budget,omitempty"`
	Name     string                     `json:"name,omitempty"`
	Log      string                     `json:"log,omitempty"`
	After    string                     `json:"after,omitempty"`
	Limit    int                        `json:"limit,omitempty"`
}

// Reply is the answer to an order; it has only the fields of that act.
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
	Missed      bool              `json:"missed,omitempty"` // there were events after the one asked for that are kept no more
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
	For    Duration `json:"for"` // so long it has been at this URI
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

// DomainsStopped is the Order.State of domains that are at a limit.
const DomainsStopped = "stopped"

// DomainCount counts what a crawl fetched of one registered domain, as its limits count it: documents, without
// robots.txt and DNS.
type DomainCount struct {
	Domain  string `json:"domain"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Stopped string `json:"stopped_by,omitempty"` // the limit: config-object, config-size, harvest-object or harvest-size
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
	URL       string            `json:"url"`
	Canonical string            `json:"canonical"`
	Known     string            `json:"known"`            // "new", "queued", "under way: fetch", "finished with status 200"
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

// The fields that each order needs.
func (o Order) needs() []string {
	switch o.Act {
	case ActExplain, ActBlock, ActUnblock, ActForget, ActNever:
		return []string{"url"}
	case ActSeeds:
		return []string{"seeds"}
	case ActChange:
		return []string{"settings"}
	case ActDelete:
		return []string{"pattern"}
	case ActFreeze, ActUnfreeze, ActRetire, ActBudget:
		return []string{"queue"}
	case ActRestore, ActReport:
		return []string{"name"}
	}
	return nil
}

// wanted describes the value that an act needs in a field.
func wanted(field string) string {
	return map[string]string{"url": "the URL it is about", "seeds": "at least one seed", "settings": "at least one setting and its value",
		"pattern": "an expression of URIs, or of queues", "queue": "an expression of queues' names", "name": "a name"}[field]
}

// MaxListed is how many entries one Reply lists.
const MaxListed = 10_000

// Validate reports whether the order is valid; the error names the field, the given value and the allowed values.
func (o Order) Validate() error {
	known := []Act{ActLive, ActPause, ActResume, ActStop, ActKill, ActSeeds, ActChange, ActExplain, ActQueues, ActDomains, ActURIs, ActDelete, ActFreeze,
		ActUnfreeze, ActRetire, ActBudget, ActBlock, ActUnblock, ActForget, ActNever, ActCheckpoint, ActCheckpoints, ActRestore, ActEvents, ActSearch, ActReport}
	if !slices.Contains(known, o.Act) {
		return invalid("act", strconv.Quote(string(o.Act)), strings.Trim(fmt.Sprint(known), "[]"))
	}
	given := map[string]bool{"url": o.URL != "", "seeds": len(o.Seeds) > 0, "settings": len(o.Settings) > 0, "pattern": o.Pattern != "" || o.Queue != "", "queue": o.Queue != "", "name": o.Name != ""}
	for _, name := range o.needs() {
		if !given[name] {
			field := string(o.Act) + ": " + name
			if name == string(o.Act) {
				field = name
			}
			return invalid(field, "nothing", wanted(name))
		}
	}
	if o.Act == ActKill && o.URL == "" && o.Worker == 0 {
		return invalid("kill: url", "nothing", "a URL, or a worker's number")
	}
	for name, text := range map[string]string{"queue": o.Queue, "pattern": o.Pattern} {
		if _, err := regexp.Compile(text); err != nil {
			return invalid(name, strconv.Quote(text), "a regular expression ("+err.Error()+")")
		}
	}
	if o.Limit < 0 || o.Limit > MaxListed {
		return invalid("limit", strconv.Itoa(o.Limit), fmt.Sprintf("0 to %d", MaxListed))
	}
	if err := CheckSeeds(o.Seeds); err != nil {
		return err
	}
	if o.For < 0 {
		return invalid("for", o.For.String(), "a length of time")
	}
	return nil
}

// Reads reports whether the order changes nothing.
func (o Order) Reads() bool {
	return slices.Contains([]Act{ActLive, ActExplain, ActQueues, ActDomains, ActURIs, ActCheckpoints, ActEvents, ActSearch, ActReport}, o.Act)
}

// Kept reports whether the order only reads what a crawl wrote into its folder, and can be answered after the crawl's
// end too.
func (o Order) Kept() bool {
	return slices.Contains([]Act{ActEvents, ActSearch, ActReport, ActExplain}, o.Act)
}
