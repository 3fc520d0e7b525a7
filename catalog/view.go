package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/batches"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/files"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/notices"
	"holdfast/catalog/people"
	"holdfast/catalog/rules"
	"holdfast/catalog/runs"
)

// View answers questions over the agreed state: those of each subject. It reads what its Reader shows, so that one View
// over one transaction sees one moment. Every error but ErrNotFound is the Reader's, or says that a value is damaged.
// Lists are in the order of their keys; pages take at most n things behind the given one. Questions about people are
// answered by People.
type View struct {
	ofFiles // and of the cluster, and of the engine
	ofJobs
}

type (
	ofFiles  = files.View
	ofJobs   = jobs.View
	ofPeople = people.View
)

// NewView returns a View of r.
func NewView(r Reader) View { return View{files.NewView(r), jobs.NewView(r)} }

// AccessTokens returns all access tokens by id.
func (v View) AccessTokens() ([]AccessToken, error) { return PeopleIn(v).AccessTokens() }

// AccessToken returns the access token, revoked and expired ones too, or ErrNotFound.
func (v View) AccessToken(id string) (AccessToken, error) { return PeopleIn(v).AccessToken(id) }

// People answers questions about people and what they may.
type People struct{ ofPeople }

// PeopleIn returns the view's values about people.
func PeopleIn(v View) People { return People{people.NewView(v.ofFiles.Reader)} }

// PlaceOf returns the place of a member, empty if there is no such member.
func (p People) PlaceOf(id NodeID) (string, error) {
	r := cluster.In(p.Reader)
	m, there, err := r.Member(id)
	if err != nil || !there {
		return "", err
	}
	in, _, err := r.Replica(m.Replica)
	return in.Place, err
}

// Standing returns a mark of everything that the member's removal would affect; see cluster.View.
func Standing(v View, id NodeID) (Digest, error) { return v.Standing(id) }

// EntryMark returns the mark of a file's entry, for its removal or loss; see files.View.
func EntryMark(v View, f File) (uint64, error) { return v.Mark(f) }

// JobsIn returns the view's values about jobs.
func JobsIn(v View) jobs.View { return v.ofJobs }

// RunsIn returns the view's values about harvests and their runs.
func RunsIn(v View) runs.View { return runs.NewView(v.ofFiles.Reader) }

// VersionOf returns what tells the values of the keys from any others, for a guarded command: see agree.VersionOf.
func VersionOf(v View, keys ...string) (string, error) {
	return agree.VersionOf(v.ofFiles.Reader, keys...)
}

// DomainsIn returns the view's values about domains.
func DomainsIn(v View) domains.View { return domains.NewView(v.ofFiles.Reader) }

// HistoryIn returns the view's values about what harvests brought.
func HistoryIn(v View) history.View { return history.NewView(v.ofFiles.Reader) }

// NoticesIn returns the view's values about faults and who is told of them.
func NoticesIn(v View) notices.View { return notices.NewView(v.ofFiles.Reader) }

// BatchesIn returns the view's values about batches.
func BatchesIn(v View) batches.View { return batches.NewView(v.ofFiles.Reader) }

// RulesIn returns the view's values about access rules.
func RulesIn(v View) rules.View { return rules.NewView(v.ofFiles.Reader) }

// ApprovalsIn returns the view's values about acts that wait for a second person.
func ApprovalsIn(v View) approvals.View { return approvals.NewView(v.ofFiles.Reader) }

// StillMeant reports whether a proposal is about what it was about when it was made: nothing of that has changed. One
// that is not cannot be granted.
func StillMeant(v View, p *approvals.Proposal) (bool, error) {
	w, known := waiters[p.Kind]
	if !known {
		return false, nil
	}
	own, err := v.Cluster()
	if err != nil || own.Epoch != p.Epoch {
		return false, err
	}
	act, err := w.act(v.ofFiles.Reader, p.Body)
	if err != nil && refused(err) {
		return false, nil
	}
	return err == nil && act.Same(p.Act), err
}
