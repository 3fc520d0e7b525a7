package harvests

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: CreateChannel, Level: LevelOfDefinitions, Do: agree.With(createChannel)},
	{Kind: SetChannel, Level: LevelOfDefinitions, Do: agree.With(setChannel)},
	{Kind: DeleteChannel, Level: LevelOfDefinitions, Do: agree.With(deleteChannel)},
	{Kind: CreateTemplate, Level: LevelOfDefinitions, Do: of(Template, create)},
	{Kind: SetTemplate, Level: LevelOfDefinitions, Do: of(Template, set)},
	{Kind: CopyTemplate, Level: LevelOfDefinitions, Do: of(Template, copied)},
	{Kind: CreateSchedule, Level: LevelOfDefinitions, Do: of(Schedule, create)},
	{Kind: SetSchedule, Level: LevelOfDefinitions, Do: of(Schedule, set)},
	{Kind: CopySchedule, Level: LevelOfDefinitions, Do: of(Schedule, copied)},
	{Kind: DeleteSchedule, Level: LevelOfDefinitions, Do: of(Schedule, remove)},
	{Kind: CreateTraps, Level: LevelOfDefinitions, Do: of(Traps, create)},
	{Kind: SetTraps, Level: LevelOfDefinitions, Do: of(Traps, set)},
	{Kind: CopyTraps, Level: LevelOfDefinitions, Do: of(Traps, copied)},
	{Kind: DeleteTraps, Level: LevelOfDefinitions, Do: of(Traps, remove)},
}

// The kinds of commands and their bodies. DeleteTemplate is carried out by the catalog: other subjects may use the
// template.
const (
	CreateChannel  agree.Kind = "channel.create"  // ChannelCreation
	SetChannel     agree.Kind = "channel.set"     // ChannelChange
	DeleteChannel  agree.Kind = "channel.delete"  // Ref
	CreateTemplate agree.Kind = "template.create" // Creation
	SetTemplate    agree.Kind = "template.set"    // Change
	CopyTemplate   agree.Kind = "template.copy"   // Copying
	DeleteTemplate agree.Kind = "template.delete" // Ref
	CreateSchedule agree.Kind = "schedule.create" // Creation
	SetSchedule    agree.Kind = "schedule.set"    // Change
	CopySchedule   agree.Kind = "schedule.copy"   // Copying
	DeleteSchedule agree.Kind = "schedule.delete" // Ref
	CreateTraps    agree.Kind = "trap.create"     // Creation
	SetTraps       agree.Kind = "trap.set"        // Change
	CopyTraps      agree.Kind = "trap.copy"       // Copying
	DeleteTraps    agree.Kind = "trap.delete"     // Ref
)

// Commands are the kinds of commands that people ask for.
func Commands() []agree.Kind {
	out := []agree.Kind{DeleteTemplate}
	for _, r := range Rules {
		out = append(out, r.Kind)
	}
	return out
}

// Ref names a thing.
type Ref struct {
	Name string `json:"name"`
}

// ChannelCreation makes a channel.
type ChannelCreation struct {
	Name     string `json:"name"`
	Snapshot bool   `json:"snapshot,omitempty"`
	Comment  string `json:"comment,omitempty"`
}

// ChannelChange changes a channel.
type ChannelChange struct {
	Name    string `json:"name"`
	Comment string `json:"comment"`
}

// Creation makes a definition with its first text.
type Creation struct {
	Name    string       `json:"name"`
	Text    string       `json:"text"`
	Items   int          `json:"items,omitempty"`
	Off     bool         `json:"off,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Secret  *jobs.Secret `json:"secret,omitempty"` // that the text of a template refers to
}

// Change changes a definition; nil fields stay as they are. A text becomes the next version.
type Change struct {
	Name    string       `json:"name"`
	After   int          `json:"after,omitempty"` // the version that it is made of; 0: whichever is the latest
	Text    *string      `json:"text,omitempty"`
	Items   int          `json:"items,omitempty"`
	Off     *bool        `json:"off,omitempty"`
	Comment *string      `json:"comment,omitempty"`
	Secret  *jobs.Secret `json:"secret,omitempty"`
}

// Copying makes a definition with the text of another.
type Copying struct {
	From    string `json:"from"`
	Version int    `json:"version,omitempty"` // 0: the latest
	Name    string `json:"name"`
}

// of makes the handler of a kind.
func of[B any](k Kind, do func(*agree.State, Kind, *B) (any, error)) agree.Handler {
	return agree.With(func(s *agree.State, b *B) (any, error) { return do(s, k, b) })
}
