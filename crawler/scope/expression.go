package scope

import (
	"fmt"
	"log/slog"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"

	"holdfast/harvest"
)

// Limits of an expression: its text, and what one use may cost in cel-go's units.
const (
	maxExpression = 16 << 10
	maxCost       = 200_000
)

// Expression is a CEL expression over a Subject that answers true or false. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
	values  map[string]func(*Subject) any
	log     *slog.Logger
	failed  atomic.Uint64
}

// variable is a name that expressions may use.
type variable struct {
	name, kind, help string
	value            func(*Subject) any
}

func variables() []variable {
	return []variable{
		{"url", "string", "the URI", func(u *Subject) any { return u.URL }},
		{"scheme", "string", "its scheme", func(u *Subject) any { return u.parts().scheme }},
		{"host", "string", "its host", func(u *Subject) any { return u.Host() }},
		{"port", "int", "its port, that of the scheme where none is written", func(u *Subject) any { return u.port() }},
		{"domain", "string", "the host's registered domain", func(u *Subject) any { return u.Domain() }},
		{"surt", "string", "its SURT form", func(u *Subject) any { return u.SURT() }},
		{"path", "string", "its path", func(u *Subject) any { return u.parts().path }},
		{"query", "string", "its query, without question mark", func(u *Subject) any { return u.parts().query }},
		{"hops", "string", "the hops that led to it", func(u *Subject) any { return u.Path }},
		{"depth", "int", "how many of them are links", func(u *Subject) any { return u.hop().links }},
		{"via", "string", "the URI it was found at", func(u *Subject) any { return u.Via }},
		{"source", "string", "the seed it comes from", func(u *Subject) any { return u.Source }},
		{"seed", "bool", "it is a seed", func(u *Subject) any { return u.isSeed() }},
		{"queue", "string", "its queue", func(u *Subject) any { return u.Queue }},
		{"status", "int", "after a fetch: its status, else 0", func(u *Subject) any { return u.Status }},
		{"type", "string", "after a fetch: the media type, in lower case, without parameters", func(u *Subject) any { return mediaType(u.ContentType) }},
		{"length", "int", "after a fetch: the declared length, -1 where none is", func(u *Subject) any { return u.Length }},
		{"size", "int", "after a fetch: the length received", func(u *Subject) any { return u.Size }},
		{"digest", "string", "after a fetch: the content's digest", func(u *Subject) any { return u.Digest }},
		{"ip", "string", "the address, where it is known", func(u *Subject) any { return u.address() }},
		{"headers", "map", `after a fetch: headers["name"], "" where there is none; "name" in headers`, func(u *Subject) any { return headers{u.Header} }},
	}
}

func (u *Subject) address() string {
	if !u.IP.IsValid() {
		return ""
	}
	return u.IP.String()
}

func (u *Subject) port() int {
	if n, err := strconv.Atoi(u.parts().port); err == nil {
		return n
	}
	switch u.parts().scheme {
	case "http":
		return 80
	case "https":
		return 443
	case "ftp":
		return 21
	}
	return 0
}

// NewExpression compiles an expression; the error says what is wrong with it. Where it fails while it is used, the log is told.
func NewExpression(text string, log *slog.Logger) (*Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("%d bytes long, at most %d", len(text), maxExpression)
	}
	options := []cel.EnvOption{ext.Strings(), cel.ParserExpressionSizeLimit(maxExpression), cel.ParserRecursionLimit(100)}
	values := map[string]func(*Subject) any{}
	for _, v := range variables() {
		values[v.name] = v.value
		kind := map[string]*cel.Type{"string": cel.StringType, "int": cel.IntType, "bool": cel.BoolType, "map": cel.MapType(cel.StringType, cel.StringType)}[v.kind]
		options = append(options, cel.Variable(v.name, kind))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("prepare expressions: %w", err)
	}
	tree, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if tree.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("it answers %s, not true or false", tree.OutputType())
	}
	program, err := env.Program(tree, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return &Expression{text: text, program: program, values: values, log: log}, nil
}

// Eval answers the expression for a subject.
func (e *Expression) Eval(u *Subject) (bool, error) {
	out, _, err := e.program.Eval(&activation{u, e.values})
	if err != nil {
		return false, fmt.Errorf("expression %q: %w", e.text, err)
	}
	yes, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("expression %q: it answers %s", e.text, out.Type().TypeName())
	}
	return yes, nil
}

// holds is Eval, with an error told and taken as no.
func (e *Expression) holds(u *Subject) bool {
	yes, err := e.Eval(u)
	if err == nil {
		return yes
	}
	if n := e.failed.Add(1); e.log != nil && bits.OnesCount64(n) == 1 { // the first, and ever more rarely
		e.log.Warn("an expression failed and says nothing", "uri", u.URL, "failures", n, "error", err)
	}
	return false
}

func expressionStep(at place, r harvest.Rule, decision Decision, log *slog.Logger) (step, error) {
	if r.Expression == "" {
		return step{}, at.wrong("expression", "none", "a CEL expression")
	}
	e, err := NewExpression(r.Expression, log)
	if err != nil {
		return step{}, at.wrong("expression", strconv.Quote(r.Expression), "a CEL expression ("+err.Error()+")")
	}
	t := test{holds: e.holds, fact: func(u *Subject) string {
		switch yes, err := e.Eval(u); {
		case err != nil:
			return err.Error()
		case yes:
			return e.text + " is true"
		}
		return e.text + " is false"
	}}
	return t.step(at.name(), decision, false), nil
}

// activation gives an expression the facts of a subject, each when it is asked for.
type activation struct {
	u      *Subject
	values map[string]func(*Subject) any
}

// ResolveName answers a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	value := a.values[name]
	if value == nil {
		return nil, false
	}
	return value(a.u), true
}

// Parent is nil: there are no other names.
func (a *activation) Parent() cel.Activation { return nil }
