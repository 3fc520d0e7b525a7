package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// table has all commands.
var table = agree.NewTable(agree.Subjects{
	Rules:    [][]agree.Rule{agree.Rules, cluster.Rules, rules, peopleRules},
	IsMember: func(r agree.Reader, node NodeID) (bool, error) { return cluster.In(r).IsMember(node) },
	Recall:   recallJob,
})

var rules = []agree.Rule{
	{Kind: Found, Level: 1, Do: with(found), Founds: true},
	{Kind: RaiseLevel, Level: 1, Do: with(raiseLevel)},
	{Kind: RaiseEpoch, Level: 1, Do: with(raiseEpoch)},
	{Kind: SetReplica, Level: 1, Do: with(setReplica)},
	{Kind: RemoveMember, Level: 1, Do: agree.Widened[memberRemovalUnmarked](cluster.LevelOfMarks, with(removeMember))},
	{Kind: AssignShards, Level: 1, Do: with(assignShards)},
	{Kind: SwitchShard, Level: 1, Do: with(switchShard)},
	{Kind: LeaveShard, Level: 1, Do: with(leaveShard)},
	{Kind: SwitchShards, Level: 2, Do: with(switchShards)},
	{Kind: LeaveShards, Level: 2, Do: with(leaveShards)},
	{Kind: RemoveReplica, Level: 2, Do: with(removeReplica)},
	{Kind: RemoveCollection, Level: 2, Do: with(removeCollection)},
	{Kind: FillReplica, Level: 1, Do: with(fillReplica)},
	{Kind: CreateAccess, Level: 1, Do: with(createAccess)},
	{Kind: RevokeAccess, Level: 1, Do: with(revokeAccess)},
	{Kind: AddFiles, Level: 1, Do: with(addFiles), Body: func() agree.Parser { return new(Additions) }},
	{Kind: ReportCopies, Level: 1, Do: with(reportCopies), Body: func() agree.Parser { return new(CopyReports) }},
	{Kind: ReleaseFiles, Level: 1, Do: with(releaseFiles), Body: func() agree.Parser { return new(Releases) }},
	{Kind: RemoveFile, Level: 1, Do: agree.Widened[fileRemovalUnmarked](cluster.LevelOfMarks, with(removeFile))},
	{Kind: LoseFile, Level: 2, Do: agree.Widened[fileLossUnmarked](cluster.LevelOfMarks, with(loseFile))},
	{Kind: FindCopies, Level: 1, Do: with(findCopies)},
	{Kind: FindSources, Level: 2, Do: with(findSources)},
	{Kind: TakeSources, Level: 3, Do: with(takeSources)},
	{Kind: PassShard, Level: 1, Do: with(passShard)},
	{Kind: JudgeCopies, Level: 1, Do: with(judgeCopies)},
	{Kind: CreateJob, Level: 1, Do: with(createJob)},
	{Kind: SubmitJob, Level: 1, Do: with(submitJob)},
	{Kind: ClaimJob, Level: 1, Do: with(claimJob)},
	{Kind: StartJob, Level: 1, Do: with(startJob)},
	{Kind: FinishJob, Level: 1, Do: with(finishJob)},
	{Kind: LoseJob, Level: 1, Do: with(loseJob)},
	{Kind: WishJob, Level: 1, Do: with(wishJob)},
	{Kind: ResubmitJob, Level: 1, Do: with(resubmitJob)},
	{Kind: RejectJob, Level: 1, Do: with(rejectJob)},
	{Kind: SealOldJobs, Level: 2, Do: with(sealStep)},
	{Kind: SealToNodes, Level: 2, Do: with(sealAgain)},
}

var peopleRules = []agree.Rule{
	{Kind: InvitePerson, Level: LevelOfPeople, Do: ofPeople(invitePerson)},
	{Kind: ReinvitePerson, Level: LevelOfPeople, Do: ofPeople(reinvitePerson)},
	{Kind: AcceptInvitation, Level: LevelOfPeople, Do: ofPeople(acceptInvitation)},
	{Kind: ChangePerson, Level: LevelOfPeople, Do: ofPeople(changePerson)},
	{Kind: DisablePerson, Level: LevelOfPeople, Do: ofPeople(disablePerson)},
	{Kind: EnablePerson, Level: LevelOfPeople, Do: ofPeople(enablePerson)},
	{Kind: GiveGrant, Level: LevelOfPeople, Do: ofPeople(giveGrant)},
	{Kind: EndGrant, Level: LevelOfPeople, Do: ofPeople(endGrant)},
	{Kind: MakeToken, Level: LevelOfPeople, Do: ofPeople(makeToken)},
	{Kind: TakeToken, Level: LevelOfPeople, Do: ofPeople(takeToken)},
	{Kind: NoteUses, Level: LevelOfPeople, Do: ofPeople(noteUses)},
}

// Apply carries out one command of the log and returns its answer. The error is the transaction's, or says
// that a stored value is damaged; whatever the bytes of data, there is no other, and a command that is
// refused changes nothing but the request window. index is the command's place in the log.
func Apply(tx Tx, index uint64, data []byte) (Result, error) { return table.Apply(tx, index, data) }

// LevelOf returns the level a cluster must have for the command, and false when the kind is unknown.
func LevelOf(kind Kind) (int, bool) { return table.LevelOf(kind) }

// state is the agreed state as a command sees it, with what the archive's commands read of it.
type state struct {
	*agree.State
	records
	kinds map[ReplicaName]ReplicaKind // of all replicas, once they were read
}

func stateOf(s *agree.State) *state { return &state{State: s, records: recordsIn(s)} }

func with[B any](do func(*state, *B) (any, error)) agree.Handler {
	return agree.With(func(s *agree.State, b *B) (any, error) { return do(stateOf(s), b) })
}
