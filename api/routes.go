package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

const description = `The HTTP API of Holdfast, a web archive that several libraries run together.
Every node serves it and answers for the whole cluster. Reading works on a node that is cut off; a change then
gets 503 with the type urn:holdfast:problem:no-quorum. Times are RFC 3339 in UTC. Lists are paged: give "next" of
a page as "after" of the next request.`

// route is an operation to be registered: its act, its name, and what it touches.
type route struct {
	act     catalog.Act // what it does; empty: anyone may do it
	within  finder      // what it touches, if the right depends on that
	method  string
	path    string
	id      string
	summary string
	tag     string
	status  int                   // of success, 200 if 0
	stream  bool                  // moves bytes for as long as they move; else the answer has limit
	limit   time.Duration         // 0: requestTime
	adjust  func(*huma.Operation) // nil: nothing to add
	keys    keysOf                // what tells the version of what it shows or changes; nil: it has none
	once    bool                  // a request may have a name by which it is carried out once
}

// routes builds the handler, and what gives the description of all operations: it is put together when it is first
// asked for, which takes longer than all else here.
func routes(s *server, b Backend, log *slog.Logger) (*http.ServeMux, func() []byte) {
	config := huma.DefaultConfig("Holdfast", "1")
	config.CreateHooks = nil
	config.Transformers = append(config.Transformers, codeFields)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	config.Info.Description = description
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	describeProblems(config.Components.Schemas)
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[wire.Settings](), reflect.TypeFor[settings]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[harvest.Limit](), reflect.TypeFor[limit]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[wire.Overlay](), reflect.TypeFor[settings]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[harvest.Patch](), reflect.TypeFor[patch]())
	config.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "An access token, holdfast-ID-SECRET, of a person or " +
			"of a program that belongs to one."},
	}
	mux := http.NewServeMux()
	api := humago.New(mux, config)
	cluster{s, b.Index, b.OwnDisks}.routes(api)
	layouts{s, b.Layouts}.routes(api)
	logs{s, b.Logs}.routes(api)
	figures{s, b.Figures}.routes(api)
	alerts{s, b.Alerts}.routes(api)
	notices{s, b.Notices}.routes(api)
	people{s}.routes(api)
	approvals{s}.routes(api)
	tokens{s, b.Invites}.routes(api)
	signIn{s}.routes(api)
	files{s, b.Archive, b.Losses, b.Strays, b.Contents}.routes(api)
	rules{s}.routes(api)
	quarantines{s, b.Strays}.routes(api)
	audits{s, b.Audits}.routes(api)
	ledgers{s, b.Ledgers}.routes(api)
	batches{s, b.Batches}.routes(api)
	backups{s, b.Backups}.routes(api)
	checks{s, b.Checks}.routes(api)
	jobs{s, b.Crawls, b.Ended, b.Secrets}.routes(api)
	jobIndexes{s, b.Indexes}.routes(api)
	definitions{s, b.Crawls, b.Secrets}.routes(api)
	captures{s, b.Captures}.routes(api)
	domains{s, b.Crawls, b.Secrets}.routes(api)
	ingests{s, b.Ingests}.routes(api)
	harvests{s, b.Previews}.routes(api)
	text := sync.OnceValue(func() []byte { return describe(api.OpenAPI()) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		if _, err := w.Write(text()); err != nil {
			s.log.Debug("answer not sent", "error", err)
		}
	})
	mux.HandleFunc("/", s.unknown(mux))
	return mux, text
}

// handle registers an operation that answers with a JSON body. For an operation without an answer, or one that writes
// by itself, see register.
func handle[I, T any](s *server, api huma.API, r route, do func(context.Context, *I) (T, error)) {
	register(s, api, r, func(ctx context.Context, in *I) (*answer[T], error) {
		value, err := do(ctx, in)
		return &answer[T]{value}, err
	})
}

