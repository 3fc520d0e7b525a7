package web

import (
	"fmt"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/internal/words"
)

// mark is a state as people see it: a word, and the class that gives it its colour and shape.
type mark struct{ Class, Text string }

// plain writes a value as it is.
func plain(s any) string { return fmt.Sprint(s) }

// terms are the words for states in the reader's language. The templates call its methods.
type terms struct{ *words.Language }

// JobState marks the state of a job.
func (l terms) JobState(s wire.JobState) mark {
	switch s {
	case wire.JobNew:
		return mark{"quiet", l.Text("web.job-new")}
	case wire.JobSubmitted:
		return mark{"quiet", l.Text("web.job-submitted")}
	case wire.JobStarted:
		return mark{"work", l.Text("web.job-started")}
	case wire.JobDone:
		return mark{"good", l.Text("web.job-done")}
	case wire.JobFailed:
		return mark{"bad", l.Text("web.job-failed")}
	case wire.JobResubmitted:
		return mark{"quiet", l.Text("web.job-resubmitted")}
	case wire.JobFailedRejected:
		return mark{"quiet", l.Text("web.job-rejected")}
	}
	return mark{"quiet", string(s)}
}

// JobStates are the states that a list of jobs can be asked for.
func (terms) JobStates() []wire.JobState {
	return []wire.JobState{wire.JobNew, wire.JobSubmitted, wire.JobStarted, wire.JobDone, wire.JobFailed,
		wire.JobResubmitted, wire.JobFailedRejected}
}

// CrawlState marks the state of a crawl that runs.
func (l terms) CrawlState(s string) mark {
	switch s {
	case "PREPARING":
		return mark{"work", l.Text("web.crawl-preparing")}
	case "RUNNING":
		return mark{"work", l.Text("web.crawl-running")}
	case "PAUSED":
		return mark{"look", l.Text("web.crawl-paused")}
	case "STOPPING":
		return mark{"look", l.Text("web.crawl-stopping")}
	case "FINISHED":
		return mark{"good", l.Text("web.crawl-finished")}
	case "":
		return mark{"look", l.Text("web.crawl-unknown")}
	}
	return mark{"quiet", s}
}

// Stop says why the harvest of a configuration ended.
func (l terms) Stop(reason string) string {
	switch reason {
	case "completed":
		return l.Text("web.stop-completed")
	case "object-limit":
		return l.Text("web.stop-object-limit")
	case "size-limit":
		return l.Text("web.stop-size-limit")
	case "config-object-limit":
		return l.Text("web.stop-config-object-limit")
	case "config-size-limit":
		return l.Text("web.stop-config-size-limit")
	case "time-limit":
		return l.Text("web.stop-time-limit")
	case "unfinished":
		return l.Text("web.stop-unfinished")
	}
	return reason
}

// Presence marks whether a node is there, as the node that serves hears.
func (l terms) Presence(s string) mark {
	switch s {
	case "alive":
		return mark{"good", l.Text("web.node-alive")}
	case "suspected":
		return mark{"look", l.Text("web.node-suspected")}
	case "failed":
		return mark{"bad", l.Text("web.node-failed")}
	case "left":
		return mark{"bad", l.Text("web.node-left")}
	}
	return mark{"look", l.Text("web.node-unknown")}
}

// Role names a role.
func (l terms) Role(r any) string {
	switch s := plain(r); wire.Role(s) {
	case wire.RoleReader:
		return l.Text("web.role-reader")
	case wire.RoleCurator:
		return l.Text("web.role-curator")
	case wire.RoleOperator:
		return l.Text("web.role-operator")
	case wire.RoleAdmin:
		return l.Text("web.role-admin")
	default:
		return s
	}
}

