package agree

import "errors"

// ErrNotFound reports that the catalog has nothing of that name.
var ErrNotFound = errors.New("not in the catalog")

// Found returns what Get returned, with ErrNotFound when it was not there.
func Found[T any](v T, there bool, err error) (T, error) {
	if err == nil && !there {
		err = ErrNotFound
	}
	return v, err
}

// View answers questions about the engine's own values. Every error but ErrNotFound is the Reader's, or says that a
// value is damaged.
type View struct{ Reader Reader }

// Cluster returns the cluster's own record; ErrNotFound before it was founded.
func (v View) Cluster() (Cluster, error) { return Found(Get[Cluster](v.Reader, PrefixCluster)) }

// Clock returns the time of the last command that was carried out.
func (v View) Clock() (Time, error) {
	t, _, err := Get[Time](v.Reader, keyClock)
	return t, err
}

// Trail returns at most n events of the audit trail behind event after.
func (v View) Trail(after uint64, n int) ([]Event, error) {
	behind := ""
	if after != 0 {
		behind = Hex(after)
	}
	return List[Event](v.Reader, PrefixTrail, behind, n)
}

// Boot returns the node's boot from which the latest request was remembered, 0 when none is.
func (v View) Boot(node NodeID) (uint64, error) {
	w, _, err := Get[window](v.Reader, keyWindow(node))
	return w.Boot, err
}
