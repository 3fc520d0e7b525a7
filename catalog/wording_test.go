package catalog_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/notices"
	"holdfast/catalog/people"
	"holdfast/catalog/runs"
)

var update = flag.Bool("update-wording", false, "write testdata/wording.golden, which no change of a program should need")

// bodies are the commands and what each has as its body.
var bodies = []struct {
	kind catalog.Kind
	body reflect.Type
}{
	{catalog.Found, reflect.TypeFor[catalog.Founding]()},
	{catalog.RaiseLevel, reflect.TypeFor[catalog.LevelChange]()},
	{catalog.RaiseEpoch, reflect.TypeFor[catalog.EpochChange]()},
	{catalog.SetClock, reflect.TypeFor[catalog.ClockChange]()},
	{catalog.SetReplica, reflect.TypeFor[catalog.Replica]()},
	{catalog.SetCollection, reflect.TypeFor[catalog.Collection]()},
	{catalog.CreateToken, reflect.TypeFor[catalog.JoinToken]()},
	{catalog.RevokeToken, reflect.TypeFor[catalog.Named]()},
	{catalog.JoinMember, reflect.TypeFor[catalog.Joining]()},
	{catalog.UpdateMember, reflect.TypeFor[catalog.MemberChange]()},
	{catalog.RemoveMember, reflect.TypeFor[catalog.MemberRemoval]()},
	{catalog.ProveHolding, reflect.TypeFor[catalog.Proof]()},
	{catalog.AssignShards, reflect.TypeFor[catalog.Assignment]()},
	{catalog.SwitchShard, reflect.TypeFor[catalog.Switch]()},
	{catalog.LeaveShard, reflect.TypeFor[catalog.Leaving]()},
	{catalog.SwitchShards, reflect.TypeFor[catalog.Switches]()},
	{catalog.LeaveShards, reflect.TypeFor[catalog.Leavings]()},
	{catalog.RemoveReplica, reflect.TypeFor[catalog.ReplicaRemoval]()},
	{catalog.RemoveCollection, reflect.TypeFor[catalog.CollectionRemoval]()},
	{catalog.FillReplica, reflect.TypeFor[catalog.FillStep]()},
	{catalog.CreateAccess, reflect.TypeFor[catalog.AccessToken]()},
	{catalog.RevokeAccess, reflect.TypeFor[catalog.Named]()},
	{catalog.AddFiles, reflect.TypeFor[catalog.Additions]()},
	{catalog.ReportCopies, reflect.TypeFor[catalog.CopyReports]()},
	{catalog.ReleaseFiles, reflect.TypeFor[catalog.Releases]()},
	{catalog.RemoveFile, reflect.TypeFor[catalog.FileRemoval]()},
	{catalog.LoseFile, reflect.TypeFor[catalog.FileLoss]()},
	{catalog.FindCopies, reflect.TypeFor[catalog.Findings]()},
	{catalog.FindSources, reflect.TypeFor[catalog.Findings]()},
	{catalog.TakeSources, reflect.TypeFor[catalog.Takeovers]()},
	{catalog.PassShard, reflect.TypeFor[catalog.ShardPass]()},
	{catalog.JudgeCopies, reflect.TypeFor[catalog.Verdicts]()},
	{catalog.CreateJob, reflect.TypeFor[catalog.JobCreation]()},
	{catalog.SubmitJob, reflect.TypeFor[catalog.JobRef]()},
	{catalog.ClaimJob, reflect.TypeFor[catalog.JobRef]()},
	{catalog.StartJob, reflect.TypeFor[catalog.JobRef]()},
	{catalog.FinishJob, reflect.TypeFor[catalog.JobEnd]()},
	{catalog.LoseJob, reflect.TypeFor[catalog.JobEnd]()},
	{catalog.WishJob, reflect.TypeFor[catalog.JobWishing]()},
	{catalog.ResubmitJob, reflect.TypeFor[catalog.JobRef]()},
	{catalog.RejectJob, reflect.TypeFor[catalog.JobRef]()},
	{catalog.SealOldJobs, reflect.TypeFor[catalog.SealStep]()},
	{catalog.SealToNodes, reflect.TypeFor[catalog.SealAgain]()},
	{catalog.InvitePerson, reflect.TypeFor[catalog.Invitation]()},
	{catalog.ReinvitePerson, reflect.TypeFor[catalog.Invitation]()},
	{catalog.AcceptInvitation, reflect.TypeFor[catalog.Acceptance]()},
	{catalog.ChangePerson, reflect.TypeFor[catalog.PersonChange]()},
	{catalog.DisablePerson, reflect.TypeFor[catalog.PersonRef]()},
	{catalog.EnablePerson, reflect.TypeFor[catalog.PersonRef]()},
	{catalog.GiveGrant, reflect.TypeFor[catalog.Giving]()},
	{catalog.EndGrant, reflect.TypeFor[catalog.Ending]()},
	{catalog.MakeToken, reflect.TypeFor[catalog.TokenMaking]()},
	{catalog.TakeToken, reflect.TypeFor[catalog.TokenTaking]()},
	{catalog.NoteUses, reflect.TypeFor[catalog.TokenUses]()},
	{people.SetPassword, reflect.TypeFor[people.PasswordSetting]()},
	{people.Enter, reflect.TypeFor[people.Entrance]()},
	{people.EndSession, reflect.TypeFor[people.SessionEnd]()},
	{jobs.OpenJob, reflect.TypeFor[jobs.JobOpening]()},
	{jobs.AddPart, reflect.TypeFor[jobs.JobAddition]()},
	{jobs.CloseJob, reflect.TypeFor[jobs.JobClosing]()},
	{jobs.DropJob, reflect.TypeFor[catalog.JobRef]()},
	{jobs.MakeJob, reflect.TypeFor[jobs.JobMaking]()},
	{jobs.WalkJobs, reflect.TypeFor[jobs.WalkStep]()},
	{jobs.AddStatistics, reflect.TypeFor[jobs.JobStatistics]()},
	{jobs.DropStatistics, reflect.TypeFor[catalog.JobRef]()},
	{history.Keep, reflect.TypeFor[history.Step]()},
	{domains.Create, reflect.TypeFor[domains.Creation]()},
	{domains.Set, reflect.TypeFor[domains.Change]()},
	{domains.SetAlias, reflect.TypeFor[domains.Aliasing]()},
	{domains.Remove, reflect.TypeFor[domains.Ref]()},
	{domains.SetConfiguration, reflect.TypeFor[domains.Configuring]()},
	{domains.RemoveConfiguration, reflect.TypeFor[domains.PartRef]()},
	{domains.AddText, reflect.TypeFor[domains.TextAddition]()},
	{domains.SetList, reflect.TypeFor[domains.Listing]()},
	{domains.RemoveList, reflect.TypeFor[domains.PartRef]()},
	{domains.SetField, reflect.TypeFor[domains.Field]()},
	{domains.RemoveField, reflect.TypeFor[domains.FieldRef]()},
	{domains.SetSettings, reflect.TypeFor[domains.SettingsChange]()},
	{domains.BeginIngest, reflect.TypeFor[domains.IngestBeginning]()},
	{domains.AddIngested, reflect.TypeFor[domains.IngestChunk]()},
	{domains.EndIngest, reflect.TypeFor[domains.IngestEnding]()},
	{domains.StopIngest, reflect.TypeFor[domains.IngestStop]()},
	{harvests.CreateChannel, reflect.TypeFor[harvests.ChannelCreation]()},
	{harvests.SetChannel, reflect.TypeFor[harvests.ChannelChange]()},
	{harvests.DeleteChannel, reflect.TypeFor[harvests.Ref]()},
	{harvests.CreateTemplate, reflect.TypeFor[harvests.Creation]()},
	{harvests.SetTemplate, reflect.TypeFor[harvests.Change]()},
	{harvests.CopyTemplate, reflect.TypeFor[harvests.Copying]()},
	{harvests.DeleteTemplate, reflect.TypeFor[harvests.Ref]()},
	{harvests.CreateSchedule, reflect.TypeFor[harvests.Creation]()},
	{harvests.SetSchedule, reflect.TypeFor[harvests.Change]()},
	{harvests.CopySchedule, reflect.TypeFor[harvests.Copying]()},
	{harvests.DeleteSchedule, reflect.TypeFor[harvests.Ref]()},
	{harvests.CreateTraps, reflect.TypeFor[harvests.Creation]()},
	{harvests.SetTraps, reflect.TypeFor[harvests.Change]()},
	{harvests.CopyTraps, reflect.TypeFor[harvests.Copying]()},
	{harvests.DeleteTraps, reflect.TypeFor[harvests.Ref]()},
	{runs.Create, reflect.TypeFor[runs.Creation]()},
	{runs.Set, reflect.TypeFor[runs.Change]()},
	{runs.Activate, reflect.TypeFor[runs.Activation]()},
	{runs.Deactivate, reflect.TypeFor[runs.Ref]()},
	{runs.Remove, reflect.TypeFor[runs.Ref]()},
	{runs.AddConfigurations, reflect.TypeFor[runs.Listing]()},
	{runs.RemoveConfigurations, reflect.TypeFor[runs.Listing]()},
	{runs.AddSeeds, reflect.TypeFor[runs.SeedsAddition]()},
	{runs.SetSettings, reflect.TypeFor[runs.SettingsChange]()},
	{runs.BeginRun, reflect.TypeFor[runs.Beginning]()},
	{runs.EndRun, reflect.TypeFor[runs.Ending]()},
	{notices.Report, reflect.TypeFor[notices.Reporting]()},
	{notices.Drop, reflect.TypeFor[notices.Dropping]()},
	{notices.Acknowledge, reflect.TypeFor[notices.Acknowledging]()},
	{notices.Withdraw, reflect.TypeFor[notices.Of]()},
	{notices.Create, reflect.TypeFor[notices.Setting]()},
	{notices.Set, reflect.TypeFor[notices.Setting]()},
	{notices.Remove, reflect.TypeFor[notices.Ref]()},
	{notices.SealAgain, reflect.TypeFor[notices.Resealing]()},
	{notices.Test, reflect.TypeFor[notices.Testing]()},
	{notices.Claim, reflect.TypeFor[notices.Claiming]()},
	{notices.Settle, reflect.TypeFor[notices.Outcome]()},
}

