// Package wire has the JSON of the HTTP API: what requests ask for and what answers say, as the server and the Go
// client both write it. The description of the API, /openapi.json, is made of these types.
//
// It knows nothing of the archive but how a crawl's settings are written: a job that is asked for has them in it, and
// package harvest describes them once. Names and ids are text here; whoever answers checks them.
package wire

// Page is a page of a list. Next, when there is more, is the cursor that the next request gives as "after".
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"cursor of the next page; absent on the last"`
	Total *int64 `json:"total,omitempty" doc:"how many items all pages have; absent where they are not counted"`

	// Silent are nodes that were asked for what they know and did not answer; it is not on the page.
	Silent []SilentNode `json:"silent,omitempty" doc:"nodes that did not answer: what only they know is missing; absent if there is none"`
}

// MaxPage is how many items a page has at most.
const MaxPage = 1000

// Headers of requests and answers beside the standard ones.
const (
	DigestHeader     = "Holdfast-SHA256"     // the file's SHA-256, 64 hexadecimal digits
	CollectionHeader = "Holdfast-Collection" // the collection that an uploaded file is to belong to
	JobsHeader       = "Holdfast-Jobs"       // the jobs that an index has, with commas
	// IncompleteHeader has those of the jobs of an index of which the metadata file of an earlier attempt is lost.
	IncompleteHeader = "Holdfast-Incomplete"
	MissingHeader    = "Holdfast-Missing" // the jobs that an index was asked of and does not have, with commas
	// UnmadeHeader has the runs of a harvest whose jobs are being made, or could not all be made: at most 100.
	UnmadeHeader = "Holdfast-Unmade"
)

// Wish is what is wanted of something that goes on.
type Wish string

// The wishes. A job that is shown without a wish is meant to run.
const (
	WishRun   Wish = "run"
	WishPause Wish = "pause"
	WishStop  Wish = "stop"
)

// WishBody asks that something that goes on pauses, runs on, or stops.
type WishBody struct {
	Wish   Wish   `json:"wish" enum:"run,pause,stop"`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// ReasonRequest says why something is done, for the audit trail.
type ReasonRequest struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

// Confirmation is part of a request that must be confirmed.
type Confirmation struct {
	Confirm string `json:"confirm,omitempty" maxLength:"64" doc:"the value of confirm from the refusal (428) of the same request; without it, the answer only says what the request would do"`
}
