package wire

import (
	"errors"
	"strings"
)

// Code names the reason of a problem; in the answer's type it follows ProblemType.
type Code string

// The codes of what the API itself refuses or cannot do.
const (
	CodeUnauthorized Code = "unauthorized"       // 401: no token, or not a good one
	CodeForbidden    Code = "forbidden"          // 403: the token's role may not do this
	CodeNotFound     Code = "not-found"          // 404, 410
	CodeMethod       Code = "method-not-allowed" // 405; Allow lists the methods of the path
	CodeUnconfirmed  Code = "unconfirmed"        // 428: the errors list what the act would do, and the value of confirm
	CodeInvalid      Code = "invalid"            // 400 or 422
	CodeNoQuorum     Code = "no-quorum"          // 503: nothing can be decided now
	CodeUnavailable  Code = "unavailable"        // 503: try again, or another node
	CodeTimeout      Code = "timeout"            // 504
	CodeDigest       Code = "digest-mismatch"    // 422: the bytes are not those announced
	CodeNoRoom       Code = "no-room"            // 507
	CodeIncomplete   Code = "incomplete-upload"  // 400: the body ended early
	CodeInternal     Code = "internal"           // 500: see the node's log
)

// The codes of a command that the cluster refused, beside CodeInvalid and CodeNotFound.
const (
	CodeConflict       Code = "conflict"        // 409: the state has moved on, or says otherwise
	CodeDenied         Code = "denied"          // 403: a token that is wrong, expired, used or revoked
	CodeStale          Code = "stale"           // 412: what it changes has another version than If-Match says
	CodeRepeated       Code = "repeated"        // 409: it was carried out already, and its secret was shown then
	CodePending        Code = "approval-waits"  // 409: it was not done, and proposed: it waits for a second person
	CodeUnapproved     Code = "unapproved"      // 409: it waits for a second person, and was not proposed
	CodeOnlyStaged     Code = "only-staged"     // 409: the layout changes by staging and applying alone
	CodeUnsafe         Code = "unsafe"          // 409: it would lose the last good copy or an unreleased file
	CodeOutcomeUnknown Code = "outcome-unknown" // 504: it may or may not have been carried out
	CodeUnsupported    Code = "unsupported"     // 501: the cluster's level is too low for it
)

// ProblemType begins the type of each problem; its code follows.
const ProblemType = "urn:holdfast:problem:"

// ConfirmField is where the refusal of an act that must be confirmed gives the value that confirms it.
const ConfirmField = "body.confirm"

// ApprovalField is where the answer to an act that waits for a second person gives the proposal's number.
const ApprovalField = "approval"

// Problem is an answer that is no success, as application/problem+json (RFC 9457).
type Problem struct {
	Type   string         `json:"type"`
	Status int            `json:"status"`
	Detail string         `json:"detail"`
	Errors []ProblemField `json:"errors"`
}

// ProblemField is what is wrong with one field of a request.
type ProblemField struct {
	Message  string            `json:"message,omitempty" doc:"what is wrong, in English"`
	Location string            `json:"location,omitempty" doc:"where, such as body.items[3].tags or path.name"`
	Value    any               `json:"value,omitempty" doc:"the value there"`
	Code     FieldCode         `json:"code,omitempty" doc:"what is wrong, as one of a few words"`
	Params   map[string]string `json:"params,omitempty" doc:"what belongs to the code, such as max"`
}

// FieldCode names what is wrong with a field.
type FieldCode string

// The codes, with their parameters.
const (
	FieldUnknown    FieldCode = "unknown"     // there is no such field
	FieldRequired   FieldCode = "required"    // property: it is missing
	FieldType       FieldCode = "type"        // want
	FieldFormat     FieldCode = "format"      // want
	FieldTooShort   FieldCode = "too-short"   // min, in characters
	FieldTooLong    FieldCode = "too-long"    // max, in characters
	FieldTooSmall   FieldCode = "too-small"   // min
	FieldTooLarge   FieldCode = "too-large"   // max
	FieldTooFew     FieldCode = "too-few"     // min, of items
	FieldTooMany    FieldCode = "too-many"    // max, of items
	FieldTwice      FieldCode = "twice"       // an item is there twice
	FieldNotOneOf   FieldCode = "not-one-of"  // allowed, separated by ", "
	FieldNotAllowed FieldCode = "not-allowed" // given, allowed: in English
	FieldRefused    FieldCode = "refused"     // the message says why
)

// What callers act on. An *Error is one of them by errors.Is; the server's backend returns them.
var (
	ErrNoQuorum = errors.New("the cluster has no quorum: nothing can be decided until most of its voters can " +
		"reach each other")
	ErrNotFound    = errors.New("not found")
	ErrUnavailable = errors.New("not available just now") // the node that could answer is not reached, or is busy
	ErrDigest      = errors.New("the bytes do not match their digest")
	ErrNoRoom      = errors.New("no room left on the node's disks")
	ErrInvalid     = errors.New("invalid request")
)

// Error is a problem that the server answered with.
type Error struct {
	Status  int            // HTTP status
	Code    Code           // the reason
	Detail  string         // for people
	Fields  []string       // which fields of the request are wrong, or the effects of an act that has to be confirmed
	Wrong   []ProblemField // the fields that are wrong, as data
	Confirm string         // of an act that is to be confirmed: the value that does it
	Pending string         // of an act that waits for a second person: the proposal's number
}

// Error returns the detail, with the fields that are wrong.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Detail
	}
	return e.Detail + ": " + strings.Join(e.Fields, "; ")
}

// Is reports whether the problem stands for one of this package's sentinel errors.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNoQuorum:
		return e.Code == CodeNoQuorum
	case ErrNotFound:
		return e.Code == CodeNotFound
	case ErrUnavailable:
		return e.Code == CodeUnavailable || e.Code == CodeTimeout
	case ErrDigest:
		return e.Code == CodeDigest
	case ErrNoRoom:
		return e.Code == CodeNoRoom
	case ErrInvalid:
		return e.Code == CodeInvalid
	}
	return false
}

// AsError returns the problem as an error.
func (p *Problem) AsError() *Error {
	e := &Error{Status: p.Status, Detail: p.Detail, Code: Code(strings.TrimPrefix(p.Type, ProblemType))}
	if !strings.HasPrefix(p.Type, ProblemType) {
		e.Code = CodeInvalid
		if p.Status >= 500 {
			e.Code = CodeInternal
		}
	}
	for _, field := range p.Errors {
		if value, ok := field.Value.(string); ok && field.Location == ConfirmField && e.Code == CodeUnconfirmed {
			e.Confirm = value
			continue
		}
		if value, ok := field.Value.(string); ok && field.Location == ApprovalField && e.Code == CodePending {
			e.Pending = value
			continue
		}
		if field.Code != "" {
			e.Wrong = append(e.Wrong, field)
			if strings.Contains(p.Detail, field.Message) {
				continue // the detail has it already
			}
		}
		if text := strings.TrimSpace(strings.TrimPrefix(field.Location+": ", ": ") + field.Message); text != "" {
			e.Fields = append(e.Fields, text)
		}
	}
	return e
}
