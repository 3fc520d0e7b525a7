package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	rights "holdfast/catalog/people"
)

// keysOf finds the keys of the catalog by whose values the version of a resource is told, from the parameters in the
// request's path. catalog.ErrNotFound: there is no such resource.
type keysOf func(v catalog.View, parameter func(string) string) ([]string, error)

// guard is what a request says about the change that it asks for: of what version it is (If-Match), and by what name it
// is carried out once (Idempotency-Key). The conditions hold where the change is decided, whatever this node knows.
// One goroutine uses it.
type guard struct {
	keys     []string
	version  string // empty: whatever the version
	once     string // empty: as often as it is sent
	digest   string // of the request
	decided  int    // commands of the request that were carried out
	repeated bool   // one of them was carried out for an earlier request
}

type guardKey struct{}

// guardOf returns the request's guard. A context of no request has one without conditions.
func guardOf(ctx context.Context) *guard {
	if g, ok := ctx.Value(guardKey{}).(*guard); ok {
		return g
	}
	return &guard{}
}

// wrap returns the command with the request's conditions: the version counts for the first command of a request, which
// changes it; the name for each.
func (g *guard) wrap(kind catalog.Kind, body any) (catalog.Kind, any, error) {
	version := g.version
	if g.decided > 0 {
		version = ""
	}
	if version == "" && g.once == "" {
		return kind, body, nil
	}
	text, err := agree.AppendJSON(nil, body)
	if err != nil {
		return kind, nil, fmt.Errorf("encode the command %s: %w", kind, err)
	}
	out := agree.Guard{Kind: kind, Body: json.RawMessage(text)}
	if version != "" {
		out.Keys, out.Version = g.keys, version
	}
	if g.once != "" {
		out.Once, out.Digest = digestOf(g.once, strconv.Itoa(g.decided)), g.digest
	}
	return agree.Guarded, out, nil
}

// done notes that a command of the request was carried out.
func (g *guard) done(result catalog.Result) {
	g.decided++
	g.repeated = g.repeated || result.Repeated
}

// shownOnce refuses the answer to a request that was carried out before, if it would contain a secret: that is shown
// once, and the one at hand now is not the one that counts.
func (g *guard) shownOnce(what string) error {
	if !g.repeated {
		return nil
	}
	return problem(http.StatusConflict, wire.CodeRepeated,
		"this request was carried out already, and its "+what+" was shown then; it cannot be shown again")
}

// digestOf is the beginning of a SHA-256 over texts, in 32 hexadecimal digits.
func digestOf(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

const (
	versionHeader = "If-Match"
	onceHeader    = "Idempotency-Key"
	// maxOnce bounds the name of a request.
	maxOnce = 200
)

// describeGuard adds to the description of an operation what a request may say.
func describeGuard(op *huma.Operation, r *route) {
	if r.method == http.MethodGet {
		if r.keys != nil {
			op.Description += " The header ETag gives the version, for If-Match of a change."
		}
		return
	}
	text := func(name, pattern, doc string) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "header", Description: doc,
			Schema: &huma.Schema{Type: huma.TypeString, Pattern: pattern, MinLength: new(1)}})
	}
	if r.keys != nil {
		text(versionHeader, `^(\*|"[0-9a-f]{32}")$`, "change it only if it has this version: the ETag of an answer")
		op.Errors = append(op.Errors, http.StatusPreconditionFailed)
	}
	if r.once {
		text(onceHeader, fmt.Sprintf(`^[!-~]{1,%d}$`, maxOnce), "a name of this request: sent again within a day, it "+
			"is not carried out again, and is answered as before")
	}
}

// guarding is the middleware that reads what a request says about its change, and tells the version of what is shown.
func (s *server) guarding(api huma.API, r *route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		g, err := s.guardFor(ctx, r)
		if err != nil {
			s.write(api, ctx, s.explain(err))
			return
		}
		if r.method == http.MethodGet && g.version != "" {
			ctx.SetHeader("ETag", strconv.Quote(g.version))
		}
		next(huma.WithValue(ctx, guardKey{}, g))
	}
}

