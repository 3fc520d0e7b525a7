package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	agreed "holdfast/catalog/approvals"
)

// problem returns an error that is answered as it is.
func problem(status int, code wire.Code, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Type: wire.ProblemType + string(code), Title: http.StatusText(status), Status: status,
		Detail: detail}
}

// refusalStatus is the HTTP status of each refusal.
func refusalStatus(code catalog.Code) int {
	switch code {
	case catalog.Invalid:
		return http.StatusUnprocessableEntity
	case catalog.NotFound:
		return http.StatusNotFound
	case catalog.Conflict, catalog.Unsafe, agree.Unapproved, agree.OnlyStaged:
		return http.StatusConflict
	case agree.Stale:
		return http.StatusPreconditionFailed
	case catalog.Denied:
		return http.StatusForbidden
	case catalog.OutcomeUnknown:
		return http.StatusGatewayTimeout
	case catalog.Unsupported:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// explain turns any error into the problem that is answered. Internal errors are logged here, and the client only
// learns that one happened.
func (s *server) explain(err error) *huma.ErrorModel {
	var model *huma.ErrorModel
	var refusal *catalog.Refusal
	var waits *agreed.Pending
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &model):
		return model
	case errors.As(err, &waits):
		return pending(waits)
	case errors.As(err, &refusal) && refusal.Code == catalog.Unsupported:
		return problem(refusalStatus(refusal.Code), wire.Code(refusal.Code), refusal.Message+fmt.Sprintf(
			"; when every member has a program that knows it, raise the level: holdfast cluster level %d",
			catalog.Level))
	case errors.As(err, &refusal):
		return problem(refusalStatus(refusal.Code), wire.Code(refusal.Code), refusal.Message)
	case errors.Is(err, ErrNoQuorum):
		return problem(http.StatusServiceUnavailable, wire.CodeNoQuorum, err.Error())
	case errors.Is(err, ErrNotFound), errors.Is(err, catalog.ErrNotFound):
		return problem(http.StatusNotFound, wire.CodeNotFound, err.Error())
	case errors.Is(err, ErrDigest):
		return problem(http.StatusUnprocessableEntity, wire.CodeDigest, err.Error())
	case errors.Is(err, ErrInvalid), errors.Is(err, errCursor):
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	case errors.Is(err, ErrNoRoom):
		return problem(http.StatusInsufficientStorage, wire.CodeNoRoom, err.Error())
	case errors.Is(err, ErrUnavailable):
		return problem(http.StatusServiceUnavailable, wire.CodeUnavailable, err.Error())
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, wire.CodeInvalid, err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, wire.CodeIncomplete, "the body ended before its announced length")
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, wire.CodeTimeout,
			"no answer within the time allowed; what was asked may still be carried out")
	case errors.Is(err, context.Canceled):
		return problem(499, wire.CodeTimeout, "the client went away")
	}
	s.log.Error("API request failed", "error", err)
	return problem(http.StatusInternalServerError, wire.CodeInternal, "the node could not do this; its log says why")
}

// write answers with the problem from a middleware or a stream, where no handler's error is left to return.
func (s *server) write(_ huma.API, ctx huma.Context, p *huma.ErrorModel) {
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(p.Status)
	if err := json.NewEncoder(ctx.BodyWriter()).Encode(codedOf(p)); err != nil {
		s.log.Debug("answer not sent", "error", err)
	}
}
