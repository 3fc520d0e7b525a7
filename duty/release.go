package duty

import "holdfast/catalog"

// ReleasesDue lists at most n single files after the given name whose bytes node self may ask to release now, and the
// name to continue after, empty when there are no more.
func ReleasesDue(view catalog.View, self catalog.NodeID, after catalog.FileName,
	n int) ([]catalog.FileName, catalog.FileName, error) {
	files, err := view.Releases(self, after, n)
	if err != nil {
		return nil, "", err
	}
	var out []catalog.FileName
	for i := range files {
		if files[i].Removed != 0 || files[i].Complete() {
			out = append(out, files[i].Name)
		}
	}
	if len(files) < n {
		return out, "", nil
	}
	return out, files[len(files)-1].Name, nil
}
