package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// settings stand for wire.Settings in the description, with none required: what is not given has its default. Unknown
// keys are left to the settings' own reader, which names the nearest known one.
type settings struct{}

// Schema implements huma.SchemaProvider.
func (settings) Schema(r huma.Registry) *huma.Schema {
	schema := huma.SchemaFromType(r, reflect.TypeFor[harvest.Settings]())
	schema.Required = nil
	schema.AdditionalProperties = true
	return schema
}

type ByID struct {
	ID uint64 `path:"id"`
}

func (s jobs) routes(api huma.API) {
	s.changeRoutes(api)
	s.readRoutes(api)
	s.documentRoutes(api)
	s.overlapRoutes(api)
	s.statisticRoutes(api)
	s.runningRoutes(api)
	s.endRoutes(api)
	s.actRoutes(api)
	s.settingsRoutes(api)
	s.eventRoutes(api)
}

func (s jobs) changeRoutes(api huma.API) {
	type create struct{ Body wire.JobRequest }
	intoCollection := within(func(_ context.Context, in *create) (catalog.Where, error) {
		name, err := s.collectionOr(catalog.CollectionName(in.Body.Collection))
		in.Body.Collection = string(name) // what is decided about is what is done
		return inCollections(name), err
	})
	handle(s.server, api, route{act: catalog.RunJob, within: intoCollection, method: http.MethodPost,
		path: "/api/v1/jobs", id: "job-create", once: true, tag: "jobs",
		summary: "Create a job and submit it: a node claims it and crawls", status: http.StatusCreated},
		func(ctx context.Context, in *create) (wire.Job, error) {
			return s.createJob(ctx, in.Body)
		})
	type wish struct {
		ByID
		Body wire.JobWish
	}
	handle(s.server, api, route{act: catalog.RunJob, within: ofJob(s.server, func(in *wish) uint64 { return in.ID }),
		method: http.MethodPost, path: "/api/v1/jobs/{id}/wish", id: "job-wish", once: true, tag: "jobs",
		summary: "Pause, resume or stop a job"},
		func(ctx context.Context, in *wish) (wire.Job, error) {
			if err := s.wish(ctx, in.ID, in.Body); err != nil {
				return wire.Job{}, err
			}
			if err := s.endPause(ctx, in.ID, wishOf(in.Body.Wish)); err != nil {
				return wire.Job{}, err
			}
			return s.showJob(ctx, in.ID)
		})
}

// wish lets the cluster agree on what is wanted of a job. Before level 4 a deadline is told to the crawl alone.
func (s jobs) wish(ctx context.Context, id uint64, w wire.JobWish) error {
	wishing := catalog.JobWishing{ID: id, Wish: wishOf(w.Wish), Reason: w.Reason, Within: w.For.Std().Milliseconds()}
	if wishing.Within == 0 && w.For != 0 {
		wishing.Within = 1 // 0 stands for the default
	}
	var cluster catalog.Cluster
	err := s.Catalog.View(func(v catalog.View) (err error) { cluster, err = v.Cluster(); return err })
	if err != nil {
		return err
	}
	late := wishing.Wish == catalog.WishStop && w.For > 0 && cluster.Level < agreed.LevelOfParts
	if late {
		wishing.Within = 0
	}
	if err := s.decide(ctx, catalog.WishJob, wishing, nil); err != nil || !late {
		return err
	}
	_, err = s.order(ctx, id, act.Order{Act: act.Stop{Reason: w.Reason, For: w.For}, By: callerOf(ctx).Actor})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalid) { // no crawl of it is open, or not any more
		return nil
	}
	return err
}

