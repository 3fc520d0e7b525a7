// Package notice delivers notices: it writes them in their reader's language, and sends them by mail, to a webhook, or
// to standard error. Who is told of what, and when, is decided elsewhere. A notice has an id, which stays the same
// however often and by whichever node it is sent: receivers know by it what they have had.
package notice

import (
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/alert"
)

// Item is what a notice says of one alert.
type Item struct {
	Alert        alert.Alert
	Cleared      time.Time // when it was over; zero: it lasts
	Acknowledged string    // who knows of it, and why; empty: nobody said so
	Until        time.Time // of that
}

// Message is a notice before it is written in a language.
type Message struct {
	ID      string // the same for each try
	Cluster string // the cluster's name
	Node    string // that sends it
	Alone   bool   // it sends it without a quorum, as others may
	Test    bool
	News    []Item  // what is told for the first time
	Report  *Report // of a day; nil: it is none
	At      time.Time
	Pages   string // where the archivists' pages are; empty: this node does not know
}

// Report is what a report of a day tells, beside the news.
type Report struct {
	Lasting []Item    // what was told before and lasts
	More    int       // alerts that are not listed
	From    time.Time // it tells what came since
	Done    int       // jobs that have ended well
	Failed  int       // jobs that have failed
	AtLeast bool      // there may be more of these jobs
}

// Kind says what a message is, for programs. It keeps its meaning.
func (m *Message) Kind() string {
	switch {
	case m.Test:
		return "test"
	case m.Report != nil:
		return "report"
	case len(m.News) != 1:
		return "alerts"
	case m.News[0].Cleared.IsZero():
		return "alert.raised"
	}
	return "alert.cleared"
}

// Standard writes notices to a node's standard error.
type Standard struct{ Out io.Writer }

// Send writes the text, with the id before it, as lines that begin alike.
func (s Standard) Send(id string, text Text) error {
	var b strings.Builder
	fmt.Fprintf(&b, "notice %s: %s\n", id, text.Subject)
	for line := range strings.Lines(strings.TrimSpace(text.Body)) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "notice %s: %s\n", id, line)
		}
	}
	if _, err := io.WriteString(s.Out, b.String()); err != nil {
		return fmt.Errorf("write a notice to standard error: %w", err)
	}
	return nil
}

// Redact returns the text without what must not be shown, in whatever way it stands there.
func Redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) > 1 { // "/" is no secret
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	return alert.Plain(text)
}
