package wire

import "time"

// BatchRequest asks for a program to be run over files of the archive. Empty fields select all files.
type BatchRequest struct {
	Program     string            `json:"program" minLength:"1" maxLength:"64"`
	Parameters  map[string]string `json:"parameters,omitempty" doc:"of the program"`
	Collections []string          `json:"collections,omitempty" maxItems:"1000" doc:"files of these collections; none: of all, which needs the right in the whole archive"`
	Replica     string            `json:"replica,omitempty" maxLength:"64" doc:"files that this replica holds; its copies are read, and others where they are no good"`
	Files       string            `json:"files,omitempty" maxLength:"1000" doc:"files whose whole name matches this regular expression"`
	Job         uint64            `json:"job,omitempty" maximum:"9007199254740991" doc:"files that this job made; without collections, those of the job's collection"`
	Names       []string          `json:"names,omitempty" maxItems:"100000" doc:"files with these names"`
	TimeLimit   int64             `json:"timeLimitSeconds,omitempty" minimum:"0" maximum:"315360000" doc:"seconds that it may run, without pauses; 0: no limit"`
	OutputLimit int64             `json:"outputLimit,omitempty" minimum:"0" maximum:"9007199254740991" doc:"bytes that its result may have; 0: no limit"`
}

// BatchState says how far a batch is.
type BatchState string

// The states of a batch.
const (
	BatchOpening    BatchState = "opening"
	BatchRunning    BatchState = "running"
	BatchPaused     BatchState = "paused"
	BatchStopped    BatchState = "stopped"
	BatchDone       BatchState = "done"
	BatchIncomplete BatchState = "incomplete"
)

// Ended reports whether nothing more happens to a batch in this state.
func (s BatchState) Ended() bool {
	return s == BatchStopped || s == BatchDone || s == BatchIncomplete
}

// Batch is a program that runs over files of the archive where these lie, or did.
type Batch struct {
	ID          string            `json:"id"`
	Program     string            `json:"program"`
	Parameters  map[string]string `json:"parameters,omitempty"`
	Collections []string          `json:"collections,omitempty"`
	Replica     string            `json:"replica,omitempty"`
	Files       string            `json:"files,omitempty"`
	Job         uint64            `json:"job,omitempty"`
	Names       int               `json:"names,omitempty" doc:"how many names its list has"`
	TimeLimit   int64             `json:"timeLimitSeconds,omitempty"`
	OutputLimit int64             `json:"outputLimit,omitempty"`
	By          string            `json:"by" doc:"who asked for it"`
	State       BatchState        `json:"state" enum:"opening,running,paused,stopped,done,incomplete" doc:"done: every selected file is in the result; incomplete: it ended, and some are not"`
	Reason      string            `json:"reason,omitempty" doc:"of the state"`
	Node        string            `json:"node,omitempty" doc:"that drives it and keeps its result; none: nobody does"`
	Opened      time.Time         `json:"opened"`
	Begun       time.Time         `json:"begun,omitzero" doc:"the files are selected that the archive had then"`
	Ended       time.Time         `json:"ended,omitzero"`
	Seconds     int64             `json:"seconds" doc:"that it has run, without pauses"`
	Progress    *BatchProgress    `json:"progress,omitempty" doc:"how far it is, or how it went; missing in lists while it runs"`
	Unknown     string            `json:"unknown,omitempty" doc:"why its progress is not known"`
}

// BatchProgress says how far a batch is, or how it went.
type BatchProgress struct {
	Selected   int64          `json:"selected" doc:"files"`
	Files      int64          `json:"files" doc:"that were processed"`
	Bytes      int64          `json:"bytes" doc:"of these files"`
	Output     int64          `json:"output" doc:"bytes of the result"`
	Failed     int64          `json:"failed" doc:"files that are not in the result"`
	Failures   []BatchFailure `json:"failures,omitempty" doc:"the first of them, by name"`
	Nodes      []BatchShare   `json:"nodes,omitempty" doc:"that processed files"`
	Shards     int            `json:"shards,omitempty" doc:"that have selected files"`
	ShardsDone int            `json:"shardsDone,omitempty"`
	Detail     string         `json:"detail,omitempty" doc:"what it waits for"`
}

// BatchFailure says why a file is not in the result.
type BatchFailure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// BatchShare is what one node processed.
type BatchShare struct {
	Node  string `json:"node"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}

// BatchProgram is a program that can be run as a batch.
type BatchProgram struct {
	Name       string                  `json:"name"`
	Help       string                  `json:"help"`
	Parameters []BatchProgramParameter `json:"parameters,omitempty"`
}

// BatchProgramParameter is a choice that a program leaves to who asks for it.
type BatchProgramParameter struct {
	Name    string   `json:"name"`
	Default string   `json:"default"`
	Help    string   `json:"help"`
	Allowed []string `json:"allowed,omitempty" doc:"none: any text"`
}
