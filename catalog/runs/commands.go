package runs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Rules are the subject's commands.
var Rules = []agree.Rule{
	{Kind: Create, Level: Level, Do: agree.With(create)},
	{Kind: Set, Level: Level, Do: agree.With(set)},
	{Kind: Activate, Level: Level, Do: agree.With(activate)},
	{Kind: Deactivate, Level: Level, Do: agree.With(deactivate)},
	{Kind: Remove, Level: Level, Do: agree.With(remove)},
	{Kind: AddConfigurations, Level: Level, Do: agree.With(addConfigurations)},
	{Kind: RemoveConfigurations, Level: Level, Do: agree.With(removeConfigurations)},
	{Kind: AddSeeds, Level: Level, Do: agree.With(addSeeds)},
	{Kind: SetSettings, Level: Level, Do: agree.With(setSettings)},
	{Kind: BeginRun, Level: Level, Do: agree.With(beginRun)},
	{Kind: EndRun, Level: Level, Do: agree.With(endRun)},
}

// The kinds of commands and their bodies. BeginRun and EndRun are for the leader.
const (
	Create               agree.Kind = "harvest.create"     // Creation
	Set                  agree.Kind = "harvest.set"        // Change
	Activate             agree.Kind = "harvest.activate"   // Activation
	Deactivate           agree.Kind = "harvest.deactivate" // Ref
	Remove               agree.Kind = "harvest.remove"     // Ref: some of what it has with each command
	AddConfigurations    agree.Kind = "harvest.add"        // Listing
	RemoveConfigurations agree.Kind = "harvest.drop"       // Listing
	AddSeeds             agree.Kind = "harvest.seeds"      // SeedsAddition
	SetSettings          agree.Kind = "harvest.settings"   // SettingsChange
	BeginRun             agree.Kind = "run.begin"          // Beginning
	EndRun               agree.Kind = "run.end"            // Ending
)

// Creation makes a harvest, which is not active.
type Creation struct {
	Kind       Kind                   `json:"kind"`
	Collection cluster.CollectionName `json:"collection"`
	Asked
}

// Change replaces all that is said of a harvest. It is refused if the harvest has another version by now. Next is its
// next date by the schedule that it has then, if it is active.
type Change struct {
	Number  uint64     `json:"number"`
	Version uint64     `json:"version"`
	Next    agree.Time `json:"next,omitempty"`
	Asked
}

// Activation makes a harvest active. Next is its next date.
type Activation struct {
	Number  uint64     `json:"number"`
	Version uint64     `json:"version"`
	Next    agree.Time `json:"next"`
}

// Ref names a harvest, and says why.
type Ref struct {
	Number uint64 `json:"number"`
	Reason string `json:"reason,omitempty"`
}

// Listing names configurations that a harvest gets, or does not have any more.
type Listing struct {
	Number         uint64          `json:"number"`
	Configurations []Configuration `json:"configurations"`
}

// Beginning begins the run of a harvest that is due. Date is the one that the harvest has, and Next the one that
// follows, 0 if there is none; Skipped dates lay between. Schedule is the text by which they were computed.
type Beginning struct {
	Number   uint64     `json:"number"`
	Date     agree.Time `json:"date"`
	Next     agree.Time `json:"next,omitempty"`
	Skipped  uint64     `json:"skipped,omitempty"`
	Schedule string     `json:"schedule,omitempty"`
}

// Ending ends the making of a run's jobs. With an error the harvest is deactivated; the jobs that were made stay.
type Ending struct {
	Number         uint64           `json:"number"`
	Run            uint64           `json:"run"`
	Jobs           uint64           `json:"jobs"`
	Configurations int64            `json:"configurations,omitempty"`
	LeftOut        map[string]int64 `json:"leftOut,omitempty"`
	// configurations whose domain is in an open job of another run
	Busy      int64           `json:"busy,omitempty"`
	Gone      int64           `json:"gone,omitempty"`
	GoneNames []Configuration `json:"goneNames,omitempty"` // of the first of these
	Error     string          `json:"error,omitempty"`
	Detail    string          `json:"detail,omitempty"`
}
