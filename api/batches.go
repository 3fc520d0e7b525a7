package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/batches"
	rights "holdfast/catalog/people"
)

// Batches runs programs over files of the archive.
type Batches interface {
	// Programs lists the programs that there are.
	Programs() []wire.BatchProgram
	// Check returns what is wrong with a program and its parameters, as ErrInvalid.
	Check(program string, parameters map[string]string) error
	// Progress asks the node that drives a batch, or drove it. ErrUnavailable: it does not answer.
	Progress(ctx context.Context, b agreed.Batch) (wire.BatchProgress, error)
	// Result writes the result of a batch that has ended; with failed, a line for each file that is not in it. An error
	// after the first byte means that what was written is not whole.
	Result(ctx context.Context, b agreed.Batch, failed bool, w io.Writer) error
}

// batches are the operations about them.
type batches struct {
	*server
	batches Batches
}

// mostBatchBody is how large a request with a list of names may be.
const mostBatchBody = 24 << 20

// batchCursor is the pattern of the cursors of a list of batches.
const batchCursor = `^(|b-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

func (s batches) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/batch-programs",
		id: "batch-programs", tag: "batches", summary: "List the programs that can be run over the archive's files"},
		func(context.Context, *struct{}) (wire.Page[wire.BatchProgram], error) {
			return whole(s.batches.Programs(), nil)
		})
	type listing struct {
		LongPaging
		State string `query:"state" enum:"opening,running,paused,stopped,done,incomplete" doc:"list only batches in this state"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/batches", id: "batch-list",
		tag: "batches", summary: "List the batches, newest first: all, or those in a state"},
		func(_ context.Context, in *listing) (wire.Page[wire.Batch], error) {
			all, err := s.list(in.State)
			if err != nil {
				return wire.Page[wire.Batch]{}, err
			}
			return pageOf(&in.LongPaging, "b", all, func(b *wire.Batch) string {
				return fmt.Sprintf("%016x%s", ^uint64(b.Opened.UnixMilli()), b.ID)
			})
		})
	type run struct{ Body wire.BatchRequest }
	asked := within(func(ctx context.Context, in *run) (catalog.Where, error) { return s.reach(ctx, &in.Body) })
	handle(s.server, api, route{act: rights.RunBatch, within: asked, method: http.MethodPost, path: "/api/v1/batches",
		id: "batch-run", tag: "batches", status: http.StatusCreated, limit: orderTime,
		adjust:  func(op *huma.Operation) { op.MaxBodyBytes = mostBatchBody },
		summary: "Run a program over files of the archive, where these lie"},
		func(ctx context.Context, in *run) (wire.Batch, error) { return s.run(ctx, &in.Body) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/batches/{name}",
		id: "batch-show", tag: "batches", summary: "Show a batch, how far it is, and what could not be processed"},
		func(ctx context.Context, in *ByName) (wire.Batch, error) { return s.show(ctx, in.Name) })
	s.courseRoutes(api)
}

