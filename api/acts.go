package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// orderTime is how long an act may take: deleting URIs and taking a checkpoint go through the whole frontier.
const orderTime = 10 * time.Minute

// actRoutes are the acts on crawls, a line each. What an act needs, its kind, and what is checked stand in its struct.
func (s jobs) actRoutes(api huma.API) {
	looks[act.Live](s, api, "Show counts, rates, slow hosts, and what each worker does")
	looks[act.Queues](s, api, "List the queues")
	looks[act.Domains](s, api, "List what was fetched of each domain, and which limit stopped it")
	looks[act.URIs](s, api, "List queued URIs")
	looks[act.Explain](s, api, "Explain a URI: the settings that hold for it, each rule's decision, and its outcome")
	looks[act.Checkpoints](s, api, "List the checkpoints")
	looks[act.Events](s, api, "List events of a crawl, running or ended")
	looks[act.Search](s, api, "Search a log of a crawl, running or ended; newest lines first")
	looks[act.Report](s, api, "Read a report of a crawl as it is now, or as it ended")

	steers[act.Pause](s, api, "Pause a crawl")
	steers[act.Resume](s, api, "End a pause")
	steers[act.Stop](s, api, "Stop a crawl")
	steers[act.Kill](s, api, "Abort one fetch")
	steers[act.Seeds](s, api, "Add seeds")
	steers[act.Change](s, api, "Change settings")
	steers[act.Checkpoint](s, api, "Save a checkpoint, from which the crawl can be started again")
	steers[act.Restore](s, api, "Start the crawl again from a checkpoint")
	steers[act.Delete](s, api, "Delete queued URIs; they end with status -6000")
	steers[act.Freeze](s, api, "Freeze queues: stop fetching from them until they are thawed")
	steers[act.Unfreeze](s, api, "Thaw frozen queues")
	steers[act.Retire](s, api, "Retire queues, as if their budget were spent")
	steers[act.Budget](s, api, "Change the budgets of queues; a retired queue that has budget again goes on")
	steers[act.Block](s, api, "Stop fetching from a URL, a SURT prefix or a host")
	steers[act.Unblock](s, api, "Remove a block")
	steers[act.Forget](s, api, "Forget that a URI was seen, so that it is fetched when it is found again")
	steers[act.Never](s, api, "Never fetch a URI; it ends with status -5001")
}

// looks registers an act that changes nothing. What it needs comes in the query.
func looks[A act.Look](s jobs, api huma.API, summary string) {
	var kind A
	r := actRoute(kind, http.MethodGet, summary)
	r.act = catalog.Look
	r.adjust = func(op *huma.Operation) {
		number := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[uint64](), true, "")
		op.Parameters = []*huma.Param{{Name: "id", In: "path", Required: true, Schema: number}}
		op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
		op.Middlewares = append(op.Middlewares, s.numbered(api))
	}
	handle(s.server, api, r, func(ctx context.Context, in *A) (harvest.Reply, error) {
		id, _ := ctx.Value(numberKey{}).(uint64)
		return s.order(ctx, id, act.Order{Act: *in})
	})
}

// steering is the input of an act that changes something.
type steering[A act.Act] struct {
	ByID
	Body A
}

// steers registers an act that changes something. What it needs comes in the body.
func steers[A act.Act](s jobs, api huma.API, summary string) {
	var kind A
	r := actRoute(kind, http.MethodPost, summary)
	r.act, r.within = catalog.RunJob, ofJob(s.server, func(in *steering[A]) uint64 { return in.ID })
	handle(s.server, api, r, func(ctx context.Context, in *steering[A]) (harvest.Reply, error) {
		_, shown, err := s.job(in.ID)
		if err == nil {
			err = mayGive(callerOf(ctx).Rights, shown.Settings.Settings, in.Body)
		}
		if err != nil {
			return harvest.Reply{}, err
		}
		return s.order(ctx, in.ID, act.Order{Act: in.Body, By: callerOf(ctx).Actor})
	})
}

func actRoute(a act.Act, method, summary string) route {
	kind := string(a.Kind())
	return route{method: method, path: "/api/v1/jobs/{id}/crawl/" + kind, id: "crawl-" + kind, tag: "crawls",
		summary: summary, limit: orderTime}
}

// numberKey is where a request's context has the number that its path names.
type numberKey struct{}

// numbered is the middleware that reads the number in the path, for requests whose input is the query alone.
func (s jobs) numbered(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		id, err := strconv.ParseUint(ctx.Param("id"), 10, 64)
		if err != nil {
			s.write(api, ctx, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
				fmt.Sprintf("job %q: want a job's number", ctx.Param("id"))))
			return
		}
		next(huma.WithValue(ctx, numberKey{}, id))
	}
}

// settingsRoutes describe what a crawl can be told.
func (s jobs) settingsRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/settings",
		id: "settings-list", tag: "jobs", summary: "Describe every setting of a crawl"},
		func(context.Context, *struct{}) (wire.Page[harvest.Setting], error) {
			return wire.Page[harvest.Setting]{Items: harvest.Reference()}, nil
		})
}

// order lets the job's crawl carry out an act, on whichever node it runs.
func (s jobs) order(ctx context.Context, id uint64, o act.Order) (harvest.Reply, error) {
	if err := act.Check(o.Act); err != nil {
		return harvest.Reply{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	job, _, err := s.job(id)
	if errors.Is(err, ErrNotFound) || err == nil && job.Node == "" { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return harvest.Reply{}, err
		}
		job, _, err = s.job(id)
	}
	if err != nil {
		return harvest.Reply{}, err
	}
	reply, err := s.crawls.Order(ctx, job, o)
	if errors.Is(err, harvest.ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return reply, err
}

// ActOf returns what an order for a job with these settings is to the catalog: looking at its crawl, controlling it, or
// letting it reach the nodes' own network.
func ActOf(job harvest.Settings, o act.Order) catalog.Act {
	switch {
	case o.Reads():
		return catalog.Look
	case mayGive(nil, job, o.Act) == nil:
		return catalog.RunJob
	}
	return catalog.ReachInside
}

// mayGive tells whether somebody with these rights may give the act, as far as it lets a crawl reach the nodes' own
// network: by its settings, or by sending further a crawl that may.
func mayGive(rights []catalog.Right, job harvest.Settings, given act.Act) error {
	change, changes := given.(act.Change)
	_, seeds := given.(act.Seeds)
	if seeds || changes {
		if err := mayReach(rights, job); err != nil {
			return err
		}
	}
	if !changes {
		return nil
	}
	settings := harvest.DefaultSettings()
	if err := settings.Lay(change.Settings); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return mayReach(rights, settings)
}

// patch stands for harvest.Patch in the description: settings that may change while a crawl runs, none required.
type patch struct{}

// Schema implements huma.SchemaProvider.
func (patch) Schema(r huma.Registry) *huma.Schema {
	schema := settings{}.Schema(r)
	for _, one := range harvest.Reference() {
		if !one.Live {
			delete(schema.Properties, one.Name)
		}
	}
	schema.PrecomputeMessages() // of the properties that are left
	return schema
}

// schemaName names a type in the description. Acts are called so, because some have the name of what they are about.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if strings.HasSuffix(t.PkgPath(), "/act") {
		name += "Act"
	}
	return name
}
