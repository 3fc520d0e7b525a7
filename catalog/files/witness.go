package files

import "holdfast/catalog/agree"

// LevelOfWitnesses is the first level at which a copy is judged bad only after another copy was read since the finding.
// From this level on, all programs read their own copy of a file when another copy is in doubt.
const LevelOfWitnesses = 5

// Doubted returns the time of the last finding that a copy's bytes are wrong or cannot be read, among the findings that
// wait for a verdict; 0 if there is none. A missing copy is no such finding.
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

// Unread reports whether the good copy has not been read since another copy was found wrong. Making a copy reads and
// compares it, and so does whoever reports that a copy is right.
func (f *File) Unread(c *Copy) bool { return c.Good() && c.Since < f.Doubted() }
