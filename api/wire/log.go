package wire

import "time"

// LogLine is a line of a node's log.
type LogLine struct {
	Time       time.Time      `json:"time"`
	Level      string         `json:"level" enum:"debug,info,warn,error"`
	Message    string         `json:"message"`
	Attributes []LogAttribute `json:"attributes,omitempty" doc:"what the message is about"`
}

// LogAttribute is a name with its value, as text.
type LogAttribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NodeLog are lines of a node's log, the oldest first.
type NodeLog struct {
	Node      string    `json:"node"`
	Name      string    `json:"name"`
	Items     []LogLine `json:"items"`
	Next      string    `json:"next" doc:"cursor after the lines that were looked at: give it as after to get those that follow"`
	Missed    uint64    `json:"missed,omitempty" doc:"lines after the cursor that the node no longer has in memory, whether they match or not; its log files have them"`
	Restarted bool      `json:"restarted,omitempty" doc:"the node was started after the cursor was given: lines before its start are in its log files alone"`
	Level     LogLevel  `json:"level"`
}

// LogLevel says which lines a node keeps: those of a level and above.
type LogLevel struct {
	Now   string    `json:"now" enum:"debug,info,warn,error"`
	Usual string    `json:"usual" enum:"debug,info,warn,error" doc:"as cluster.toml says; debug if the node was started with --verbose"`
	Until time.Time `json:"until,omitzero" doc:"when the usual level holds again; absent if it does now"`
	By    string    `json:"by,omitempty" doc:"who changed it for a time"`
}

// LogLevelRequest asks a node to keep more lines for a time.
type LogLevelRequest struct {
	Level string `json:"level" enum:"debug,info,warn,error" doc:"lines of this level and above are kept; the usual level ends an earlier change"`
	For   string `json:"for,omitempty" maxLength:"50" default:"15m" doc:"for how long, such as 15m; at most 24h"`
}
