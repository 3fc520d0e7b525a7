package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/batches"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/files"
	"holdfast/catalog/harvests"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/notices"
	"holdfast/catalog/people"
	"holdfast/catalog/rules"
	"holdfast/catalog/runs"
)

// table has all commands. A command's own room says what it is called, what it carries and what it does; those that
// span subjects stand here.
var table = agree.NewTable(agree.Subjects{
	Rules: [][]agree.Rule{agree.Rules, unlessStaged(cluster.Rules), gated(files.Rules), jobs.Rules,
		unlessUsed(domains.Rules), unlessUsed(harvests.Rules), runs.Rules, history.Rules, people.Rules,
		notices.Rules, batches.Rules, rules.Rules, approvals.Rules, gated(ofApprovals),
		gated(unlessStaged(ofCluster)), ofStaging, spanning},
	IsMember: func(r agree.Reader, node NodeID) (bool, error) { return cluster.In(r).IsMember(node) },
	Recall:   jobs.Recall,
})

var spanning = []agree.Rule{
	{Kind: Found, Level: 1, Do: agree.With(found), Founds: true},
	{Kind: BeginRebuild, Level: agree.LevelOfRebuilding, Do: agree.With(beginRebuild), Founds: true},
	{Kind: EndRebuild, Level: agree.LevelOfRebuilding, Do: agree.With(endRebuild)},
	{Kind: RaiseLevel, Level: 1, Do: agree.With(raiseLevel)},
	{Kind: RaiseEpoch, Level: 1, Do: agree.With(raiseEpoch)},
	{Kind: RemoveCollection, Level: 2, Do: agree.With(removeCollection)},
	{Kind: harvests.DeleteTemplate, Level: harvests.LevelOfDefinitions, Do: agree.With(deleteTemplate)},
	{Kind: approvals.Propose, Level: approvals.Level, Do: agree.With(proposeAct)},
	{Kind: approvals.Grant, Level: approvals.Level, Do: agree.With(grantAct)},
}

// ofCluster are those of them that can wait for a second person; see waiters.
var ofCluster = []agree.Rule{
	{Kind: SetReplica, Level: 1, Do: agree.With(setReplica)},
	{Kind: RemoveReplica, Level: 2, Do: agree.With(removeReplica)},
	{Kind: RemoveMember, Level: 1, Do: agree.Widened[memberRemovalUnmarked](cluster.LevelOfMarks,
		agree.Widened[memberRemovalUncounted](files.LevelOfHidden, agree.With(removeMember)))},
}