// TestWordingOfWrongTypes sends every command with each of its fields of a wrong type. What it is answered is remembered in the
// state of every member, and names Go types: members whose programs have these types elsewhere have to name them alike.
func TestWordingOfWrongTypes(t *testing.T) {
	c := emptyCluster(t)
	c.raiseTo(t, catalog.Level)
	var out strings.Builder
	for _, of := range bodies {
		level, known := catalog.LevelOf(of.kind)
		fmt.Fprintf(&out, "%s of level %d %t\n", of.kind, level, known)
		for _, wrong := range wrongBodies(of.body) {
			data := fmt.Sprintf(`{"v":1,"k":%q,"at":%d,"actor":"test","body":%s}`, of.kind, c.now, wrong)
			res, err := catalog.Apply(c, c.index+1, []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if res.Refusal == nil || res.Refusal.Code != catalog.Invalid {
				t.Fatalf("%s is answered %+v", data, res)
			}
			fmt.Fprintf(&out, "\t%s\n\t\t%s\n", wrong, res.Refusal.Message)
		}
	}
	for _, wrong := range wrongBodies(reflect.TypeFor[catalog.Command]()) {
		res, err := catalog.Apply(c, c.index+1, []byte(wrong))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n\t%v\n", wrong, res.Refusal)
	}
	const file = "testdata/wording.golden"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		was, is := strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")
		for i := range min(len(was), len(is)) {
			if was[i] != is[i] {
				t.Errorf("line %d was %q, is %q", i+1, was[i], is[i])
			}
		}
		t.Errorf("%d lines were %d", len(is), len(was))
	}
}

// wrongBodies returns a text for each place in a value of the type at which something of a wrong type stands.
func wrongBodies(of reflect.Type) []string {
	if of == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
		return []string{`5`, `"x"`}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return wrongBodies(of.Elem())
	case reflect.Struct:
		out := []string{`5`, `[]`}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			for _, wrong := range wrongBodies(of.Field(i).Type) {
				out = append(out, fmt.Sprintf(`{%q:%s}`, name, wrong))
			}
		}
		return out
	case reflect.Slice:
		out := []string{`5`}
		if of.Elem().Kind() != reflect.Uint8 {
			for _, wrong := range wrongBodies(of.Elem()) {
				out = append(out, `[`+wrong+`]`)
			}
		}
		return out
	case reflect.String:
		return []string{`5`, `{}`}
	case reflect.Bool:
		return []string{`"x"`}
	default:
		return []string{`"x"`, `1.5`, `123456789012345678901234567890`}
	}
}
