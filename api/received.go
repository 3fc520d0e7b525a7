package api

import (
	"errors"
	"fmt"

	"holdfast/catalog"
)

// received is the catalog of a node that may have joined a moment ago. Until it has received the cluster's record, it
// does not know what exists, and "none" or "not found" would be wrong.
type received struct{ Catalog }

// View is the Catalog's. It returns ErrUnavailable while the node has not received the cluster's record.
func (r received) View(fn func(catalog.View) error) error {
	return r.Catalog.View(func(v catalog.View) error {
		if _, err := v.Cluster(); errors.Is(err, catalog.ErrNotFound) {
			return fmt.Errorf("%w: this node has not received the catalog yet; ask again in a moment, or ask another "+
				"node", ErrUnavailable)
		}
		return fn(v)
	})
}
