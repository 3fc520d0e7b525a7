package replica

import (
	"log/slog"

	"holdfast/catalog"
)

// provesLevel is the level from which on members compare their copies with the catalog after a recovery.
const provesLevel = 2

// recoveredOnTrust reports whether the cluster was recovered and has a level at which its members do not compare
// their copies with the catalog. The state may be older than their deletions then, so nothing is released because of
// what it says about copies, until the level is raised.
func recoveredOnTrust(v catalog.View) (bool, error) {
	c, err := v.Cluster()
	return c.Level < provesLevel && c.Epoch > 1, err
}

// nothingProved is recoveredOnTrust of the state here. It says so once.
func nothingProved(cat Catalog, p *pending, log *slog.Logger) (held bool, err error) {
	err = cat.View(func(v catalog.View) (err error) { held, err = recoveredOnTrust(v); return err })
	if held && !p.told.Swap(true) {
		log.Warn("the cluster was recovered at a level at which nobody compares copies with the catalog: nothing is " +
			"released until its level is raised, to 3 at least")
	}
	return held, err
}
