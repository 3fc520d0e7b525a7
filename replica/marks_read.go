package replica

// ReadMark returns the mark of a folder for files, empty if it has none.
func ReadMark(root string) (string, error) { return readMark(root) }

// ReadRoots returns the folders for files that a node has used, by their marks, as its list of them says.
func ReadRoots(path string) (map[string]string, error) { return readKnown(path) }
