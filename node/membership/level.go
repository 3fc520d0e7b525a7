package membership

import (
	"errors"
	"fmt"

	"holdfast/catalog"
)

// ErrOldProgram reports the data folder of a cluster whose level this program does not know. It would interpret the
// agreed commands differently from the others, and its catalog would no longer equal theirs.
var ErrOldProgram = errors.New("this program is too old for the cluster's level: start a newer one")

// CheckLevel fails with ErrOldProgram when the cluster is above the level that the program supports.
func CheckLevel(view func(func(catalog.View) error) error, supported int, version string) error {
	return view(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil && !errors.Is(err, catalog.ErrNotFound) { // nothing has been agreed yet
			return err
		}
		if c.Level > supported {
			return fmt.Errorf("%w: cluster %s is at level %d, this program (%s) knows levels up to %d",
				ErrOldProgram, c.Name, c.Level, version, supported)
		}
		return nil
	})
}