// PersonState marks whether a person may act.
func (l terms) PersonState(s wire.PersonState) mark {
	switch s {
	case wire.Invited:
		return mark{"work", l.Text("web.person-invited")}
	case wire.Active:
		return mark{"good", l.Text("web.person-active")}
	case wire.Disabled:
		return mark{"look", l.Text("web.person-disabled")}
	}
	return mark{"quiet", string(s)}
}

// GrantState says whether a grant counts.
func (l terms) GrantState(s string) string {
	switch s {
	case "open":
		return l.Text("web.grant-open")
	case "expired":
		return l.Text("web.grant-expired")
	case "ended":
		return l.Text("web.grant-ended")
	case "void":
		return l.Text("web.grant-void")
	}
	return s
}

// Kind says what a replica keeps.
func (l terms) Kind(k wire.ReplicaKind) string {
	switch k {
	case wire.Bitarchive:
		return l.Text("web.kind-bitarchive")
	case wire.Checksum:
		return l.Text("web.kind-checksum")
	}
	return string(k)
}

// FileStates are the states that a list of files can be asked for, CopyStates those of a list of copies.
func (terms) FileStates() []string {
	return []string{"complete", "incomplete", "owed", "stuck", "disputed", "corrupt", "missing", "lost", "removed",
		"hidden"}
}

// CopyStates are the faults of copies.
func (terms) CopyStates() []string { return copyStates() }

func copyStates() []string { return []string{"owed", "disputed", "corrupt", "missing"} }

// FileState names what a list of files or copies can be asked for.
func (l terms) FileState(s string) string {
	switch s {
	case "complete":
		return l.Text("web.file-complete")
	case "incomplete":
		return l.Text("web.file-incomplete")
	case "owed":
		return l.Text("web.copy-owed")
	case "disputed":
		return l.Text("web.copy-disputed")
	case "corrupt":
		return l.Text("web.copy-corrupt")
	case "missing":
		return l.Text("web.copy-missing")
	case "lost":
		return l.Text("web.file-lost")
	case "removed":
		return l.Text("web.file-removed")
	case "stuck":
		return l.Text("web.file-stuck")
	case "hidden":
		return l.Text("web.file-hidden")
	}
	return s
}

// OfFile marks the state of a file.
func (l terms) OfFile(f wire.File) mark {
	switch {
	case !f.Until.IsZero():
		return mark{"look", l.FileState("hidden")}
	case !f.Removed.IsZero():
		return mark{"quiet", l.FileState("removed")}
	case !f.Lost.IsZero():
		return mark{"bad", l.FileState("lost")}
	case f.Stuck != nil:
		return mark{"bad", l.FileState("stuck")}
	case f.Complete:
		return mark{"good", l.FileState("complete")}
	}
	return mark{"look", l.FileState("incomplete")}
}

// OfCopy marks the state of a copy: the worst thing that is known of it.
func (l terms) OfCopy(c wire.Copy) mark {
	switch {
	case c.FileList == wire.FileListMissing:
		return mark{"bad", l.FileState("missing")}
	case c.Checksum == wire.ChecksumCorrupt:
		return mark{"bad", l.FileState("corrupt")}
	case c.Disputed:
		return mark{"look", l.FileState("disputed")}
	case c.State == wire.UploadFailed:
		return mark{"bad", l.Text("web.copy-failed")}
	case c.State != wire.UploadCompleted:
		return mark{"look", l.FileState("owed")}
	case c.Verified.IsZero():
		return mark{"look", l.Text("web.copy-unheard")}
	case c.Away:
		return mark{"look", l.Text("web.copy-away")}
	}
	return mark{"good", l.Text("web.copy-verified")}
}

// Audit marks the state of an audit.
func (l terms) Audit(a wire.Audit) mark {
	switch a.State {
	case "running":
		return mark{"work", l.Text("web.audit-running")}
	case "paused":
		return mark{"look", l.Text("web.audit-paused")}
	case "stopped":
		return mark{"look", l.Text("web.audit-stopped")}
	case "incomplete":
		return mark{"look", l.Text("web.audit-incomplete")}
	case "done":
		if a.Clean() {
			return mark{"good", l.Text("web.audit-clean")}
		}
		return mark{"look", l.Text("web.audit-findings")}
	}
	return mark{"quiet", a.State}
}

