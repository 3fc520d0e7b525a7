package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// Code names the reason of a problem; in the answer's type it follows "urn:holdfast:problem:".
type Code string

// The codes beside those of catalog.Code, which stand for a refused command.
const (
	CodeUnauthorized Code = "unauthorized"       // 401: no token, or not a good one
	CodeForbidden    Code = "forbidden"          // 403: the token's role may not do this
	CodeNotFound     Code = "not-found"          // 404, 410
	CodeMethod       Code = "method-not-allowed" // 405; Allow lists those that are
	CodeUnconfirmed  Code = "unconfirmed"        // 428: the errors say what the act would do, and what confirms it
	CodeInvalid      Code = "invalid"            // 400 or 422
	CodeNoQuorum     Code = "no-quorum"          // 503: nothing can be decided now
	CodeUnavailable  Code = "unavailable"        // 503: try again, or another node
	CodeTimeout      Code = "timeout"            // 504
	CodeDigest       Code = "digest-mismatch"    // 422: the bytes are not those announced
	CodeNoRoom       Code = "no-room"            // 507
	CodeIncomplete   Code = "incomplete-upload"  // 400: the body ended early
	CodeInternal     Code = "internal"           // 500: see the node's log
)

const problemType = "urn:holdfast:problem:"

// problem returns an error that is answered as it is.
func problem(status int, code Code, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Type: problemType + string(code), Title: http.StatusText(status), Status: status, Detail: detail}
}

// refusalStatus is the HTTP status of each refusal.
func refusalStatus(code catalog.Code) int {
	switch code {
	case catalog.Invalid:
		return http.StatusUnprocessableEntity
	case catalog.NotFound:
		return http.StatusNotFound
	case catalog.Conflict, catalog.Unsafe:
		return http.StatusConflict
	case catalog.Denied:
		return http.StatusForbidden
	case catalog.OutcomeUnknown:
		return http.StatusGatewayTimeout
	case catalog.Unsupported:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// explain turns any error into the problem that is answered. What is not meant for the client is logged here,
// and the client is told only that it happened.
func (s *server) explain(err error) *huma.ErrorModel {
	var model *huma.ErrorModel
	var refusal *catalog.Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &model):
		return model
	case errors.As(err, &refusal) && refusal.Code == catalog.Unsupported:
		return problem(refusalStatus(refusal.Code), Code(refusal.Code), refusal.Message+fmt.Sprintf(
			"; when every member has a program that knows it, raise the level: holdfast cluster level %d", catalog.Level))
	case errors.As(err, &refusal):
		return problem(refusalStatus(refusal.Code), Code(refusal.Code), refusal.Message)
	case errors.Is(err, ErrNoQuorum):
		return problem(http.StatusServiceUnavailable, CodeNoQuorum, err.Error())
	case errors.Is(err, ErrNotFound), errors.Is(err, catalog.ErrNotFound):
		return problem(http.StatusNotFound, CodeNotFound, err.Error())
	case errors.Is(err, ErrDigest):
		return problem(http.StatusUnprocessableEntity, CodeDigest, err.Error())
	case errors.Is(err, ErrInvalid), errors.Is(err, errCursor):
		return problem(http.StatusUnprocessableEntity, CodeInvalid, err.Error())
	case errors.Is(err, ErrNoRoom):
		return problem(http.StatusInsufficientStorage, CodeNoRoom, err.Error())
	case errors.Is(err, ErrUnavailable):
		return problem(http.StatusServiceUnavailable, CodeUnavailable, err.Error())
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, CodeInvalid, err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, CodeIncomplete, "the body ended before its announced length")
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, CodeTimeout, "no answer within the time allowed; what was asked may still be carried out")
	case errors.Is(err, context.Canceled):
		return problem(499, CodeTimeout, "the client went away")
	}
	s.log.Error("API request failed", "error", err)
	return problem(http.StatusInternalServerError, CodeInternal, "the node could not do this; its log says why")
}

// write answers with the problem from a middleware or a stream, where no handler's error is left to return.
func (s *server) write(_ huma.API, ctx huma.Context, p *huma.ErrorModel) {
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(p.Status)
	if err := json.NewEncoder(ctx.BodyWriter()).Encode(p); err != nil {
		s.log.Debug("answer not sent", "error", err)
	}
}

// Error is a problem that the server answered with.
type Error struct {
	Status  int      // HTTP status
	Code    Code     // the reason
	Detail  string   // for people
	Fields  []string // what is wrong with which field of the request, or what an act would do that is to be confirmed
	Confirm string   // of an act that is to be confirmed: the value that does it
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

// As gives the refusal when the problem is a refused command.
func (e *Error) As(target any) bool {
	refusal, ok := target.(**catalog.Refusal)
	if !ok {
		return false
	}
	switch code := catalog.Code(e.Code); code {
	case catalog.Invalid, catalog.NotFound, catalog.Conflict, catalog.Denied, catalog.Unsafe, catalog.OutcomeUnknown, catalog.Unsupported:
		*refusal = &catalog.Refusal{Code: code, Message: e.Detail}
		return true
	}
	return false
}
