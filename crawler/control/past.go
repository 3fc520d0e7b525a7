package control

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/crawler/events"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Past carries out an order that only reads (events, search, report, explain) from the folder of a crawl that is not
// open. Other orders are refused with harvest.ErrInvalid. If the folder is not a crawl's, the error is
// fs.ErrNotExist.
func Past(ctx context.Context, dir string, o act.Order) (harvest.Reply, error) {
	if err := act.Check(o.Act); err != nil {
		return harvest.Reply{}, err
	}
	switch a := o.Act.(type) {
	case act.Events:
		after, err := eventNumber(a.After)
		if err != nil {
			return harvest.Reply{}, err
		}
		most := listed(a.Limit)
		found, missed, err := events.Read(jobLog(dir), after, events.All, most)
		if err != nil {
			return harvest.Reply{}, err
		}
		return eventsReply(events.Page{Events: found, Missed: missed, Ended: len(found) < most})
	case act.Search:
		return search(ctx, dir, a)
	case act.Report:
		return readReport(ctx, dir, a)
	case act.Explain:
		out, err := explainPast(ctx, dir, a)
		return harvest.Reply{Explained: out, Ended: true}, err
	}
	return harvest.Reply{}, harvest.Refused("act", string(o.Kind()),
		"events, search, report or explain: the crawl does not run")
}

func jobLog(dir string) string { return filepath.Join(dir, "logs", report.JobLog) }

// eventNumber reads the After of an order for events.
func eventNumber(after string) (uint64, error) {
	if after == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		return 0, harvest.Refused("after", after, "the number of an event")
	}
	return number, nil
}

func eventsReply(page events.Page) (r harvest.Reply, err error) {
	r.Missed, r.Ended = page.Missed, page.Ended
	for _, e := range page.Events {
		data, err := json.Marshal(e)
		if err != nil {
			return harvest.Reply{}, err
		}
		r.Events, r.Next = append(r.Events, data), strconv.FormatUint(e.Number, 10)
	}
	return r, nil
}

// maxSearched is how much of a log or report one answer reads.
const maxSearched = 256 << 20

// search looks through a log, from its end.
func search(ctx context.Context, dir string, a act.Search) (harvest.Reply, error) {
	name := a.Log
	switch name {
	case "":
		name = report.CrawlLog
	case report.CrawlLog, report.URIErrorsLog, report.RuntimeErrorsLog, report.NonfatalLog, report.ProgressLog,
		report.AlertsLog, report.JobLog:
	default:
		return harvest.Reply{}, harvest.Refused("log", name,
			"crawl.log, uri-errors.log, runtime-errors.log, nonfatal-errors.log, "+
				"progress-statistics.log, alerts.log or job.log")
	}
	q := report.Query{Expr: part(a.Pattern), Newest: true, Limit: listed(a.Limit)}
	return linesOf(ctx, filepath.Join(dir, "logs", name), q, a.After)
}

// linesOf are the lines of a file that a query finds after a cursor.
func linesOf(ctx context.Context, path string, q report.Query, after string) (r harvest.Reply, err error) {
	q.Scan = maxSearched
	if after != "" {
		if q.After, err = strconv.ParseInt(after, 10, 64); err != nil {
			return r, harvest.Refused("after", after, "what the page before ended with")
		}
	}
	answer, err := report.Search(ctx, path, q)
	if err != nil {
		return r, err
	}
	for _, h := range answer.Hits {
		r.Lines = append(r.Lines, h.Line)
	}
	if answer.Next >= 0 {
		r.Next = strconv.FormatInt(answer.Next, 10)
	}
	return r, nil
}

// reportOf is the report of a name, or of the name of its file.
func reportOf(given string) (string, error) {
	name := strings.TrimSuffix(given, report.Suffix)
	if names := report.Names(); !slices.Contains(names, name) {
		return "", harvest.Refused("name", given, strings.Join(names, ", "))
	}
	return name, nil
}

// readReport reads a report as it was written last.
func readReport(ctx context.Context, dir string, a act.Report) (harvest.Reply, error) {
	name, err := reportOf(a.Name)
	if err != nil {
		return harvest.Reply{}, err
	}
	q := report.Query{Expr: part(a.Pattern), Limit: listed(a.Limit)}
	return linesOf(ctx, filepath.Join(dir, "reports", name+report.Suffix), q, a.After)
}