// guardFor reads the guard of a request. That of a look has the version of what is shown.
func (s *server) guardFor(ctx huma.Context, r *route) (*guard, error) {
	g := &guard{}
	now := ""
	if r.keys != nil {
		err := s.Catalog.View(func(v catalog.View) (err error) {
			if g.keys, err = r.keys(v, ctx.Param); err == nil {
				now, err = catalog.VersionOf(v, g.keys...)
			}
			return err
		})
		if err != nil && !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	if r.method == http.MethodGet {
		g.version = now
		return g, nil
	}
	version, versioned, err := oneOf(ctx, versionHeader)
	if err != nil {
		return nil, err
	}
	wanted, err := versionOf(version, versioned)
	switch {
	case err != nil:
		return nil, err
	case wanted != "" && r.keys == nil:
		return nil, problem(http.StatusBadRequest, wire.CodeInvalid,
			"If-Match: what this request changes has no version")
	case wanted != "" && now != "" && wanted != now:
		return nil, problem(http.StatusPreconditionFailed, wire.CodeStale, "it was changed meanwhile: look at it again")
	}
	g.version = wanted
	name, named, err := oneOf(ctx, onceHeader)
	if err != nil || !named {
		return g, err
	}
	if !r.once {
		return nil, problem(http.StatusBadRequest, wire.CodeInvalid,
			"Idempotency-Key: this request cannot have one")
	}
	hidden := func(c rune) bool { return c < '!' || c > '~' }
	if name == "" || len(name) > maxOnce || strings.ContainsFunc(name, hidden) {
		return nil, problem(http.StatusBadRequest, wire.CodeInvalid,
			fmt.Sprintf("Idempotency-Key: want 1 to %d visible characters of ASCII", maxOnce))
	}
	g.once = digestOf(callerOf(ctx.Context()).Actor, name)
	g.digest, err = digestOfRequest(ctx)
	return g, err
}

// oneOf returns the value of a header, and whether it is there. One that is there twice is refused.
func oneOf(ctx huma.Context, name string) (value string, there bool, err error) {
	r, _ := humago.Unwrap(ctx)
	all := r.Header.Values(name)
	if len(all) > 1 {
		return "", true, problem(http.StatusBadRequest, wire.CodeInvalid, name+": given more than once")
	}
	if len(all) == 0 {
		return "", false, nil
	}
	return all[0], true, nil
}

// versionOf reads If-Match; empty for none, for an empty one, and for "*".
func versionOf(header string, there bool) (string, error) {
	if !there || header == "" || header == "*" {
		return "", nil
	}
	version, err := strconv.Unquote(header)
	if raw, bad := hex.DecodeString(version); err != nil || bad != nil || len(raw) != 16 || header[0] != '"' {
		return "", problem(http.StatusBadRequest, wire.CodeInvalid,
			`If-Match: want the ETag of an answer, with its quotation marks, or "*"`)
	}
	return version, nil
}

// digestOfRequest tells a request from another one, by method, path, query and body. The body stays readable.
func digestOfRequest(ctx huma.Context) (string, error) {
	r, w := humago.Unwrap(ctx)
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return "", err
	}
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), rest}
	return digestOf(r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(text)), nil
}

func keysOfChannel(v catalog.View, parameter func(string) string) ([]string, error) {
	c, err := findChannel(v, parameter("name"))
	return []string{defined.KeyOfChannel(c.Name)}, err
}

func keysOfPerson(v catalog.View, parameter func(string) string) ([]string, error) {
	p, err := catalog.PeopleIn(v).Find(parameter("name"))
	return []string{rights.KeyOfPerson(p.ID)}, err
}

func keysOfDomain(v catalog.View, parameter func(string) string) ([]string, error) {
	name, err := domainName(parameter("name"))
	if err != nil {
		return nil, err
	}
	_, err = catalog.DomainsIn(v).Domain(name)
	return []string{kept.KeyOfDomain(name)}, err
}
