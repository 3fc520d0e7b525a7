package lookup

import (
	"holdfast/catalog"
	"holdfast/catalog/files"
)

// isGone reports whether a file is removed, as the catalog is now: as long as its bytes are here, its captures are in
// the index, and nobody is told of them. What cannot be looked up is not told either.
func (c *Captures) isGone(file string) (is bool) {
	err := c.Catalog.View(func(v catalog.View) (err error) {
		is, err = files.RemovalsIn(v.Reader).IsGone(catalog.FileName(file))
		return err
	})
	if err != nil {
		c.Log.Warn("captures are left out: the catalog cannot be read", "file", file, "error", err)
	}
	return is || err != nil
}
