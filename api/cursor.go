package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

var errCursor = errors.New("after: not a cursor of this list")

// makeCursor turns a position in a list of a kind into text that clients hand back and do not read.
func makeCursor(kind, position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + position))
}

// openCursor returns the position; the empty cursor is the list's start.
func openCursor(cursor, kind string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCursor, err)
	}
	position, ok := strings.CutPrefix(string(text), kind+":")
	if !ok {
		return "", errCursor
	}
	return position, nil
}
