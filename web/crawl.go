package web

import (
	"context"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// lookAt lets the crawl of a job tell something, as a part of a page. take is called with the answer; a crawl that is
// not there tells nothing.
func lookAt(ctx context.Context, v *visit, part string, job uint64, given act.Act, take func(harvest.Reply)) {
	v.ask(ctx, part, later, func(ctx context.Context) error {
		reply, err := v.api.Jobs().Act(ctx, job, given)
		if err == nil {
			take(reply)
		}
		return err
	})
}

// crawlList is a list that the crawl of a job tells.
type crawlList[T any] struct {
	Job uint64 `json:"job"`
	listed[T]
	Names []string `json:"-"` // to choose from
}

// take puts in a page of the list.
func (l *crawlList[T]) take(items []T, next string) {
	l.listed = listed[T]{Asked: true, Items: items, Next: next}
}

// askCrawlList asks for a list that the crawl of the job in the path tells.
func askCrawlList[T any](ctx context.Context, v *visit, part string, given act.Act,
	take func(*crawlList[T], harvest.Reply)) (*crawlList[T], error) {
	id, err := v.id("id")
	if err != nil {
		return nil, err
	}
	v.about = plain(id)
	l := &crawlList[T]{Job: id}
	lookAt(ctx, v, part, id, given, func(r harvest.Reply) { take(l, r) })
	v.wait()
	return l, nil
}

func showURIs(ctx context.Context, v *visit) (any, error) {
	at := v.at()
	l, err := askCrawlList(ctx, v, "web.uris", act.URIs{Queue: v.query.Get("queue"), Pattern: v.query.Get("pattern"),
		After: at.After, Limit: at.Limit}, func(l *crawlList[harvest.QueuedURI], r harvest.Reply) {
		l.take(r.URIs, r.Next)
	})
	if err == nil && l.Asked {
		for _, what := range []string{"seeds", "delete", "never", "forget", "block", "unblock"} {
			v.offer("jobs", l.Job, what)
		}
	}
	return l, err
}

func showCheckpoints(ctx context.Context, v *visit) (any, error) {
	l, err := askCrawlList(ctx, v, "web.checkpoints", act.Checkpoints{},
		func(l *crawlList[harvest.Checkpoint], r harvest.Reply) { l.take(r.Checkpoints, "") })
	if err == nil && l.Asked {
		v.offer("jobs", l.Job, "checkpoint")
	}
	return l, err
}

// crawlLine is a line of a log or a report of a crawl.
type crawlLine struct {
	Line string `json:"line"`
}

func linesOfText(lines []string) []crawlLine {
	out := make([]crawlLine, len(lines))
	for i, one := range lines {
		out[i].Line = one
	}
	return out
}

// Text is all lines, as one text.
func (l *crawlList[T]) Text() string {
	var b strings.Builder
	for _, one := range l.Items {
		if line, is := any(one).(crawlLine); is {
			b.WriteString(line.Line + "\n")
		}
	}
	return b.String()
}

// crawlLogs are the logs of a crawl, crawlReports its reports.
func crawlLogs() []string {
	return []string{"crawl.log", "uri-errors.log", "nonfatal-errors.log", "runtime-errors.log",
		"progress-statistics.log", "alerts.log", "job.log"}
}

func crawlReports() []string {
	return []string{"crawl", "seeds", "hosts", "domains", "configurations", "source", "mimetype", "responsecode",
		"processors", "frontier-summary", "frontier-nonempty", "traps", "threads"}
}

// chosen is what the query chooses from names, or the first of them.
func chosen(v *visit, parameter string, names []string) string {
	if given := v.query.Get(parameter); slices.Contains(names, given) {
		return given
	}
	return names[0]
}

func showJobLog(ctx context.Context, v *visit) (any, error) {
	at := v.at()
	l, err := askCrawlList(ctx, v, "web.job-log", act.Search{Log: chosen(v, "log", crawlLogs()),
		Pattern: v.query.Get("pattern"), After: at.After, Limit: at.Limit},
		func(l *crawlList[crawlLine], r harvest.Reply) { l.take(linesOfText(r.Lines), r.Next) })
	if err == nil {
		l.Names = crawlLogs()
	}
	return l, err
}

func showJobReport(ctx context.Context, v *visit) (any, error) {
	at := v.at()
	l, err := askCrawlList(ctx, v, "web.job-report", act.Report{Name: chosen(v, "name", crawlReports()),
		Pattern: v.query.Get("pattern"), After: at.After, Limit: at.Limit},
		func(l *crawlList[crawlLine], r harvest.Reply) { l.take(linesOfText(r.Lines), r.Next) })
	if err == nil {
		l.Names = crawlReports()
	}
	return l, err
}

// explainPage is how a crawl treats a URI, and why.
type explainPage struct {
	Job       uint64             `json:"job"`
	Explained *harvest.Explained `json:"explained"`
}

func showExplained(ctx context.Context, v *visit) (any, error) {
	id, err := v.id("id")
	if err != nil {
		return nil, err
	}
	v.about = plain(id)
	p := &explainPage{Job: id}
	given := act.Explain{URL: v.query.Get("url"), Via: v.query.Get("via"), Path: v.query.Get("path")}
	runs := false
	if given.URL != "" {
		v.ask(ctx, "web.job", soon, func(ctx context.Context) error {
			job, err := v.api.Jobs().Show(ctx, id)
			runs = job.State == wire.JobStarted
			return err
		})
		lookAt(ctx, v, "web.explain", id, given, func(r harvest.Reply) { p.Explained = r.Explained })
		v.wait()
	}
	if p.Explained != nil && runs {
		for _, what := range []string{"never", "forget", "block", "kill"} {
			v.acts = append(v.acts, way("jobs", id, what)+"?url="+escape(given.URL))
		}
	}
	return p, nil
}

// Verdict marks what a rule, or the whole scope, says to a URI.
func (l terms) Verdict(s string) mark {
	switch s {
	case "ACCEPT":
		return mark{"good", l.Text("web.verdict-accept")}
	case "REJECT":
		return mark{"bad", l.Text("web.verdict-reject")}
	case "PASS":
		return mark{"quiet", l.Text("web.verdict-pass")}
	}
	return mark{"quiet", s}
}

// urlOf is the field of a URI, which a link may give.
func urlOf(v *visit, help string) field {
	return field{Name: "url", Label: "web.uri", Value: v.query.Get("url"), Need: true, Most: 4000, Help: help}
}

// askURL is the form of an order about a URI, or about a part of the web.
func askURL(help string, part bool) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		_, err := askJob(ctx, v)
		f := &form{Help: help}
		if part {
			url := urlOf(v, "web.block-url-help")
			url.Wire = "block" // so refusals name it
			return f.add(url, reason(false)), err
		}
		return f.add(urlOf(v, "web.uri-help")), err
	}
}

