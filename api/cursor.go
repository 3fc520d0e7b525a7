package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errCursor = errors.New("after: not a cursor of this list")

// Cursors are text that clients return without reading it: the kind of the list, a dash, and the position. The
// patterns are those in the API's description.
const (
	fileCursor    = `^(|f-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`
	jobCursor     = `^(|j-(0|[1-9][0-9]{0,18}))$`
	eventCursor   = `^(|e-(0|[1-9][0-9]{0,18}))$`
	listCursor    = `^(|[nc]-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`
	nothingBefore = ""
)

// makeCursor makes the cursor of a position that is text.
func makeCursor(kind, position string) string {
	return kind + "-" + base64.RawURLEncoding.EncodeToString([]byte(position))
}

// openCursor returns the position; the empty cursor is the list's start.
func openCursor(cursor, kind string) (string, error) {
	if cursor == nothingBefore {
		return "", nil
	}
	text, ok := strings.CutPrefix(cursor, kind+"-")
	if !ok {
		return "", errCursor
	}
	position, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCursor, err)
	}
	return string(position), nil
}

// makeNumberCursor makes the cursor of a position that is a number.
func makeNumberCursor(kind string, position uint64) string {
	return kind + "-" + strconv.FormatUint(position, 10)
}

// openNumberCursor returns the position; there is none in the empty cursor, the list's start.
func openNumberCursor(cursor, kind string) (position uint64, there bool, err error) {
	if cursor == nothingBefore {
		return 0, false, nil
	}
	text, ok := strings.CutPrefix(cursor, kind+"-")
	if !ok {
		return 0, false, errCursor
	}
	if position, err = strconv.ParseUint(text, 10, 63); err != nil || text != strconv.FormatUint(position, 10) {
		return 0, false, errCursor
	}
	return position, true, nil
}
