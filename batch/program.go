package batch

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/warc"
)

// Program is a function over files or over records. It sees no disk, network or clock, and writes one output: what it
// makes of one file depends on the file, its entry in the catalog and the parameters alone. So it may run on any node
// that has the file, and again. It has exactly one of OfFile, OfRecord and OfEntry.
//
// The bytes are compared with the file's digest while a program reads them, and what it wrote is thrown away if they
// are wrong: it may rely on nothing of them. Its error says why this file cannot be processed.
type Program struct {
	Name, Help string
	Parameters []Parameter

	// OfFile is given all bytes of a file. It need not read them.
	OfFile func(env *Env, in io.Reader, out io.Writer) error
	// OfRecord is given each record of a WARC or ARC file, in order.
	OfRecord func(env *Env, rec *warc.Record, out io.Writer) error
	// OfEntry is given what the catalog says of a file that lies there with the right size; its bytes are not read.
	OfEntry func(env *Env, out io.Writer) error
	// AtEnd, if there is one, writes what OfRecord counted.
	AtEnd func(env *Env, out io.Writer) error
}

// Env is what a program knows of the file that it is given.
type Env struct {
	File   catalog.File
	Values map[string]string // of all parameters
	Memory int64             // bytes that it may keep of what it reads
	Kept   any               // for what OfRecord keeps from one record to the next; nil at first
}

// Parameter is a choice that a program leaves to who asks for it.
type Parameter struct {
	Name, Default, Help string
	Allowed             []string // nil: any
	Expression          bool     // it is a regular expression
}

// ErrProgram reports that there is no such program, or that it takes no such parameters.
var ErrProgram = errors.New("program cannot be run")

// Table has all programs.
type Table []Program

// Find returns the program, and the values of all its parameters.
func (t Table) Find(name string, given map[string]string) (*Program, map[string]string, error) {
	i := slices.IndexFunc(t, func(p Program) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(t))
		for i := range t {
			names[i] = t[i].Name
		}
		return nil, nil, fmt.Errorf("%w: no program %q: want one of %s", ErrProgram, name, strings.Join(names, ", "))
	}
	p, values, left := &t[i], map[string]string{}, maps.Clone(given)
	for _, one := range p.Parameters {
		value, there := given[one.Name]
		if !there {
			value = one.Default
		}
		if err := one.check(value); err != nil {
			return nil, nil, fmt.Errorf("%w: parameter %s of %s: %w", ErrProgram, one.Name, name, err)
		}
		values[one.Name] = value
		delete(left, one.Name)
	}
	for _, other := range slices.Sorted(maps.Keys(left)) {
		return nil, nil, fmt.Errorf("%w: %s has no parameter %q", ErrProgram, name, other)
	}
	return p, values, nil
}

func (p *Parameter) check(value string) error {
	if p.Expression {
		return checkExpression(value)
	}
	if p.Allowed != nil && !slices.Contains(p.Allowed, value) {
		return fmt.Errorf("%q: want one of %s", value, strings.Join(p.Allowed, ", "))
	}
	return nil
}

// run runs the program over the bytes of a file.
func (p *Program) run(env *Env, in io.Reader, out io.Writer) error {
	if p.OfEntry != nil {
		return p.OfEntry(env, out)
	}
	if p.OfFile != nil {
		return p.OfFile(env, in, out)
	}
	records, err := warc.NewReader(in, string(env.File.Name))
	if err != nil {
		return err
	}
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.OfRecord(env, rec, out)
		}
		if err != nil {
			return err
		}
	}
	if p.AtEnd == nil {
		return nil
	}
	return p.AtEnd(env, out)
}

// mostInstructions bounds a regular expression. Matching takes time in proportion to its instructions and to the bytes
// of a line, and cannot be broken off: with these bounds it takes seconds at worst.
const mostInstructions = 2000

func checkExpression(text string) error {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return err
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(compiled.Inst) > mostInstructions {
		err = fmt.Errorf("the regular expression is too large: %d steps, at most %d", len(compiled.Inst),
			mostInstructions)
	}
	return err
}
