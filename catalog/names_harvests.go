package catalog

import "holdfast/catalog/harvests"

// The names of catalog/harvests, by which other rooms know them. What a name means is said there.
type (
	Channel    = harvests.Channel
	Definition = harvests.Definition
)

// HarvestsIn returns the view's values of what archivists define for harvests.
func HarvestsIn(v View) harvests.View { return harvests.NewView(v.ofFiles.Reader) }
