// Package trace notes what a program does as spans, and sends them to a collector by OTLP over HTTP, as JSON. A span
// has a name, a beginning and an end, a few attributes, and one span that it is part of.
//
// A nil Tracer is one that notes nothing, and so is a nil Span: who is traced need not ask whether that is wanted.
// Noting a span never waits: when too many are on their way, they are dropped, and the log says how many.
package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of what is noted.
const (
	maxQueue      = 4096 // spans that wait to be sent
	maxAttributes = 16   // of a span
	maxText       = 200  // bytes of a name or of an attribute's value
)

// Attribute is a fact about a span. It must not have secrets: whoever reads the collector reads it.
type Attribute struct {
	Key   string
	Value any // text, int, int64 or bool; anything else is left out
}

// Span is something that is done. Its methods may be called at any time, by one goroutine at a time; after End, they do
// nothing.
type Span struct {
	tracer *Tracer
	record record
	mu     sync.Mutex
	ended  bool
}

// record is a span as it is sent.
type record struct {
	trace      [16]byte
	id, parent [8]byte // parent is zero of a span that is part of no other
	name       string
	kind       int
	begin, end time.Time
	attributes []Attribute
	failed     bool
	why        string
}

// Kinds of spans, as OTLP numbers them.
const (
	Internal = 1
	Server   = 2
	Client   = 3
)

type key struct{}

// of returns the span of a context, nil if it has none.
func of(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}

// Root begins a span that is part of no other, in a trace of its own.
func (t *Tracer) Root(ctx context.Context, name string, kind int, of ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var trace [16]byte
	rand.Read(trace[:])
	return t.begin(ctx, trace, [8]byte{}, name, kind, of)
}

// Of begins a span in the trace of a thing, such as a file: all that programs of the same Scope do with the same thing
// is in one trace, wherever they run.
func (t *Tracer) Of(ctx context.Context, what, thing, name string, of ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	sum := sha256.Sum256([]byte(t.cfg.Scope + "\x00" + what + "\x00" + thing))
	return t.begin(ctx, [16]byte(sum[:16]), [8]byte{}, name, Internal, of)
}

// Part begins a span that is part of the one in the context. Without one, nothing is noted.
func Part(ctx context.Context, name string, about ...Attribute) (context.Context, *Span) {
	whole := of(ctx)
	if whole == nil {
		return ctx, nil
	}
	return whole.tracer.begin(ctx, whole.record.trace, whole.record.id, name, Internal, about)
}

func (t *Tracer) begin(ctx context.Context, trace [16]byte, parent [8]byte, name string, kind int,
	about []Attribute) (context.Context, *Span) {
	s := &Span{tracer: t, record: record{trace: trace, parent: parent, name: clip(name), kind: kind,
		begin: t.cfg.Now()}}
	rand.Read(s.record.id[:])
	s.Note(about...)
	return context.WithValue(ctx, key{}, s), s
}

func (s *Span) rename(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.name = clip(name)
}

// Note adds facts to the span.
func (s *Span) Note(about ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range about {
		if text, is := a.Value.(string); is {
			a.Value = clip(text)
		}
		if !s.ended && len(s.record.attributes) < maxAttributes {
			s.record.attributes = append(s.record.attributes, a)
		}
	}
}

// End ends the span. An error marks it as failed; its text is not sent, since it may say what is not for a collector.
func (s *Span) End(err error) {
	s.end(err != nil, "")
}

// Fail ends the span as failed, with a word that says why.
func (s *Span) Fail(why string) { s.end(true, clip(why)) }

func (s *Span) end(failed bool, why string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	s.record.failed, s.record.why, s.record.end = failed, why, s.tracer.cfg.Now()
	if s.record.end.Round(0).Before(s.record.begin.Round(0)) { // the clock was set back
		s.record.end = s.record.begin
	}
	s.tracer.queue(s.record)
}

// clip shortens a text at a letter's end.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
