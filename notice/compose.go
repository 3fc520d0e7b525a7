package notice

import (
	"strconv"
	"strings"
	"time"

	"holdfast/alert"
	"holdfast/internal/words"
)

// Text is a notice in a language: plain text of any characters.
type Text struct {
	Subject string // one line
	Body    string
}

// mostSubject bounds the characters of a subject.
const mostSubject = 150

// Compose writes a notice in a language, with the times of a zone. What comes from elsewhere, such as the reason of an
// error, is in one line and cannot steer a terminal.
func Compose(l *words.Language, zone *time.Location, m *Message) Text {
	w := &writer{l: l, zone: zone}
	switch {
	case m.Test:
		w.line(l.Text("notice.test"))
	case m.Report != nil:
		w.report(m)
	default:
		for i := range m.News {
			if i > 0 {
				w.line("")
			}
			w.item(&m.News[i])
		}
	}
	w.line("")
	if m.Pages != "" {
		w.line(l.Text("notice.pages", "address", m.Pages))
	}
	if m.Alone {
		w.line(l.Text("notice.sent-alone", "node", alert.Plain(m.Node), "cluster", alert.Plain(m.Cluster)))
	} else {
		w.line(l.Text("notice.sent", "node", alert.Plain(m.Node), "cluster", alert.Plain(m.Cluster)))
	}
	return Text{Subject: clip(subject(l, zone, m)), Body: w.b.String()}
}

func subject(l *words.Language, zone *time.Location, m *Message) string {
	cluster := alert.Plain(m.Cluster)
	switch {
	case m.Test:
		return l.Text("notice.subject-test", "cluster", cluster)
	case m.Report != nil:
		return l.Text("notice.subject-report", "cluster", cluster, "date", l.Date(m.At.In(zone)))
	case len(m.News) != 1:
		return l.Text("notice.subject-many", "cluster", cluster, "count", len(m.News))
	}
	text := Say(l, m.News[0].Alert)
	if m.News[0].Cleared.IsZero() {
		return l.Text("notice.subject", "cluster", cluster, "text", text)
	}
	return l.Text("notice.subject-over", "cluster", cluster, "text", text)
}

func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= mostSubject {
		return text
	}
	return string(runes[:mostSubject-1]) + "…"
}

// writer writes the lines of a notice.
type writer struct {
	l    *words.Language
	zone *time.Location
	b    strings.Builder
}

func (w *writer) line(text string) {
	w.b.WriteString(text)
	w.b.WriteByte('\n')
}

func (w *writer) moment(t time.Time) string { return w.l.Minute(t.In(w.zone)) }

// item writes what there is to say of one alert.
func (w *writer) item(it *Item) {
	l, a := w.l, &it.Alert
	w.line(Say(l, *a))
	switch {
	case !it.Cleared.IsZero():
		w.line("  " + l.Text("notice.over", "since", w.moment(a.Since), "until", w.moment(it.Cleared)))
	case a.Severity == alert.Bad:
		w.line("  " + l.Text("notice.bad", "since", w.moment(a.Since)))
	default:
		w.line("  " + l.Text("notice.look", "since", w.moment(a.Since)))
	}
	if a.Node != "" {
		w.line("  " + l.Text("notice.seen-by", "node", alert.Plain(a.Node)))
	}
	if it.Acknowledged != "" && it.Cleared.IsZero() {
		w.line("  " + l.Text("notice.acknowledged", "who", alert.Plain(it.Acknowledged), "until", w.moment(it.Until)))
	}
}

// report writes a report of a day.
func (w *writer) report(m *Message) {
	l, r := w.l, m.Report
	var began, over []Item
	for _, it := range m.News {
		if it.Cleared.IsZero() {
			began = append(began, it)
		} else {
			over = append(over, it)
		}
	}
	if len(began)+len(r.Lasting)+r.More == 0 {
		w.line(l.Text("notice.report-none"))
	}
	parts := []struct {
		head  string
		items []Item
	}{{l.Text("notice.report-new"), began}, {l.Text("notice.report-lasting"), r.Lasting},
		{l.Text("notice.report-over"), over}}
	for _, p := range parts {
		if len(p.items) == 0 {
			continue
		}
		w.line(p.head)
		for i := range p.items {
			w.item(&p.items[i])
		}
		w.line("")
	}
	if r.More > 0 {
		w.line(l.Text("notice.more", "count", r.More))
	}
	w.line(l.Text("notice.report-from", "from", w.moment(r.From)))
	if r.AtLeast {
		w.line("  " + l.Text("notice.jobs-most", "done", r.Done, "failed", r.Failed))
		return
	}
	w.line("  " + l.Text("notice.jobs-done", "count", r.Done))
	w.line("  " + l.Text("notice.jobs-failed", "count", r.Failed))
}

// Say returns an alert as a sentence of a language, in one line. One of a kind that the language does not have is in
// English.
func Say(l *words.Language, a alert.Alert) string {
	key := "alert." + string(a.Kind)
	if l.Parameters(key) == nil && l.Text(key) == key {
		return a.Text()
	}
	pairs := []any{"subject", a.Subject}
	for name, value := range a.Parameters {
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "subject" || name == "count": // these are not for another node to say
		case err == nil && counted(name):
			pairs = append(pairs, "count", n)
		case err == nil && name == "bytes":
			pairs = append(pairs, name, l.Size(n))
		case name == "state" && a.Kind == alert.NodeAway:
			pairs = append(pairs, name, presence(l, value))
		default:
			pairs = append(pairs, name, value)
		}
	}
	return alert.Plain(l.Text(key, pairs...))
}

// counted are the parameters of alerts that choose a plural form: a text of such a kind has {count} for them.
func counted(name string) bool {
	switch name {
	case "copies", "files", "jobs", "shards", "harvests", "alerts":
		return true
	}
	return false
}

// presence names the state of a node that is away.
func presence(l *words.Language, state string) string {
	switch state {
	case "suspected":
		return l.Text("notice.node-suspected")
	case "failed":
		return l.Text("notice.node-failed")
	case "left":
		return l.Text("notice.node-left")
	}
	return l.Text("notice.node-unknown")
}
