package scope

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// maxBuilt bounds what one call in an expression builds, in bytes. What a call costs is only known when it is done: the
// limit of costs does not keep a call from building more than there is memory for.
const maxBuilt = 1 << 20

// builders are the functions that build more than they are given, with how much that is at most.
func builders() map[string]func(args []ref.Val) float64 {
	return map[string]func([]ref.Val) float64{"replace": replaced, "join": joined, "format": formatted}
}

// boundBuilt has the calls of a program fail that would build too much. All others are bounded by their costs.
func boundBuilt(env *cel.Env) (cel.ProgramOption, error) {
	calls := map[string]*functions.Overload{}
	for name := range builders() {
		f := env.Functions()[name]
		if f == nil {
			return nil, fmt.Errorf("prepare expressions: there is no function %s", name)
		}
		bound, err := f.Bindings()
		if err != nil {
			return nil, fmt.Errorf("prepare expressions: %w", err)
		}
		for _, b := range bound {
			calls[b.Operator] = b
		}
	}
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		size := builders()[call.Function()]
		if size == nil {
			return i, nil
		}
		does := calls[call.OverloadID()]
		if does == nil {
			return nil, fmt.Errorf("%s: the kinds of its arguments have to be known", call.Function())
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
			func(args ...ref.Val) ref.Val {
				if size(args) > maxBuilt {
					return types.NewErr("%s builds more than %d bytes", call.Function(), maxBuilt)
				}
				switch {
				case len(args) == 1 && does.Unary != nil:
					return does.Unary(args[0])
				case len(args) == 2 && does.Binary != nil:
					return does.Binary(args[0], args[1])
				}
				return does.Function(args...)
			}), nil
	}), nil
}

// length is that of a text, or of a value written as one.
func length(v ref.Val) float64 {
	switch v := v.(type) {
	case types.String:
		return float64(len(v))
	case types.Bytes:
		return float64(len(v))
	case traits.Lister:
		sum := 2.0
		for i := types.Int(0); i < v.Size().(types.Int) && sum <= maxBuilt; i++ {
			sum += length(v.Get(i)) + 4
		}
		return sum
	}
	return 400 // numbers and times have no more
}

func replaced(args []ref.Val) float64 {
	text, ok := args[0].(types.String)
	old, known := args[1].(types.String)
	if !ok || !known || len(args) < 3 {
		return 0 // it fails by itself
	}
	n := float64(strings.Count(string(text), string(old)))
	if len(args) > 3 {
		if most, ok := args[3].(types.Int); ok && most >= 0 {
			n = min(n, float64(most))
		}
	}
	return float64(len(text)) + n*length(args[2])
}

func joined(args []ref.Val) float64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	size := length(list)
	if n, ok := list.Size().(types.Int); ok && len(args) > 1 {
		size += float64(n) * length(args[1])
	}
	return size
}

// formatted is what a format may bring: for each of its verbs all of the arguments.
func formatted(args []ref.Val) float64 {
	text, ok := args[0].(types.String)
	if !ok || len(args) < 2 {
		return 0
	}
	return float64(len(text)) + float64(strings.Count(string(text), "%"))*length(args[1])
}
