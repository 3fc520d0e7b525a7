package files

import "holdfast/catalog/agree"

// LevelOfWitnesses is the level from which on a copy is judged bad only when another was read since it was found so:
// all programs then read their copies of a file of which another copy is in doubt.
const LevelOfWitnesses = 5

// Doubted returns since when bytes of the file were found to be wrong or not readable, by the last such finding that
// waits for a verdict; 0 if there is none. A copy that is not there is no such finding.
func (f *File) Doubted() (since agree.Time) {
	for i := range f.Copies {
		if c := &f.Copies[i]; c.inDoubt() {
			since = max(since, c.Since)
		}
	}
	return since
}

// inDoubt reports whether wrong or unreadable bytes were found, and no verdict has been given.
func (c *Copy) inDoubt() bool {
	return c.State == UploadCompleted && c.Disputed && c.FileList != FileListMissing
}

// Unread reports whether nobody has read the good copy since bytes of the file were found wrong elsewhere. Copying
// reads and compares; a report that a copy is right is of one who has read it.
func (f *File) Unread(c *Copy) bool { return c.Good() && c.Since < f.Doubted() }
