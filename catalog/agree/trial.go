package agree

import (
	"errors"
	"maps"
	"slices"
)

// Try calls do, and takes back what it changed if it returns an error, a refusal or another one.
func (s *State) Try(do func() error) error {
	all, places, made := slices.Clone(s.changed.all), maps.Clone(s.changed.places), maps.Clone(s.made)
	err := do()
	if err != nil {
		s.changed = staged{all: all, places: places}
		s.made = made
	}
	return err
}

// Trial returns a state over what r shows, in which commands can be tried: nothing of it is ever written.
func Trial(r Reader, at Time) (*State, error) {
	s := newState(readOnly{r}, 0)
	s.At, s.Stamp = at, at
	var err error
	s.Cluster, _, err = Get[Cluster](s, PrefixCluster)
	return s, err
}

var errReadOnly = errors.New("a trial writes nothing")

// readOnly is a transaction that refuses to be written to.
type readOnly struct{ Reader }

func (readOnly) Set([]byte, []byte) error { return errReadOnly }
func (readOnly) Delete([]byte) error      { return errReadOnly }
