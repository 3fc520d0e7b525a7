package wire

import "time"

// CatalogBackups are the scheduled backups of the catalog that a node keeps.
type CatalogBackups struct {
	Node      string          `json:"node" doc:"name of the node that answers"`
	Scheduled bool            `json:"scheduled" doc:"the node makes backups by itself"`
	Folder    string          `json:"folder,omitempty"`
	Every     string          `json:"every,omitempty"`
	Keep      int             `json:"keep" doc:"how many stay"`
	Key       string          `json:"key,omitempty" doc:"the public key that backups are encrypted to; none: there are none"`
	Failure   string          `json:"failure,omitempty" doc:"why the last try failed; none if it did not"`
	Failed    time.Time       `json:"failed,omitzero" doc:"when it failed"`
	Items     []CatalogBackup `json:"items" doc:"newest first"`
}

// CatalogBackup is one backup of the catalog.
type CatalogBackup struct {
	Name   string    `json:"name"`
	Bytes  int64     `json:"bytes"`
	Index  uint64    `json:"index" doc:"of the last command that is in it"`
	Epoch  uint64    `json:"epoch"`
	Level  int       `json:"level"`
	At     time.Time `json:"at"`
	SHA256 string    `json:"sha256" doc:"of what is encrypted"`
	Key    string    `json:"key" doc:"the public key that it is encrypted to"`
}

// BackupState says how the scheduled backups of the catalog stand that a node makes.
type BackupState struct {
	Looked bool      `json:"looked" doc:"the folder of the backups was read since the node started; before, it is not known whether there is one"`
	Newest time.Time `json:"newest,omitzero" doc:"when the newest was made"`
	Failed time.Time `json:"failed,omitzero" doc:"when the last try failed; absent if it did not"`
}

// NodeBackup says how the scheduled backups of the catalog stand that one node makes.
type NodeBackup struct {
	Node   string       `json:"node"`
	Name   string       `json:"name"`
	State  *BackupState `json:"state,omitempty" doc:"absent if the node makes none by itself, or did not say"`
	Silent bool         `json:"silent,omitempty" doc:"the node did not say: nothing is known of its backups"`
	Reason string       `json:"reason,omitempty" doc:"why it did not"`
}