// courseRoutes are those of one batch.
func (s batches) courseRoutes(api huma.API) {
	type wish struct {
		ByName
		Body wire.WishBody
	}
	handle(s.server, api, route{act: rights.RunBatch,
		within: ofBatch(s, func(in *wish) string { return in.Name }), method: http.MethodPost,
		path: "/api/v1/batches/{name}/wish", id: "batch-wish", tag: "batches",
		summary: "Pause, resume or stop a batch"},
		func(ctx context.Context, in *wish) (wire.Batch, error) {
			err := s.decide(ctx, agreed.Wish, agreed.Wishing{ID: in.Name, Wish: string(in.Body.Wish),
				Reason: in.Body.Reason}, nil)
			if err != nil {
				return wire.Batch{}, err
			}
			return s.show(ctx, in.Name)
		})
	type result struct{ ByName }
	for _, one := range []struct {
		path, id, summary string
		failed            bool
	}{
		{"result", "batch-result", "Read the result of a batch that has ended, in the order of the files' names",
			false},
		{"failures", "batch-failures", "List the files that are not in the result of a batch, with the reasons", true},
	} {
		register(s.server, api, route{act: rights.ReadBatch,
			within: ofBatch(s, func(in *result) string { return in.Name }), method: http.MethodGet,
			path: "/api/v1/batches/{name}/" + one.path, id: one.id, tag: "batches", stream: true, adjust: givesText,
			summary: one.summary},
			func(ctx context.Context, in *result) (*huma.StreamResponse, error) {
				b, err := s.batch(ctx, in.Name)
				if err == nil && !b.State.Ended() { // this node may be behind
					if err = s.Catalog.Linear(ctx); err == nil {
						b, err = s.batch(ctx, in.Name)
					}
				}
				if err != nil {
					return nil, err
				}
				if !b.State.Ended() {
					return nil, problem(http.StatusConflict, wire.CodeConflict,
						fmt.Sprintf("batch %s is %s: its result can be read when it has ended", b.ID, b.State))
				}
				return jobs{server: s.server}.text("", 0, func(w io.Writer) error {
					return s.batches.Result(ctx, b, one.failed, w)
				}, "batch", b.ID)
			})
	}
}

// ofBatch finds the collections that a batch reads.
func ofBatch[I any](s batches, id func(*I) string) finder {
	return within(func(ctx context.Context, in *I) (where catalog.Where, err error) {
		b, err := s.batch(ctx, id(in))
		if err != nil {
			return where, err
		}
		err = s.Catalog.View(func(v catalog.View) (err error) {
			where.Collections, err = catalog.BatchesIn(v).Reach(&b)
			return err
		})
		return where, err
	})
}

// reach finds the collections that a request is about. Without any it is about all; with a job, about the job's.
func (s batches) reach(ctx context.Context, in *wire.BatchRequest) (catalog.Where, error) {
	if len(in.Collections) == 0 && in.Job != 0 {
		job, _, err := s.job(in.Job)
		if errors.Is(err, ErrNotFound) {
			if err := s.Catalog.Linear(ctx); err != nil {
				return catalog.Where{}, err
			}
			job, _, err = s.job(in.Job)
		}
		if err != nil {
			return catalog.Where{}, err
		}
		in.Collections = []string{string(job.Collection)} // what is decided about is what is done
	}
	return inCollections(kindOf[catalog.CollectionName](in.Collections)...), nil
}

// batch returns the batch as it is agreed.
func (s batches) batch(ctx context.Context, id string) (b agreed.Batch, err error) {
	look := func(v catalog.View) (err error) { b, err = catalog.BatchesIn(v).Batch(id); return err }
	err = s.Catalog.View(look)
	if errors.Is(err, catalog.ErrNotFound) { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return b, err
		}
		err = s.Catalog.View(look)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return b, fmt.Errorf("batch %s: %w", id, ErrNotFound)
	}
	return b, err
}

// run has a batch agreed: first what it is, then its list of names, a part at a time.
func (s batches) run(ctx context.Context, in *wire.BatchRequest) (wire.Batch, error) {
	if err := s.batches.Check(in.Program, in.Parameters); err != nil {
		return wire.Batch{}, err
	}
	names, err := namesOf(in.Names)
	if err != nil {
		return wire.Batch{}, err
	}
	id := time.Now().UTC().Format("20060102T150405") + "-" + strings.ToLower(rand.Text()[:6])
	err = s.decide(ctx, agreed.Open, agreed.Beginning{ID: id, Program: in.Program, Parameters: in.Parameters,
		Selection: agreed.Selection{Collections: kindOf[catalog.CollectionName](in.Collections),
			Replica: catalog.ReplicaName(in.Replica), Files: in.Files, Job: in.Job, Names: len(names)},
		Limits: agreed.Limits{Time: catalog.Time(in.TimeLimit * 1000), Output: in.OutputLimit}, Node: s.id}, nil)
	part := 0
	for some := range slices.Chunk(names, agreed.PartNames) {
		if err != nil {
			return wire.Batch{}, err
		}
		part++
		err = s.propose(ctx, agreed.AddNames, agreed.Naming{ID: id, Part: part, Names: some}, nil)
	}
	if err == nil && part > 0 {
		err = s.Catalog.Linear(ctx)
	}
	if err != nil {
		return wire.Batch{}, err
	}
	return s.show(ctx, id)
}

