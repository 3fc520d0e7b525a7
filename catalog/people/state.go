package people

import "holdfast/catalog/agree"

// state is the agreed state as a command of the subject sees it.
type state struct {
	*agree.State
	View
}

func with[B any](do func(*state, *B) (any, error)) agree.Handler {
	return agree.With(func(s *agree.State, b *B) (any, error) { return do(&state{s, NewView(s)}, b) })
}
