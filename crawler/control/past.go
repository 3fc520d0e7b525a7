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
)

// Past carries out an order that only reads (events, search, report, explain) from the folder of a crawl that is not
// open. Other orders are refused with harvest.ErrInvalid. If the folder is not a crawl's, the error is
// fs.ErrNotExist.
func Past(ctx context.Context, dir string, o harvest.Order) (harvest.Reply, error) {
	if err := o.Validate(); err != nil {
		return harvest.Reply{}, err
	}
	switch o.Act {
	case harvest.ActEvents:
		after, err := eventNumber(o.After)
		if err != nil {
			return harvest.Reply{}, err
		}
		most := listed(o.Limit)
		found, missed, err := events.Read(jobLog(dir), after, events.All, most)
		if err != nil {
			return harvest.Reply{}, err
		}
		return eventsReply(events.Page{Events: found, Missed: missed, Ended: len(found) < most})
	case harvest.ActSearch:
		return search(ctx, dir, o)
	case harvest.ActReport:
		return readReport(ctx, dir, o)
	case harvest.ActExplain:
		out, err := explainPast(ctx, dir, o)
		return harvest.Reply{Explained: out, Ended: true}, err
	}
	return harvest.Reply{}, harvest.Refused("act", string(o.Act),
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
func search(ctx context.Context, dir string, o harvest.Order) (harvest.Reply, error) {
	name := o.Log
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
	return linesOf(ctx, filepath.Join(dir, "logs", name), o, true)
}

// linesOf are the lines of a file that an order asks for.
func linesOf(ctx context.Context, path string, o harvest.Order, newest bool) (r harvest.Reply, err error) {
	q := report.Query{Expr: part(o.Pattern), Newest: newest, Limit: listed(o.Limit), Scan: maxSearched}
	if o.After != "" {
		if q.After, err = strconv.ParseInt(o.After, 10, 64); err != nil {
			return r, harvest.Refused("after", o.After, "what the page before ended with")
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

// reportOf is the report that an order asks for, by its name or that of its file.
func reportOf(o harvest.Order) (string, error) {
	name := strings.TrimSuffix(o.Name, report.Suffix)
	if names := report.Names(); !slices.Contains(names, name) {
		return "", harvest.Refused("name", o.Name, strings.Join(names, ", "))
	}
	return name, nil
}

// readReport reads a report as it was written last.
func readReport(ctx context.Context, dir string, o harvest.Order) (harvest.Reply, error) {
	name, err := reportOf(o)
	if err != nil {
		return harvest.Reply{}, err
	}
	return linesOf(ctx, filepath.Join(dir, "reports", name+report.Suffix), o, false)
}
