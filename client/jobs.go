package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Jobs are pieces of harvest runs, each a crawl.
type Jobs struct{ c *Client }

// JobQuery says which jobs are listed; empty fields are ignored.
type JobQuery struct {
	State       wire.JobState
	Harvest     *uint64 // its number; 0: jobs made by hand
	Run         uint64  // of the harvest
	Channel     string
	Domain      string    // that the job was made to crawl
	From, Until time.Time // created at From or later, and before Until
}

// List yields the jobs, newest first.
func (j Jobs) List(ctx context.Context) iter.Seq2[wire.Job, error] { return j.Find(ctx, JobQuery{}) }

// Find yields the jobs that are asked for, newest first.
func (j Jobs) Find(ctx context.Context, q JobQuery) iter.Seq2[wire.Job, error] {
	return all[wire.Job](ctx, j.c, q.values(), "jobs")
}

func (q JobQuery) values() url.Values {
	query := asked(map[string]string{"state": string(q.State), "channel": q.Channel, "domain": q.Domain})
	if q.Harvest != nil {
		query.Set("harvest", number(*q.Harvest))
	}
	if q.Run != 0 {
		query.Set("run", number(q.Run))
	}
	between(query, q.From, q.Until)
	return query
}

// Running lists the jobs that run, with live figures of all nodes.
func (j Jobs) Running(ctx context.Context) (wire.RunningJobs, error) {
	return get[wire.RunningJobs](ctx, j.c, "jobs", "running")
}

// Statistics yields what a job that has ended brought for each configuration, by domain.
func (j Jobs) Statistics(ctx context.Context, id uint64) iter.Seq2[wire.Statistic, error] {
	query := url.Values{"limit": {strconv.Itoa(wire.MaxPage)}}
	return all[wire.Statistic](ctx, j.c, query, "jobs", number(id), "statistics")
}

// Create creates a job and submits it.
func (j Jobs) Create(ctx context.Context, in wire.JobRequest) (wire.Job, error) {
	return post[wire.Job](ctx, j.c, in, "jobs")
}

// Show shows a job, with live progress while it runs.
func (j Jobs) Show(ctx context.Context, id uint64) (wire.Job, error) {
	return get[wire.Job](ctx, j.c, "jobs", number(id))
}

// Wish pauses a job, lets it run on, or stops it.
func (j Jobs) Wish(ctx context.Context, id uint64, wish wire.Wish, reason string) (wire.Job, error) {
	return post[wire.Job](ctx, j.c, wire.JobWish{Wish: wish, Reason: reason}, "jobs", number(id), "wish")
}

// Stop ends a job. What is in flight after that time is cut off; 0: after ten minutes.
func (j Jobs) Stop(ctx context.Context, id uint64, reason string, within time.Duration) (wire.Job, error) {
	return post[wire.Job](ctx, j.c, wire.JobWish{Wish: wire.WishStop, Reason: reason, For: harvest.Duration(within)},
		"jobs", number(id), "wish")
}

// Resubmit makes a new job of a failed one.
func (j Jobs) Resubmit(ctx context.Context, id uint64) (wire.Job, error) {
	return post[wire.Job](ctx, j.c, nil, "jobs", number(id), "resubmit")
}

// Reject says that a failed job is not to be tried again.
func (j Jobs) Reject(ctx context.Context, id uint64) (wire.Job, error) {
	return post[wire.Job](ctx, j.c, nil, "jobs", number(id), "reject")
}

// Log writes the last tail lines of a job's crawl.log to w, all of them when tail is 0.
func (j Jobs) Log(ctx context.Context, id uint64, tail int, w io.Writer) error {
	return j.SearchLog(ctx, id, "", tail, w)
}

// SearchLog writes the lines of a job's crawl.log to w that contain a match of a regular expression: the last ones, at
// most 1000, or all of them when tail is 0.
func (j Jobs) SearchLog(ctx context.Context, id uint64, match string, tail int, w io.Writer) error {
	query := url.Values{"tail": {strconv.Itoa(tail)}}
	if match != "" {
		query.Set("match", match)
	}
	return j.text(ctx, w, query, "jobs", number(id), "log")
}

// Overlaps yields the domains of an unfinished job that other unfinished jobs crawl too.
func (j Jobs) Overlaps(ctx context.Context, id uint64) iter.Seq2[wire.JobOverlap, error] {
	return all[wire.JobOverlap](ctx, j.c, nil, "jobs", number(id), "overlaps")
}

// Documents lists the settings, reports and logs of a job that has ended, from its metadata file.
func (j Jobs) Documents(ctx context.Context, id uint64) ([]wire.JobDocument, error) {
	return list[wire.JobDocument](ctx, j.c, nil, "jobs", number(id), "documents")
}

