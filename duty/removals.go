package duty

import (
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// RemovalsDue lists at most n removed files whose time to be restored is over at now.
func RemovalsDue(view catalog.View, now time.Time, n int) ([]catalog.FileName, error) {
	return files.RemovalsIn(view.Reader).Expired(catalog.At(now), n)
}