// orderOf carries out an order that is made of what was typed.
func orderOf(of func(*form) act.Act, note string) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		return order(ctx, v, of(f), func(harvest.Reply) said { return said{Key: note} })
	}
}

func blockOf(f *form) act.Act   { return act.Block{URL: f.text("url"), Reason: f.text("reason")} }
func unblockOf(f *form) act.Act { return act.Unblock{URL: f.text("url"), Reason: f.text("reason")} }
func forgetOf(f *form) act.Act  { return act.Forget{URL: f.text("url")} }
func neverOf(f *form) act.Act   { return act.Never{URL: f.text("url")} }

func retire(ctx context.Context, v *visit, f *form) (outcome, error) {
	return order(ctx, v, act.Retire{Queue: f.text("queue"), Reason: f.text("reason")}, func(r harvest.Reply) said {
		return said{"web.did-retire", []any{"count", r.Count}}
	})
}

// askRetire is askQueues with its own help.
func askRetire(ctx context.Context, v *visit) (*form, error) {
	f, err := askQueues(ctx, v)
	f.Help = "web.retire-help"
	return f, err
}

func askBudget(ctx context.Context, v *visit) (*form, error) {
	f, err := askQueues(ctx, v)
	f.Help = "web.budget-help"
	return f.add(field{Name: "total", Label: "web.budget-total", Kind: number, Help: "web.budget-total-help",
		Wire: "total_budget"},
		field{Name: "session", Label: "web.budget-session", Kind: number, Help: "web.budget-session-help",
			Wire: "session_budget"}), err
}

func budget(ctx context.Context, v *visit, f *form) (outcome, error) {
	given := act.Budget{Queue: f.text("queue"), Reason: f.text("reason"), Total: f.number("total"),
		Session: f.number("session")}
	if given.Total == nil && given.Session == nil {
		return outcome{}, &formError{"total", "web.want-budget", ""}
	}
	return order(ctx, v, given, func(r harvest.Reply) said { return said{"web.did-budget", []any{"count", r.Count}} })
}

// mostCounted is how many URIs are counted before they are deleted.
const mostCounted = wire.MaxPage

