package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/node/config"
)

// failure is an error as JSON, on stderr: {"error": {"code": …, "message": …, "exit": …, "fields": […]}}. Its shape is
// stable.
type failure struct {
	Error failed `json:"error"`
}

type failed struct {
	Code    string   `json:"code"`             // the API's code, or one of this package's
	Message string   `json:"message"`          // for people
	Exit    int      `json:"exit"`             // the exit code
	Fields  []string `json:"fields,omitempty"` // which field of the request is wrong, and why
}

// Codes beside the API's.
const (
	codeUsage       = "usage"         // arguments that do not go together
	codeConfig      = "configuration" // a cluster.toml that cannot be used
	codeInterrupted = "interrupted"
	codeNotYet      = "not-yet" // in the archive, with fewer verified copies than were asked for
	codeFailed      = "failed"  // anything else
)

// fail prints an error to stderr, as JSON where that was asked for.
func fail(stderr io.Writer, asJSON bool, err error, exit int) {
	text := err.Error()
	if exit == exitInterrupted {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	if !asJSON {
		fmt.Fprintln(stderr, "holdfast:", text)
		return
	}
	out := failure{failed{Code: codeText(err, exit), Message: text, Exit: exit}}
	var answered *wire.Error
	if errors.As(err, &answered) {
		out.Error.Fields = answered.Fields
	}
	encode := json.NewEncoder(stderr)
	encode.SetEscapeHTML(false)
	_ = encode.Encode(out) // stderr is gone: nobody is left to tell
}

// codeText is the code of an error.
func codeText(err error, exit int) string {
	var answered *wire.Error
	switch {
	case exit == exitInterrupted:
		return codeInterrupted
	case exit == exitNotYet:
		return codeNotYet
	case errors.As(err, &answered) && answered.Code != "":
		return string(answered.Code)
	case errors.Is(err, wire.ErrNoQuorum):
		return string(wire.CodeNoQuorum)
	case errors.Is(err, wire.ErrUnavailable):
		return string(wire.CodeUnavailable)
	case errors.Is(err, wire.ErrDigest):
		return string(wire.CodeDigest)
	case errors.Is(err, config.ErrConfig), exit == exitConfig:
		return codeConfig
	case errors.Is(err, harvest.ErrInvalid), errors.Is(err, wire.ErrInvalid):
		return string(wire.CodeInvalid)
	case exit == exitUsage:
		return codeUsage
	}
	return codeFailed
}
