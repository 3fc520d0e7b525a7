package report

import (
	"context"
	"log/slog"
)

// Alerts is a slog.Handler that writes warnings and errors to alerts.log, reports them, and passes every record on.
type Alerts struct {
	next  slog.Handler
	log   *Log
	from  string
	tell  func(alert string)
	attrs []slog.Attr
}

// NewAlerts passes records on to next. from is written into each alert. tell is called with each alert, as "WARNING:
// what"; it must not log.
func NewAlerts(next slog.Handler, log *Log, from string, tell func(alert string)) *Alerts {
	return &Alerts{next: next, log: log, from: from, tell: tell}
}

// Enabled implements slog.Handler.
func (a *Alerts) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || a.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (a *Alerts) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		level := "WARNING"
		if r.Level >= slog.LevelError {
			level = "SEVERE"
		}
		message := []byte(r.Message)
		add := func(at slog.Attr) bool {
			message = append(message, ' ')
			message = append(append(append(message, at.Key...), '='), at.Value.Resolve().String()...)
			return len(message) < maxText
		}
		for _, at := range a.attrs {
			add(at)
		}
		r.Attrs(add)
		a.log.Add(func(b []byte) []byte { return AppendAlert(b, r.Time, a.from, level, string(message)) })
		a.tell(level + ": " + string(message))
	}
	if !a.next.Enabled(ctx, r.Level) {
		return nil
	}
	return a.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (a *Alerts) WithAttrs(attrs []slog.Attr) slog.Handler {
	b := *a
	b.next = a.next.WithAttrs(attrs)
	b.attrs = append(a.attrs[:len(a.attrs):len(a.attrs)], attrs...)
	return &b
}

// WithGroup implements slog.Handler. In alerts, attributes are written without their groups.
func (a *Alerts) WithGroup(name string) slog.Handler {
	b := *a
	b.next = a.next.WithGroup(name)
	return &b
}
