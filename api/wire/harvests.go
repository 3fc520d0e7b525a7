package wire

import (
	"encoding/json"
	"time"
)

// Channel says which nodes take jobs: those that serve it.
type Channel struct {
	Name      string    `json:"name"`
	Snapshot  bool      `json:"snapshot" doc:"for jobs of snapshot harvests; otherwise for jobs of selective and event harvests"`
	Default   bool      `json:"default" doc:"the channel is the default of its kind, which cannot be deleted"`
	Comment   string    `json:"comment,omitempty"`
	Created   time.Time `json:"created,omitzero" doc:"absent if the channel comes with the system"`
	Changed   time.Time `json:"changed,omitzero"`
	ChangedBy string    `json:"changedBy,omitempty"`
	Nodes     []string  `json:"nodes" doc:"names of the nodes that crawl and serve the channel"`
	Waiting   int       `json:"waiting" doc:"jobs that wait in the channel; of many, only the first thousand are counted"`
}

// ChannelRequest makes a channel.
type ChannelRequest struct {
	Name     string `json:"name" minLength:"1" maxLength:"64" pattern:"^[0-9A-Za-z_]+$"`
	Snapshot bool   `json:"snapshot,omitempty" doc:"for jobs of snapshot harvests"`
	Comment  string `json:"comment,omitempty" maxLength:"500"`
}

// ChannelChange changes a channel.
type ChannelChange struct {
	Comment string `json:"comment" maxLength:"500"`
}

// Defined is what is said of everything that archivists define by a text. The text of a version never changes.
type Defined struct {
	Name      string    `json:"name"`
	Version   int       `json:"version" doc:"number of the latest version; 0 if it comes with the system"`
	Comment   string    `json:"comment,omitempty"`
	Created   time.Time `json:"created,omitzero"`
	Changed   time.Time `json:"changed,omitzero"`
	ChangedBy string    `json:"changedBy,omitempty" doc:"who changed it last"`
	Shown     int       `json:"shown,omitempty" doc:"the version that is shown; only in the answer about a single one"`
}

// Version is one version of what archivists define.
type Version struct {
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	MadeBy  string    `json:"madeBy"`
}

// Copying asks for a copy.
type Copying struct {
	Name    string `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$" doc:"name of the copy"`
	Version int    `json:"version,omitempty" minimum:"0" maximum:"1000000" doc:"which version is copied; default: the latest"`
}

// Template is settings of a crawl that harvests refer to.
type Template struct {
	Defined
	Active   bool            `json:"active"`
	Settings json.RawMessage `json:"settings,omitempty" doc:"only in the answer about a single one: the settings that the template gives, with [redacted] in place of secrets"`
}

// TemplateRequest makes a template.
type TemplateRequest struct {
	Name     string          `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Settings json.RawMessage `json:"settings,omitempty" doc:"settings of a crawl, or a whole job, as in a template file"`
	Contact  string          `json:"contact,omitempty" maxLength:"2048" doc:"instead of settings, for the template that new configurations have (default_template of the settings of domains): an e-mail address or a URL for owners of sites. The template has the default settings, and deduplicate is digest"`
	Inactive bool            `json:"inactive,omitempty"`
	Comment  string          `json:"comment,omitempty" maxLength:"500"`
}

// TemplateChange changes a template; fields that are not given stay. Settings become the next version.
type TemplateChange struct {
	Settings json.RawMessage `json:"settings,omitempty" doc:"all settings of the next version"`
	Active   *bool           `json:"active,omitempty"`
	Comment  *string         `json:"comment,omitempty" maxLength:"500"`
	After    int             `json:"after,omitempty" minimum:"0" maximum:"1000000" doc:"the version that the change is made of; it is refused if there is a later one"`
}

// Schedule says when a harvest repeats.
type Schedule struct {
	Defined
	Standard bool            `json:"standard" doc:"the schedule comes with the system, and cannot be changed"`
	Schedule json.RawMessage `json:"schedule,omitempty" doc:"only in the answer about a single one"`
}

// ScheduleRequest makes a schedule.
type ScheduleRequest struct {
	Name     string          `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Schedule json.RawMessage `json:"schedule" doc:"the frequency and its limits, such as {\"unit\":\"day\",\"every\":2,\"at\":\"22:00\",\"zone\":\"Europe/Copenhagen\"}"`
	Comment  string          `json:"comment,omitempty" maxLength:"500"`
}

// ScheduleChange changes a schedule; fields that are not given stay. A schedule becomes the next version.
type ScheduleChange struct {
	Schedule json.RawMessage `json:"schedule,omitempty" doc:"the whole schedule of the next version"`
	Comment  *string         `json:"comment,omitempty" maxLength:"500"`
	After    int             `json:"after,omitempty" minimum:"0" maximum:"1000000" doc:"the version that the change is made of; it is refused if there is a later one"`
}

// Date is a date on which a harvest would run.
type Date struct {
	At    time.Time `json:"at"`
	Local string    `json:"local" doc:"in the schedule's time zone"`
}

// TrapList is regular expressions of URIs that no crawl fetches.
type TrapList struct {
	Defined
	Active bool     `json:"active" doc:"the list counts in every job that is made"`
	Traps  []string `json:"traps,omitempty" doc:"only in the answer about a single one"`
}

// TrapListRequest makes a list of crawler traps.
type TrapListRequest struct {
	Name     string   `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"`
	Traps    []string `json:"traps" minItems:"1" maxItems:"100000" doc:"regular expressions (RE2) that match complete URIs"`
	Inactive bool     `json:"inactive,omitempty"`
	Comment  string   `json:"comment,omitempty" maxLength:"500"`
}

// TrapListChange changes a list; fields that are not given stay. Traps become the next version.
type TrapListChange struct {
	Traps   []string `json:"traps,omitempty" maxItems:"100000" doc:"all traps of the next version"`
	Active  *bool    `json:"active,omitempty"`
	Comment *string  `json:"comment,omitempty" maxLength:"500"`
	After   int      `json:"after,omitempty" minimum:"0" maximum:"1000000" doc:"the version that the change is made of; it is refused if there is a later one"`
}