// asked says which act a command is when a person or a program asks for it, for May. A command that is not listed is
// for nodes alone: it is refused in anybody else's name.
var asked = map[Kind]question{
	RaiseLevel:              is(people.ChangeLevel),
	SetReplica:              is(people.ChangeReplica),
	RemoveReplica:           is(people.ChangeReplica),
	SetCollection:           is(people.ChangeCollection),
	RemoveCollection:        is(people.ChangeCollection),
	CreateToken:             is(people.InviteNode),
	RevokeToken:             is(people.InviteNode),
	RemoveMember:            is(people.RemoveNode),
	UpdateMember:            askedOfMember,
	cluster.StageLayout:     askedOfStaging,
	cluster.ApplyLayout:     is(people.ChangeLayout), // and each of the changes, see MayApply
	cluster.RevertLayout:    is(people.ChangeLayout),
	cluster.StageAlways:     is(people.ChangeLayout),
	RemoveFile:              is(people.EraseFile),
	LoseFile:                is(people.EraseFile),
	files.ReplaceCopy:       is(people.EraseFile),
	files.DiscardAside:      is(people.EraseFile),
	files.SetChecksum:       is(people.EraseFile),
	files.SetCopyState:      is(people.EraseFile),
	files.RestoreFile:       is(people.EraseFile),
	files.SetRemovals:       is(people.EraseFile),
	files.NoteAudit:         askedOfAudit,
	CreateJob:               askedOfJob,
	jobs.OpenJob:            askedOfJob,
	jobs.AddPart:            askedOfJob,
	jobs.CloseJob:           askedOfJob,
	jobs.DropJob:            askedOfJob,
	WishJob:                 askedOfJob,
	ResubmitJob:             askedOfJob,
	RejectJob:               askedOfJob,
	harvests.CreateChannel:  is(people.Define),
	harvests.SetChannel:     is(people.Define),
	harvests.DeleteChannel:  is(people.Define),
	harvests.CreateTemplate: is(people.Define),
	harvests.SetTemplate:    is(people.Define),
	harvests.CopyTemplate:   is(people.Define),
	harvests.DeleteTemplate: is(people.Define),
	harvests.CreateSchedule: is(people.Define),
	harvests.SetSchedule:    is(people.Define),
	harvests.CopySchedule:   is(people.Define),
	harvests.DeleteSchedule: is(people.Define),
	harvests.CreateTraps:    is(people.Define),
	harvests.SetTraps:       is(people.Define),
	harvests.CopyTraps:      is(people.Define),
	harvests.DeleteTraps:    is(people.Define),

	InvitePerson:       is(people.KeepPeople),
	ReinvitePerson:     is(people.KeepPeople),
	DisablePerson:      is(people.KeepPeople),
	EnablePerson:       is(people.KeepPeople),
	GiveGrant:          is(people.KeepPeople),
	EndGrant:           is(people.KeepPeople),
	MakeToken:          is(people.KeepOwn), // the command itself is refused for more than the owner's rights
	TakeToken:          is(people.KeepOwn),
	people.SetPassword: askedOfBody(people.View.AskedOfPassword),
	people.Enter:       askedOfBody(people.View.AskedToEnter),
	people.EndSession:  askedOfBody(people.View.AskedToEndSession),

	people.EnterIdentified: askedOfBody(people.View.AskedToEnter),
	people.AdmitPerson:     is(people.KeepPeople),
	people.UnlinkIdentity:  is(people.KeepPeople),
	people.Regroup:         is(people.KeepPeople),
	people.EndIdentified:   is(people.KeepOwn), // the command itself is refused unless a node asks

	ChangePerson:     askedOfBody(people.View.AskedToChange),
	AcceptInvitation: askedOfBody(people.View.AskedToAccept),
	CreateAccess:     askedOfBody(people.View.AskedOfToken),
	RevokeAccess:     askedOfBody(people.View.AskedOfToken),

	domains.Create:              askedOfDomain,
	domains.Set:                 askedOfDomain,
	domains.SetAlias:            askedOfDomain,
	domains.Remove:              askedOfDomain,
	domains.SetConfiguration:    askedOfDomain,
	domains.RemoveConfiguration: askedOfDomain,
	domains.AddText:             askedOfDomain,
	domains.SetList:             askedOfDomain,
	domains.RemoveList:          askedOfDomain,
	domains.SetField:            is(people.KeepDomain),
	domains.RemoveField:         is(people.KeepDomain),
	domains.SetSettings:         is(people.KeepDomain),
	domains.BeginIngest:         askedOfDomain,
	domains.StopIngest:          askedOfIngest,

	runs.Create:               askedOfHarvest,
	runs.Set:                  askedOfHarvest,
	runs.Activate:             askedOfHarvest,
	runs.Deactivate:           askedOfHarvest,
	runs.Remove:               askedOfHarvest,
	runs.AddConfigurations:    askedOfHarvest,
	runs.RemoveConfigurations: askedOfHarvest,
	runs.AddSeeds:             askedOfHarvest,
	runs.SetSettings:          is(people.KeepHarvest),

	approvals.Set:      is(people.Approve),
	approvals.Grant:    is(people.Approve),
	approvals.Deny:     is(people.Approve),
	approvals.Withdraw: is(people.KeepOwn), // the command itself is refused for what others proposed

	notices.Acknowledge: askedOfAlert,
	notices.Withdraw:    askedOfAlert,
	notices.Create:      askedOfAddress,
	notices.Set:         askedOfAddress,
	notices.Remove:      askedOfAddress,
	notices.Test:        askedOfAddress,

	rules.Add:    is(people.KeepAccess),
	rules.Change: is(people.KeepAccess),
	rules.Remove: is(people.KeepAccess),

	batches.Open:     askedOfBatch,
	batches.AddNames: askedOfBatch,
	batches.Wish:     askedOfBatch,
}

// Apply carries out one command of the log and returns its answer. The error is the transaction's, or says
// that a stored value is damaged; whatever the bytes of data, there is no other, and a command that is
// refused changes nothing but the request window. index is the command's place in the log.
func Apply(tx Tx, index uint64, data []byte) (Result, error) { return table.Apply(tx, index, data) }

// LevelOf returns the level a cluster must have for the command, and false when the kind is unknown.
func LevelOf(kind Kind) (int, bool) { return table.LevelOf(kind) }