// endPause ends the pause of a crawl whose job may run again. An order gave the crawl that pause; the catalog does not
// know of it.
func (s jobs) endPause(ctx context.Context, id uint64, wish catalog.JobWish) error {
	job, _, err := s.job(id)
	if err != nil || wish != catalog.WishRun || job.State != catalog.JobStarted {
		return err
	}
	_, err = s.order(ctx, id, act.Order{Act: act.Resume{}, By: callerOf(ctx).Actor})
	// no crawl of it is open, or it takes no orders any more
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalid) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("job %d may run again, but its crawl is still paused: the pause could not be ended; send "+
			"the request again: %w", id, err)
	}
	return nil
}

// endRoutes decide what becomes of a failed job.
func (s jobs) endRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.RunJob, within: ofJob(s.server, func(in *ByID) uint64 { return in.ID }),
		method: http.MethodPost, path: "/api/v1/jobs/{id}/resubmit", id: "job-resubmit", once: true, tag: "jobs",
		summary: "Create a new job from a failed one, and return the new one"},
		func(ctx context.Context, in *ByID) (wire.Job, error) {
			_, shown, err := s.job(in.ID)
			if err == nil {
				err = mayReach(callerOf(ctx).Rights, shown.Settings.Settings)
			}
			if err != nil {
				return wire.Job{}, err
			}
			var made catalog.Job
			if err := s.propose(ctx, catalog.ResubmitJob, catalog.JobRef{ID: in.ID}, &made); err != nil {
				return wire.Job{}, err
			}
			job := jobOf(made, nil)
			job.Seeds, job.Settings = shown.Seeds, shown.Settings
			return job, nil
		})
	handle(s.server, api, route{act: catalog.RunJob, within: ofJob(s.server, func(in *ByID) uint64 { return in.ID }),
		method: http.MethodPost, path: "/api/v1/jobs/{id}/reject", id: "job-reject", once: true, tag: "jobs",
		summary: "Mark a failed job as final: it will not be tried again"},
		func(ctx context.Context, in *ByID) (wire.Job, error) {
			if err := s.decide(ctx, catalog.RejectJob, catalog.JobRef{ID: in.ID}, nil); err != nil {
				return wire.Job{}, err
			}
			return s.showJob(ctx, in.ID)
		})
}

// waits explains why a wish for the job has to wait when the job's node does not answer.
func waits(job catalog.Job, name string, self NodeStatus) string {
	what := map[catalog.JobWish]string{catalog.WishStop: "stops", catalog.WishPause: "pauses"}[job.Wish]
	at := self.Presence[job.Node]
	if what == "" || job.Node == "" || at.State == "alive" || job.State != catalog.JobSubmitted &&
		job.State != catalog.JobStarted {
		return ""
	}
	text := fmt.Sprintf("node %s is not heard: the job %s when it answers", cmp.Or(name, string(job.Node)), what)
	if job.Wish == catalog.WishStop && self.Lease > 0 {
		text += ", or fails when its lease ends"
		if at.LastHeard.IsZero() {
			return text + fmt.Sprintf(", %v after the node was last heard", self.Lease)
		}
		text += ", about " + at.LastHeard.Add(self.Lease).UTC().Format(time.RFC3339)
	}
	return text
}

func (s jobs) readRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs", id: "job-list",
		tag:     "jobs",
		summary: "List the jobs, newest first; a page may have fewer jobs than the limit, or none, and a next page"},
		func(_ context.Context, in *JobListing) (wire.Page[wire.Job], error) { return s.list(in) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}", id: "job-show",
		tag:     "jobs",
		summary: "Show a job, with live progress while it runs"},
		func(ctx context.Context, in *ByID) (wire.Job, error) {
			return s.showJob(ctx, in.ID)
		})
	type tail struct {
		ByID
		Tail  int    `query:"tail" default:"100" minimum:"0" maximum:"1000000" doc:"return this many lines from the end; 0 returns all"`
		Match string `query:"match" maxLength:"1000" doc:"only lines of the log that contain a match of this regular expression count; then tail is at most 1000, or 0"`
	}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/log",
		id: "job-log", tag: "jobs",
		summary: "The last lines of a job's crawl.log; of a job that has ended, from its metadata file", stream: true,
		adjust: givesText},
		func(ctx context.Context, in *tail) (*huma.StreamResponse, error) {
			job, _, err := s.job(in.ID)
			if err == nil {
				err = papers(ctx, s.server)
			}
			if err != nil {
				return nil, err
			}
			lines := in.Tail
			if in.Match != "" {
				lines = 0 // of the whole log
			}
			return s.text(in.Match, in.Tail, func(w io.Writer) error { return s.crawls.Log(ctx, job, lines, w) },
				"job", in.ID, "document", "crawl.log")
		})
}

