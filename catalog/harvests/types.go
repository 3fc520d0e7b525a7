// Package harvests is the subject of what archivists define for harvests of any collection: channels, templates,
// schedules and lists of crawler traps. What templates, schedules and lists say is text that no command reads: who
// proposes it has checked it. It is pure and deterministic.
package harvests

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfDefinitions is the level since which channels, templates, schedules and lists of traps are agreed.
const LevelOfDefinitions = cluster.LevelOfChannels

// The channels that come with the system. They are the defaults of their kinds, there is no other default, and they
// cannot be deleted.
const (
	Focused  = cluster.Focused
	Snapshot = cluster.Snapshot
)

// Channel says which nodes take jobs: those that serve it.
type Channel struct {
	Name     string     `json:"name"`
	Snapshot bool       `json:"snapshot,omitempty"` // for jobs of snapshot harvests; else of selective and event ones
	Comment  string     `json:"comment,omitempty"`
	Created  agree.Time `json:"created,omitempty"` // 0: it came with the system
	Changed  agree.Time `json:"changed,omitempty"`
	By       string     `json:"by,omitempty"` // who changed it last
}

// Default reports whether the channel is the default of its kind.
func (c *Channel) Default() bool { return c.Name == Focused || c.Name == Snapshot }

// Kind is a kind of thing that archivists define by a text.
type Kind string

// The kinds. Their values stand in keys and in the names of commands.
const (
	Template Kind = "template" // settings of a crawl
	Schedule Kind = "schedule" // when a harvest repeats
	Traps    Kind = "trap"     // regular expressions of what no crawl fetches
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Template, Schedule, Traps} }

// word is what a thing of the kind is called in refusals.
func (k Kind) word() string {
	if k == Traps {
		return "trap list"
	}
	return string(k)
}

// switched reports whether things of the kind can be switched off.
func (k Kind) switched() bool { return k != Schedule }

// Definition is a thing that is defined by a text: a template, a schedule, or a list of crawler traps. Its texts lie
// apart, a version each, and none changes.
type Definition struct {
	Name    string     `json:"name"`
	First   int        `json:"first"`         // version; 1, unless a deleted thing had the name before
	Version int        `json:"version"`       // the latest
	Off     bool       `json:"off,omitempty"` // not in use
	Comment string     `json:"comment,omitempty"`
	Created agree.Time `json:"created"`
	Changed agree.Time `json:"changed"`
	By      string     `json:"by"` // who changed it last
}

// Version is what is known of a definition's text.
type Version struct {
	Number int        `json:"version"`
	Made   agree.Time `json:"made"`
	By     string     `json:"by"`
	Items  int        `json:"items,omitempty"`  // of a list of traps: how many
	Secret string     `json:"secret,omitempty"` // that the text refers to
}

// Limits on what is defined.
const (
	MaxText     = 256 << 10 // bytes of a text
	MaxComment  = 2000      // bytes of a comment
	MaxVersions = 250       // texts of a definition: it is deleted by one command
	MaxItems    = 100_000
)

// Standard are the names of the schedules that come with the system. They cannot be given to others.
func Standard() []string { return []string{"hourly", "daily", "weekly", "monthly"} }