// askDelete is the form by which queued URIs are deleted. What was typed is counted first: the form comes back with the
// number, and deletes only what was counted.
func askDelete(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	queue, pattern := strings.TrimSpace(v.query.Get("queue")), strings.TrimSpace(v.query.Get("pattern"))
	f := &form{Help: "web.delete-uris-help", Confirm: plain(job.ID), Grave: true}
	f.add(field{Name: "pattern", Label: "web.uri-pattern", Value: pattern, Most: 2000, Help: "web.uri-pattern-help"},
		field{Name: "queue", Label: "web.queue-pattern", Value: queue, Most: 2000, Help: "web.delete-queue-help"},
		field{Name: "counted", Kind: hidden})
	if err != nil || queue+pattern == "" {
		return f, err
	}
	whole := ""
	if queue != "" { // a list takes a part of a name, the order the whole name
		whole = "^(?:" + queue + ")$"
	}
	reply, err := v.api.Jobs().Act(ctx, job.ID, act.URIs{Queue: whole, Pattern: pattern, Limit: mostCounted})
	if err != nil {
		f.refuse(err) // nothing is deleted uncounted
		return f, nil
	}
	f.Effects = []said{{"web.effect-uris", []any{"count", len(reply.URIs)}}}
	if reply.Next != "" {
		f.Effects = []said{{"web.effect-uris-least", []any{"count", len(reply.URIs)}}}
	}
	counted := f.field("counted")
	counted.Value = queue + " " + pattern
	counted.Present = counted.Value
	return f, nil
}

func deleteURIs(ctx context.Context, v *visit, f *form) (outcome, error) {
	given := act.Delete{Queue: f.text("queue"), Pattern: f.text("pattern")}
	counted := f.field("counted")
	switch {
	case given.Queue+given.Pattern == "":
		return outcome{}, &formError{"pattern", "web.want-pattern", ""}
	case counted.Value != counted.Present:
		counted.Value = counted.Present
		return outcome{}, &formError{"pattern", "web.counted-now", ""}
	}
	return order(ctx, v, given, func(r harvest.Reply) said { return said{"web.did-delete", []any{"count", r.Count}} })
}

// askKill is the form that breaks off a fetch: of a URI, or of what a worker is at.
func askKill(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	f := &form{Help: "web.kill-help"}
	url := urlOf(v, "web.kill-url-help")
	url.Need = false
	f.add(url, field{Name: "worker", Label: "web.worker", Kind: number, Value: v.query.Get("worker"),
		Help: "web.kill-worker-help"})
	if err != nil || v.query.Get("worker") == "" {
		return f, err
	}
	reply, err := v.api.Jobs().Act(ctx, job.ID, act.Live{})
	if err != nil || reply.Live == nil {
		return f, nil // the order says what is wrong
	}
	for _, w := range reply.Live.Workers {
		if plain(w.Number) == v.query.Get("worker") && w.URL != "" {
			f.Effects = []said{{"web.effect-kill", []any{"url", w.URL, "time", w.For.String()}}}
		}
	}
	return f, nil
}

func kill(ctx context.Context, v *visit, f *form) (outcome, error) {
	given := act.Kill{URL: f.text("url")}
	if n := f.number("worker"); n != nil {
		given.Worker = int(*n)
	}
	if given.URL == "" && given.Worker == 0 {
		return outcome{}, &formError{"url", "web.want-fetch", ""}
	}
	return order(ctx, v, given, func(harvest.Reply) said { return said{Key: "web.did-kill"} })
}

// askRestore is the form that starts a crawl again from a checkpoint.
func askRestore(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	if err != nil {
		return nil, err
	}
	name := v.query.Get("name")
	reply, err := v.api.Jobs().Act(ctx, job.ID, act.Checkpoints{})
	f := &form{Help: "web.restore-help", Confirm: plain(job.ID), Grave: true}
	for _, c := range reply.Checkpoints {
		if c.Name == name {
			f.Effects = []said{{"web.effect-restore", []any{"when", c.Taken, "count", c.Queued}}}
		}
	}
	if f.Effects = append(f.Effects, progressOf(job)...); err != nil {
		return nil, err
	}
	return f.add(field{Name: "name", Label: "web.checkpoint", Kind: choose, Need: true, Value: name, Options: optionsOf(
		namesOf(reply.Checkpoints, func(c harvest.Checkpoint) string { return c.Name }))}), nil
}

func restore(ctx context.Context, v *visit, f *form) (outcome, error) {
	name := f.text("name")
	return order(ctx, v, act.Restore{Name: name}, func(harvest.Reply) said {
		return said{"web.did-restore", []any{"name", name}}
	})
}