// lateWriter sends the answer's head with the first byte, so that an error before it can still be told.
type lateWriter struct {
	to    http.ResponseWriter
	kind  string
	begun bool
}

func (w *lateWriter) begin() {
	if !w.begun {
		w.begun = true
		w.to.Header().Set("Content-Type", w.kind)
		w.to.WriteHeader(http.StatusOK)
	}
}

func (w *lateWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.to.Write(p)
}

// mayReach refuses settings with which a crawl could reach the nodes' own network, unless the caller may allow that.
func mayReach(rights []catalog.Right, settings harvest.Settings) error {
	return mayReachBy(rights, "job", settings)
}

// mayReachBy is mayReach for what is not a job itself.
func mayReachBy(rights []catalog.Right, what string, settings harvest.Settings) error {
	setting := reaches(settings)
	if setting == "" {
		return nil
	}
	if err := catalog.May(rights, catalog.ReachInside, catalog.Where{}); err != nil {
		return problem(http.StatusForbidden, wire.CodeForbidden,
			"a "+what+" with "+setting+" can reach services on the nodes' own network: "+err.Error())
	}
	return nil
}

// reaches returns the setting by which a crawl could reach the nodes' own network, or "".
func reaches(settings harvest.Settings) string {
	switch {
	case settings.AllowPrivate:
		return "allow_private"
	case settings.AllowLinkLocal:
		return "allow_link_local"
	case settings.Nameserver != "":
		return "nameserver"
	case len(settings.Proxies) > 0:
		return "proxies"
	case len(settings.SourceAddresses) > 0:
		return "source_addresses"
	}
	return ""
}

// job returns the catalog's job and how the API shows it.
func (s *server) job(id uint64) (catalog.Job, wire.Job, error) {
	var found catalog.Job
	var spec harvest.Job
	var names map[catalog.NodeID]string
	err := s.Catalog.View(func(v catalog.View) (err error) {
		if names, err = nodeNames(v); err != nil {
			return err
		}
		if found, err = v.Job(id); err == nil {
			spec, err = shownSpec(v, &found)
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.Job{}, wire.Job{}, fmt.Errorf("job %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return catalog.Job{}, wire.Job{}, err
	}
	shown := jobOf(found, names)
	shown.Seeds = append([]string{}, spec.Seeds...)
	shown.Settings = &wire.Settings{Settings: spec.Settings.Redacted()}
	return found, shown, nil
}

// showJob adds live progress while the job runs and its node answers; without it the job is shown as agreed.
func (s jobs) showJob(ctx context.Context, id uint64) (wire.Job, error) {
	kept, shown, err := s.job(id)
	if err == nil {
		err = s.Catalog.View(func(v catalog.View) (err error) { shown.Note, err = v.Waits(&kept); return err })
	}
	if err == nil && kept.Wish != catalog.WishRun {
		shown.Note = waits(kept, shown.NodeName, s.self.Status(ctx))
	}
	if err != nil || kept.State != catalog.JobStarted {
		return shown, err
	}
	progress, err := s.crawls.Progress(ctx, kept)
	if err != nil {
		s.log.Debug("no progress of a running job", "job", id, "node", kept.Node, "error", err)
		return shown, nil
	}
	shown.Progress = &progress
	return shown, nil
}