// register registers an operation, with the check of the caller's rights, limits of size and time, and errors as
// problems.
func register[I, O any](s *server, api huma.API, r route, do func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Tags: []string{r.tag},
		DefaultStatus: r.status, MaxBodyBytes: maxBody, BodyReadTimeout: requestTime,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
			http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout},
	}
	if r.act != "" {
		role, extent := r.act.Needs()
		op.Security = []map[string][]string{{"token": {string(role)}}}
		op.Description = "Needs the role " + string(role) + extentText(extent) + "."
		op.Extensions = map[string]any{actExtension: string(r.act)}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
		op.Middlewares = huma.Middlewares{s.admit(api, r.act)}
	}
	describeGuard(&op, &r)
	op.Middlewares = append(op.Middlewares, s.refuseEmpty(api), s.guarding(api, &r))
	if r.adjust != nil {
		r.adjust(&op)
	}
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		if !r.stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, cmp.Or(r.limit, requestTime))
			defer cancel()
		}
		if err := r.allowed(ctx, in); err != nil {
			return nil, s.explain(err)
		}
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.explain(err)
		}
		return out, nil
	})
}

// allowed refuses the request when its caller may not do the act there.
func (r *route) allowed(ctx context.Context, in any) error {
	if r.act == "" {
		return nil
	}
	var where catalog.Where
	if r.within != nil {
		var err error
		if where, err = r.within(ctx, in); err != nil {
			return err
		}
	}
	return may(ctx, r.act, where)
}

// actExtension is where the description of an operation has its act.
const actExtension = "x-holdfast-act"

// extentText says where a role is needed.
func extentText(e catalog.Extent) string {
	switch e {
	case catalog.Collections:
		return " for every collection that it touches"
	case catalog.Places:
		return " at every place that it touches"
	case catalog.Whole:
		return " for the whole archive"
	}
	return ""
}

// jsonFormat reads and writes bodies.
func jsonFormat() huma.Format {
	return huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
}

// refuseEmpty is the middleware that turns away parameters that are given and empty where the description wants a
// number, a boolean, a time or one of some words: the framework takes them for absent. It also turns away a parameter
// that is given too often, as empty ones do not count for the framework.
func (s *server) refuseEmpty(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		url := ctx.URL()
		given := url.Query()
		for _, p := range ctx.Operation().Parameters {
			want := p.Schema.Type
			if most := p.Schema.MaxItems; p.In == "query" && most != nil && len(given[p.Name]) > *most {
				s.write(api, ctx, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
					fmt.Sprintf("%s: given %d times, at most %d", p.Name, len(given[p.Name]), *most)))
				return
			}
			switch {
			case want == huma.TypeArray, want == huma.TypeString && slices.Contains(p.Schema.Enum, any("")):
				continue
			case want == huma.TypeString && len(p.Schema.Enum) > 0:
				want = "word of " + fmt.Sprint(p.Schema.Enum)
			case want == huma.TypeString && p.Schema.Format == "date-time":
				want = "time"
			case want == huma.TypeString:
				continue
			}
			if p.In == "query" && slices.Contains(given[p.Name], "") {
				s.write(api, ctx, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
					p.Name+": given nothing, want a "+want))
				return
			}
		}
		next(ctx)
	}
}

// answer is an operation's output: a body of JSON.
type answer[T any] struct {
	Body T
}

// whole is a list in one page.
func whole[T any](items []T, err error) (wire.Page[T], error) {
	return wire.Page[T]{Items: append([]T{}, items...)}, err
}

// Paging is the input of a list.
type Paging struct {
	After string `query:"after" doc:"cursor: the value of next from the previous page"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}

// ByName is the input of an act on one thing that is known by name or id.
type ByName struct {
	Name string `path:"name" minLength:"1" maxLength:"200"`
}

// maxLifetime is the longest that a token may be made for: 200 years.
const maxLifetime = 200 * 365 * 24 * time.Hour

// minLifetime is the shortest that a token may be made for: one that ends before the cluster has agreed on it
// would be refused for what is no fault of the asker.
const minLifetime = 10 * time.Second

// lifetime reads a token's lifetime; empty is the default given.
func lifetime(text string, otherwise time.Duration) (time.Duration, error) {
	if strings.TrimSpace(text) == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minLifetime || d > maxLifetime {
		return 0, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
			"lifetime "+text+": want a time of at least ten seconds, such as 30m or 24h")
	}
	return d, nil
}