// Document writes one of them to w, or its lines that contain a match of a regular expression.
func (j Jobs) Document(ctx context.Context, id uint64, folder, name, match string, w io.Writer) error {
	query := url.Values{}
	if match != "" {
		query.Set("match", match)
	}
	return j.text(ctx, w, query, "jobs", number(id), "documents", folder, name)
}

func (j Jobs) text(ctx context.Context, w io.Writer, query url.Values, path ...string) error {
	r, err := j.c.request(ctx, http.MethodGet, nil, query, path...)
	if err != nil {
		return err
	}
	answer, err := j.c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(w, answer.Body)
	return err
}

// Index writes one index of several jobs to w, and returns which of them it has. An error says that what was written is
// not all.
func (j Jobs) Index(ctx context.Context, kind wire.JobIndexKind, ids []uint64, w io.Writer) (wire.JobIndex, error) {
	query := url.Values{}
	for _, id := range ids {
		query.Add("job", number(id))
	}
	return j.index(ctx, kind, query, w)
}

// HarvestIndex does the same for all jobs of a harvest, or of one of its runs if that is not 0.
func (j Jobs) HarvestIndex(ctx context.Context, kind wire.JobIndexKind, harvest, run uint64,
	w io.Writer) (wire.JobIndex, error) {
	query := url.Values{"harvest": {number(harvest)}}
	if run != 0 {
		query.Set("run", number(run))
	}
	return j.index(ctx, kind, query, w)
}

func (j Jobs) index(ctx context.Context, kind wire.JobIndexKind, query url.Values, w io.Writer) (wire.JobIndex, error) {
	query.Set("kind", string(kind))
	r, err := j.c.request(ctx, http.MethodGet, nil, query, "jobs", "index")
	if err != nil {
		return wire.JobIndex{}, err
	}
	answer, err := j.c.do(r)
	if err != nil {
		return wire.JobIndex{}, err
	}
	defer answer.Body.Close()
	var of wire.JobIndex
	if of.Jobs, err = numbers(answer.Header.Get(wire.JobsHeader)); err == nil {
		of.Missing, err = numbers(answer.Header.Get(wire.MissingHeader))
	}
	if err == nil {
		of.Incomplete, err = numbers(answer.Header.Get(wire.IncompleteHeader))
	}
	if err == nil {
		of.Unmade, err = numbers(answer.Header.Get(wire.UnmadeHeader))
	}
	if err != nil {
		return wire.JobIndex{}, fmt.Errorf("answer of %s: %w", j.c.base.Host, err)
	}
	return of, j.c.copyTo(w, answer.Body)
}

// Records writes the records of a job that have matches of the expressions (RE2) in their URL and media type to w, as a
// WARC file; an empty expression matches all. An error says that what was written is not all: if its last record is
// urn:holdfast:unread, that names the records that cannot be read.
func (j Jobs) Records(ctx context.Context, id uint64, urls, types string, w io.Writer) error {
	query := url.Values{}
	for name, value := range map[string]string{"url": urls, "type": types} {
		if value != "" {
			query.Set(name, value)
		}
	}
	r, err := j.c.request(ctx, http.MethodGet, nil, query, "jobs", number(id), "records")
	if err != nil {
		return err
	}
	answer, err := j.c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return j.c.copyTo(w, answer.Body)
}

// copyTo copies an answer, and tells an error of the connection from one of writing.
func (c *Client) copyTo(w io.Writer, from io.Reader) error {
	out := &failingWriter{to: w}
	if _, err := io.Copy(out, from); err != nil && out.err == nil {
		return fmt.Errorf("answer of %s: %w: %w", c.base.Host, wire.ErrUnavailable, err)
	}
	return out.err
}

// numbers reads numbers with commas.
func numbers(text string) ([]uint64, error) {
	all := []uint64{}
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		id, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}

// Act lets the job's crawl carry out an act.
func (j Jobs) Act(ctx context.Context, id uint64, given act.Act) (harvest.Reply, error) {
	path := []string{"jobs", number(id), "crawl", string(given.Kind())}
	if _, looks := given.(act.Look); !looks {
		return post[harvest.Reply](ctx, j.c, given, path...)
	}
	var reply harvest.Reply
	err := j.c.call(ctx, http.MethodGet, nil, &reply, act.Query(given), path...)
	return reply, err
}

// Settings describes every setting of a crawl.
func (j Jobs) Settings(ctx context.Context) ([]harvest.Setting, error) {
	return list[harvest.Setting](ctx, j.c, nil, "settings")
}

func number(id uint64) string { return strconv.FormatUint(id, 10) }
