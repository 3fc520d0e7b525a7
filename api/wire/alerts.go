package wire

import "time"

// Alert is one thing that a person should know of, as data: a program or a page says it in its reader's language, by
// the kind and the parameters.
type Alert struct {
	Kind       string            `json:"kind" doc:"what sort of thing it is, such as node-away; kinds keep their meaning"`
	Severity   string            `json:"severity" doc:"bad: something fails, or copies are at risk; look: something waits for a person, or soon will"`
	Subject    string            `json:"subject,omitempty" doc:"what the alert is about; the kind says which: the name of a node or replica, a path, or the number of a job or harvest"`
	Node       string            `json:"node,omitempty" doc:"name of the node that sees it; absent for what every node sees"`
	Parameters map[string]string `json:"parameters,omitempty" doc:"what the text says beside the subject, by name"`
	Since      time.Time         `json:"since,omitzero" doc:"when it was first seen; a node that starts does not know earlier times"`
	Text       string            `json:"text" doc:"the alert as an English sentence"`

	Acknowledged *Acknowledgement `json:"acknowledged,omitempty" doc:"who knows of it; absent: nobody has said so, or not for this long"`
}

// Alerts are what all nodes see.
type Alerts struct {
	At     time.Time    `json:"at" doc:"when the nodes were asked"`
	Items  []Alert      `json:"items" doc:"the bad ones first, of these the oldest"`
	Silent []SilentNode `json:"silent" doc:"the nodes that did not answer: what they alone see is missing"`

	Backups []NodeBackup `json:"backups" doc:"how the backups of the catalog stand that the nodes make, of each member"`
}