// HarvestState marks how a harvest stands.
func (l terms) HarvestState(s wire.HarvestState) mark {
	switch s {
	case wire.HarvestInactive:
		return mark{"quiet", l.Text("web.harvest-inactive")}
	case wire.HarvestWaiting:
		return mark{"good", l.Text("web.harvest-waiting")}
	case wire.HarvestSplitting:
		return mark{"work", l.Text("web.harvest-splitting")}
	case wire.HarvestBlocked:
		return mark{"bad", l.Text("web.harvest-blocked")}
	case wire.HarvestFailed:
		return mark{"bad", l.Text("web.harvest-failed")}
	case wire.HarvestEnded:
		return mark{"quiet", l.Text("web.harvest-ended")}
	}
	return mark{"quiet", string(s)}
}

// HarvestStates are the states that a list of harvests can be asked for, HarvestKinds the kinds.
func (terms) HarvestStates() []wire.HarvestState {
	return []wire.HarvestState{wire.HarvestInactive, wire.HarvestWaiting, wire.HarvestSplitting, wire.HarvestBlocked,
		wire.HarvestFailed, wire.HarvestEnded}
}

// HarvestKinds are the kinds of harvests.
func (terms) HarvestKinds() []string { return []string{"selective", "event", "snapshot"} }

// HarvestKind names a kind of harvests.
func (l terms) HarvestKind(k string) string {
	switch k {
	case "selective":
		return l.Text("web.harvest-selective")
	case "event":
		return l.Text("web.harvest-event")
	case "snapshot":
		return l.Text("web.harvest-snapshot")
	}
	return k
}

// RunState marks how far the jobs of a run are made.
func (l terms) RunState(s string) mark {
	switch s {
	case "splitting":
		return mark{"work", l.Text("web.run-splitting")}
	case "made":
		return mark{"good", l.Text("web.run-made")}
	case "failed":
		return mark{"bad", l.Text("web.run-failed")}
	}
	return mark{"quiet", s}
}

// Most writes a limit on objects, MostBytes one on bytes.
func (l terms) Most(of harvest.Limit) string {
	if n, given := of.Given(); given {
		return l.Number(n)
	}
	return l.Text("web.no-limit")
}

// MostBytes writes a limit on bytes.
func (l terms) MostBytes(of harvest.Limit) string {
	if n, given := of.Given(); given {
		return l.Size(n)
	}
	return l.Text("web.no-limit")
}

// IsActive marks whether a template or a list of traps counts.
func (l terms) IsActive(active bool) mark {
	if active {
		return mark{"good", l.Text("web.active")}
	}
	return mark{"quiet", l.Text("web.inactive")}
}

// QueueState names the state of a queue of a crawl.
func (l terms) QueueState(s string) string {
	switch s {
	case "ready":
		return l.Text("web.queue-ready")
	case "snoozed":
		return l.Text("web.queue-snoozed")
	case "busy":
		return l.Text("web.queue-busy")
	case "empty":
		return l.Text("web.queue-empty")
	case "inactive":
		return l.Text("web.queue-inactive")
	case "retired":
		return l.Text("web.queue-retired")
	case "frozen":
		return l.Text("web.queue-frozen")
	}
	return s
}

// AtLimit says which limit stopped a domain of a crawl.
func (l terms) AtLimit(s string) string {
	switch s {
	case "config-object":
		return l.Text("web.stop-config-object-limit")
	case "config-size":
		return l.Text("web.stop-config-size-limit")
	case "harvest-object":
		return l.Text("web.stop-object-limit")
	case "harvest-size":
		return l.Text("web.stop-size-limit")
	}
	return s
}
