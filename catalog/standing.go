package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// What cannot be undone is decided by a person who was shown what it does. The command carries a mark of what was shown, and is
// refused when that has changed before the command is applied.

// The bodies of the commands that carry such marks, as they were before.
type (
	fileRemovalUnmarked struct {
		Name   FileName `json:"name"`
		SHA256 Digest   `json:"sha256"`
		Reason string   `json:"reason"`
	}
	fileLossUnmarked struct {
		Name    FileName `json:"name"`
		SHA256  Digest   `json:"sha256"`
		Reason  string   `json:"reason"`
		Checked []NodeID `json:"checked,omitempty"`
		Undo    bool     `json:"undo,omitempty"`
	}
	memberRemovalUnmarked struct {
		ID     NodeID `json:"id"`
		Lost   bool   `json:"lost,omitempty"`
		Reason string `json:"reason,omitempty"`
	}
)

// unchanged refuses an act on a file's entry that is not the one that was looked at; 0 means that none was.
func unchanged(f *File, version uint64) error {
	if version == 0 || version == f.Version {
		return nil
	}
	return agree.Refuse(agree.Conflict, "file %s has changed since it was looked at: its entry is version %d now, it was %d",
		f.Name, f.Version, version)
}

// Standing returns a mark of what the member's removal would touch; see cluster.View.
func Standing(v View, id NodeID) (Digest, error) { return v.Standing(id) }

// EntryMark returns the mark of a file's entry for FileRemoval and FileLoss: its version, and 0 in a cluster of an earlier level.
func EntryMark(v View, f File) (uint64, error) {
	c, err := v.Cluster()
	if err != nil || c.Level < cluster.LevelOfMarks {
		return 0, err
	}
	return f.Version, nil
}
