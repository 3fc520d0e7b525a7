package logbook

import (
	"context"
	"encoding"
	"fmt"
	"log/slog"
	"time"
)

// handler takes the records of a logger and of those that are made of it.
type handler struct {
	book   *Book
	out    slog.Handler
	file   slog.Handler
	attrs  []Attribute // of the logger
	prefix string      // of the names of further attributes
}

// Enabled reports whether anybody takes records of the level.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.keeps(l) || h.out.Enabled(ctx, l)
}

func (h *handler) keeps(l slog.Level) bool { return int64(l) >= h.book.level.at.Load() }

// Handle passes a record on. What the program's log does with a record that it cannot write is its own affair: the
// other places get it all the same.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var err error
	keeps := h.keeps(r.Level)
	raised := keeps && r.Level < h.book.level.usual // then everybody gets what was asked for
	if raised || h.out.Enabled(ctx, r.Level) {
		err = h.out.Handle(ctx, r.Clone())
	}
	if !keeps {
		return err
	}
	l := Line{Time: r.Time, Level: name(r.Level), Message: clip(r.Message, maxValue)}
	l.Attributes = append(l.Attributes, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		l.Attributes = with(l.Attributes, h.prefix, a)
		return true
	})
	if h.file != nil {
		_ = h.file.Handle(ctx, r) // files takes every line
	}
	h.book.ring.add(l)
	return err
}

// WithAttrs returns the handler of a logger with the attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	next := *h
	next.out = h.out.WithAttrs(attrs)
	if h.file != nil {
		next.file = h.file.WithAttrs(attrs)
	}
	next.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		next.attrs = with(next.attrs, h.prefix, a)
	}
	return &next
}

// WithGroup returns the handler of a logger whose further attributes are in a group.
func (h *handler) WithGroup(group string) slog.Handler {
	if group == "" {
		return h
	}
	next := *h
	next.out = h.out.WithGroup(group)
	if h.file != nil {
		next.file = h.file.WithGroup(group)
	}
	next.prefix += group + "."
	return &next
}

// maxAttributes is how many attributes of a line are kept.
const maxAttributes = 64

// with appends an attribute, a group as its members.
func with(to []Attribute, prefix string, a slog.Attr) []Attribute {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) || len(to) >= maxAttributes {
		return to
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range v.Group() {
			to = with(to, prefix, member)
		}
		return to
	}
	return append(to, Attribute{clip(prefix+a.Key, maxName), clip(textOf(v), maxValue)})
}

// maxName is how many bytes of an attribute's name are kept.
const maxName = 200

// textOf is a value as slog writes it as text.
func textOf(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().UTC().Format(time.RFC3339Nano)
	case slog.KindAny:
		if t, ok := v.Any().(encoding.TextMarshaler); ok {
			if text, err := t.MarshalText(); err == nil {
				return string(text)
			}
		}
		if text, ok := v.Any().([]byte); ok {
			return string(text)
		}
		return fmt.Sprintf("%+v", v.Any())
	}
	return v.String()
}
