package raft

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// formatted carries out an hclog.Format: a format and its arguments.
func formatted(f hclog.Format) string {
	if len(f) == 0 {
		return ""
	}
	format, ok := f[0].(string)
	if !ok {
		return fmt.Sprint(f...)
	}
	return message(format, f[1:])
}

// message formats a library's message on one line.
func message(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
