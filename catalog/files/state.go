package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// state is the agreed state as a command of the subject sees it.
type state struct {
	*agree.State
	records
	kinds map[cluster.ReplicaName]cluster.ReplicaKind // of all replicas, once they were read
}

func stateOf(s *agree.State) *state { return &state{State: s, records: recordsIn(s)} }

func with[B any](do func(*state, *B) (any, error)) agree.Handler {
	return agree.With(func(s *agree.State, b *B) (any, error) { return do(stateOf(s), b) })
}
