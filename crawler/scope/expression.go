package scope

import (
	"fmt"
	"log/slog"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
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
	partial cel.Program // for subjects whose address is not known yet; nil where it does not matter
	values  map[string]func(*Subject) any
	needs   need // to be known for the answer
	log     *slog.Logger
	failed  atomic.Uint64
}

// variable is a name that expressions may use.
type variable struct {
	name, kind, help string
	value            func(*Subject) any
	needs            need
}

func variables() []variable {
	return []variable{
		{"url", "string", "the URI", func(u *Subject) any { return u.URL }, needsNothing},
		{"scheme", "string", "its scheme", func(u *Subject) any { return u.parts().scheme }, needsNothing},
		{"host", "string", "its host", func(u *Subject) any { return u.Host() }, needsNothing},
		{"port", "int", "its port, that of the scheme where none is written", func(u *Subject) any { return u.port() },
			needsNothing},
		{"domain", "string", "the host's registered domain", func(u *Subject) any { return u.Domain() }, needsNothing},
		{"surt", "string", "its SURT form", func(u *Subject) any { return u.SURT() }, needsNothing},
		{"path", "string", "its path", func(u *Subject) any { return u.parts().path }, needsNothing},
		{"query", "string", "its query, without question mark", func(u *Subject) any { return u.parts().query },
			needsNothing},
		{"hops", "string", "the hops that led to it", func(u *Subject) any { return u.Path }, needsNothing},
		{"depth", "int", "how many of them are links", func(u *Subject) any { return u.hop().links }, needsNothing},
		{"via", "string", "the URI it was found at", func(u *Subject) any { return u.Via }, needsNothing},
		{"source", "string", "the seed it comes from", func(u *Subject) any { return u.Source }, needsNothing},
		{"seed", "bool", "it is a seed", func(u *Subject) any { return u.isSeed() }, needsNothing},
		{"queue", "string", "its queue", func(u *Subject) any { return u.queue() }, needsNothing},
		{"status", "int", "of an answer: its status", func(u *Subject) any { return u.Status }, needsHead},
		{"type", "string", "of an answer: the media type, in lower case, without parameters",
			func(u *Subject) any { return mediaType(u.ContentType) }, needsHead},
		{"length", "int", "of an answer: the declared length, -1 where none is",
			func(u *Subject) any { return u.Length }, needsHead},
		{"size", "int", "of all that came: the length received", func(u *Subject) any { return u.Size }, needsBody},
		{"digest", "string", "of all that came: the content's digest", func(u *Subject) any { return u.Digest },
			needsBody},
		{"identical", "bool", "of all that came: it was archived before, by its digest, as the rule " +
			"`identical_digest` has it", func(u *Subject) any { return u.Identical }, needsBody},
		{"unchanged", "bool", "of an answer: it has the validators of the latest capture, as the rule " +
			"`same_validators` has it", func(u *Subject) any { return u.Unchanged() }, needsHead},
		{addressVariable, "string", "the address, where it is known, else \"\"",
			func(u *Subject) any { return u.addressText() }, needsAddress},
		{"headers", "map", `of an answer: headers["name"], "" where there is none; "name" in headers`,
			func(u *Subject) any { return headers{u.Header} }, needsHead},
	}
}

// addressVariable is the name of the address in expressions.
const addressVariable = "ip"

func (u *Subject) addressText() string {
	if a := u.address(); a.IsValid() {
		return a.Unmap().WithZone("").String()
	}
	return ""
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

// NewExpression compiles an expression; the error says what is wrong with it. If it fails during use, that is logged.
func NewExpression(text string, log *slog.Logger) (*Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("%d bytes long: at most %d are allowed", len(text), maxExpression)
	}
	options := []cel.EnvOption{ext.Strings(), cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(100)}
	values, needs := map[string]func(*Subject) any{}, map[string]need{}
	for _, v := range variables() {
		values[v.name], needs[v.name] = v.value, v.needs
		kind := map[string]*cel.Type{"string": cel.StringType, "int": cel.IntType, "bool": cel.BoolType,
			"map": cel.MapType(cel.StringType, cel.StringType)}[v.kind]
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
		return nil, fmt.Errorf("its result is of type %s: want true or false", tree.OutputType())
	}
	e := &Expression{text: text, values: values, log: log}
	bound, err := boundBuilt(env)
	if err != nil {
		return nil, err
	}
	if e.program, err = env.Program(tree, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize), bound); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	for _, used := range tree.NativeRep().ReferenceMap() {
		e.needs = max(e.needs, needs[used.Name])
		if used.Name == addressVariable && e.partial == nil {
			if e.partial, err = env.Program(tree, cel.CostLimit(maxCost), bound,
				cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval)); err != nil {
				return nil, fmt.Errorf("prepare: %w", err)
			}
		}
	}
	return e, nil
}

// Eval answers the expression for a subject.
func (e *Expression) Eval(u *Subject) (bool, error) {
	yes, _, err := e.eval(u)
	return yes, err
}

// eval answers the expression, or that the answer depends on the subject's address, which is not known yet.
func (e *Expression) eval(u *Subject) (yes, later bool, err error) {
	var out ref.Val
	if e.partial != nil && u.Unresolved && !u.address().IsValid() {
		var facts cel.PartialActivation
		if facts, err = cel.PartialVars(&activation{u, e.values}, cel.AttributePattern(addressVariable)); err == nil {
			out, _, err = e.partial.Eval(facts)
		}
	} else {
		out, _, err = e.program.Eval(&activation{u, e.values})
	}
	if err != nil {
		return false, false, fmt.Errorf("expression %q: %w", e.text, err)
	}
	if types.IsUnknown(out) {
		return false, true, nil
	}
	yes, ok := out.Value().(bool)
	if !ok {
		return false, false, fmt.Errorf("expression %q: it answers %s", e.text, out.Type().TypeName())
	}
	return yes, false, nil
}

// holds is Eval, with an error told and taken as no.
func (e *Expression) holds(u *Subject) bool { return e.says(u, Reject) == Reject }

// says returns the decision of a rule that decides where the expression is true.
func (e *Expression) says(u *Subject, decision Decision) Decision {
	yes, later, err := e.eval(u)
	switch {
	case later:
		return needsAddress.untold(u, decision)
	case yes:
		return decision
	case err == nil:
		return Pass
	}
	if n := e.failed.Add(1); e.log != nil && bits.OnesCount64(n) == 1 { // the first, and ever more rarely
		e.log.Warn("an expression failed and does not decide about this URI", "uri", u.URL, "failures", n, "error", err)
	}
	return Pass
}

func expressionStep(at place, r harvest.Rule, decision Decision, log *slog.Logger) (step, error) {
	if r.Expression == "" {
		return step{}, at.wrong("expression", "none", "a CEL expression")
	}
	e, err := NewExpression(r.Expression, log)
	if err != nil {
		return step{}, at.wrong("expression", strconv.Quote(r.Expression), "a CEL expression ("+err.Error()+")")
	}
	return step{
		name: at.name(), can: decision, needs: e.needs,
		says: func(u *Subject) Decision { return e.says(u, decision) },
		why: func(u *Subject) string {
			switch yes, later, err := e.eval(u); {
			case err != nil:
				return err.Error()
			case later:
				return e.text + ": " + needsAddress.missing(u)
			case yes:
				return e.text + " is true"
			}
			return e.text + " is false"
		},
	}, nil
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
