package lookup

import (
	"holdfast/catalog"
	"holdfast/catalog/files"
)

// isHidden reports whether a file is removed and can be restored, as the catalog is now: its captures are in the index,
// and nobody is told of them. What cannot be looked up is not told either.
func (c *Captures) isHidden(file string) (is bool) {
	err := c.Catalog.View(func(v catalog.View) (err error) {
		is, err = files.RemovalsIn(v.Reader).IsHidden(catalog.FileName(file))
		return err
	})
	if err != nil {
		c.Log.Warn("captures are left out: the catalog cannot be read", "file", file, "error", err)
	}
	return is || err != nil
}