// namesOf returns the names in order, each once.
func namesOf(given []string) ([]catalog.FileName, error) {
	names := kindOf[catalog.FileName](given)
	for _, name := range names {
		if err := name.Check(); err != nil {
			return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "names: "+err.Error())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// show shows a batch with its progress. When the node that has it does not answer, that is said.
func (s batches) show(ctx context.Context, id string) (wire.Batch, error) {
	b, err := s.batch(ctx, id)
	if err != nil {
		return wire.Batch{}, err
	}
	out, err := s.shown(b)
	if err != nil || out.Progress != nil || b.State == agreed.Opening {
		return out, err
	}
	if b.Node == "" {
		out.Unknown = "no node drives the batch at the moment; one will take it on"
		return out, nil
	}
	p, err := s.batches.Progress(ctx, b)
	if err != nil {
		out.Unknown = err.Error()
		return out, nil
	}
	out.Progress = &p
	return out, nil
}

// shown is how the API shows a batch.
func (s batches) shown(b agreed.Batch) (out wire.Batch, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		names, err := nodeNames(v)
		if err != nil {
			return err
		}
		by, err := catalog.PeopleIn(v).ActorName(b.By)
		out = BatchOf(&b, names, by, time.Now())
		return err
	})
	return out, err
}

// BatchOf is how the API shows a batch.
func BatchOf(b *agreed.Batch, names map[catalog.NodeID]string, by string, now time.Time) wire.Batch {
	x := &b.Selection
	out := wire.Batch{ID: b.ID, Program: b.Program, Parameters: b.Parameters,
		Collections: kindOf[string](x.Collections), Replica: string(x.Replica), Files: x.Files, Job: x.Job,
		Names: x.Names, TimeLimit: int64(b.Limits.Time) / 1000, OutputLimit: b.Limits.Output, By: by,
		State: wire.BatchState(b.State), Reason: b.Reason, Node: nameOr(names, b.Node), Opened: std(b.Opened),
		Begun: std(b.Begun), Ended: std(b.Ended), Seconds: int64(b.Passed(catalog.At(now))) / 1000}
	if b.Summary != nil {
		p := BatchProgressOf(b.Summary, names)
		out.Progress = &p
	}
	return out
}

// BatchProgressOf is how the API shows how a batch went.
func BatchProgressOf(t *agreed.Summary, names map[catalog.NodeID]string) wire.BatchProgress {
	out := wire.BatchProgress{Selected: t.Selected, Files: t.Files, Bytes: t.Bytes, Output: t.Output, Failed: t.Failed}
	for _, f := range t.Failures {
		out.Failures = append(out.Failures, wire.BatchFailure{Name: string(f.Name), Reason: f.Reason})
	}
	for _, n := range t.Nodes {
		out.Nodes = append(out.Nodes, wire.BatchShare{Node: nameOr(names, n.Node), Files: n.Files, Bytes: n.Bytes})
	}
	return out
}

func nameOr(names map[catalog.NodeID]string, id catalog.NodeID) string {
	if name := names[id]; name != "" {
		return name
	}
	return string(id)
}

// list returns all batches, or those in a state.
func (s batches) list(state string) (out []wire.Batch, err error) {
	var all []agreed.Batch
	err = s.Catalog.View(func(v catalog.View) (err error) { all, err = catalog.BatchesIn(v).Batches(); return err })
	for i := range all {
		if err != nil || state != "" && string(all[i].State) != state {
			continue
		}
		var one wire.Batch
		if one, err = s.shown(all[i]); err == nil {
			out = append(out, one)
		}
	}
	return out, err
}
