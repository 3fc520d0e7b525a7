package raft

import (
	"context"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// libraryLog is an hclog.Logger that writes to a slog.Logger. What the Raft library calls an error is routine for a
// cluster (a node that is away), so every message is logged one level lower.
type libraryLog struct {
	log     *slog.Logger
	name    string
	implied []any
}

var _ hclog.Logger = libraryLog{}

func slogLevel(level hclog.Level) slog.Level {
	switch level {
	case hclog.Error:
		return slog.LevelWarn
	case hclog.Warn:
		return slog.LevelInfo
	case hclog.Info:
		return slog.LevelDebug
	}
	return slog.LevelDebug - 4
}

// Log writes one message.
func (l libraryLog) Log(level hclog.Level, msg string, args ...any) {
	at := slogLevel(level)
	if !l.log.Enabled(context.Background(), at) {
		return
	}
	plain := make([]any, len(args))
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok {
			a = formatted(f)
		}
		plain[i] = a
	}
	l.log.Log(context.Background(), at, msg, plain...)
}

func (l libraryLog) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l libraryLog) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l libraryLog) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l libraryLog) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l libraryLog) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l libraryLog) enabled(level hclog.Level) bool {
	return l.log.Enabled(context.Background(), slogLevel(level))
}

func (l libraryLog) IsTrace() bool { return l.enabled(hclog.Trace) }
func (l libraryLog) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l libraryLog) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l libraryLog) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l libraryLog) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs returns what With has added.
func (l libraryLog) ImpliedArgs() []any { return l.implied }

// With returns a logger that adds args to each message.
func (l libraryLog) With(args ...any) hclog.Logger {
	return libraryLog{log: l.log.With(args...), name: l.name, implied: slices.Concat(l.implied, args)}
}

// Name returns the logger's name.
func (l libraryLog) Name() string { return l.name }

// Named returns a logger with a longer name.
func (l libraryLog) Named(name string) hclog.Logger {
	l.name = strings.TrimPrefix(l.name+"."+name, ".")
	return l
}

// ResetNamed returns a logger with another name.
func (l libraryLog) ResetNamed(name string) hclog.Logger {
	l.name = name
	return l
}

// SetLevel does nothing: the slog.Logger has the say.
func (l libraryLog) SetLevel(hclog.Level) {}

// GetLevel returns the level of everything: the slog.Logger filters.
func (l libraryLog) GetLevel() hclog.Level { return hclog.Trace }

// StandardLogger returns a log.Logger that writes here.
func (l libraryLog) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(opts), "", 0)
}

// StandardWriter returns a writer whose lines become messages.
func (l libraryLog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineLog(l) }

type lineLog libraryLog

func (l lineLog) Write(p []byte) (int, error) {
	libraryLog(l).Log(hclog.Info, strings.TrimSpace(string(p)))
	return len(p), nil
}
