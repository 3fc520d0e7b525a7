package node

import (
	"errors"
	"fmt"

	"holdfast/catalog"
)

// ErrOldProgram reports a data folder of a cluster whose level this program does not know. It would read what the others
// agree on in another way than they do, and its catalog would no longer be theirs.
var ErrOldProgram = errors.New("this program is older than the cluster's level asks for: start the newer one")

// checkLevel fails with ErrOldProgram when the cluster is above the level that the program supports.
func checkLevel(view func(func(catalog.View) error) error, supported int) error {
	return view(func(v catalog.View) error {
		c, err := v.Cluster()
		if err := ignoreNotFound(err); err != nil {
			return err
		}
		if c.Level > supported {
			return fmt.Errorf("%w: cluster %s is at level %d, this program (%s) knows levels up to %d",
				ErrOldProgram, c.Name, c.Level, Version(), supported)
		}
		return nil
	})
}
