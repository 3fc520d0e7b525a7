package web

import (
	"fmt"

	"holdfast/api/wire"
)

// mark is a state as people see it: a word, and the class that gives it its colour and shape.
type mark struct{ Class, Text string }

// plain writes a value as it is.
func plain(s any) string { return fmt.Sprint(s) }

// JobState marks the state of a job.
func (v *view) JobState(s wire.JobState) mark {
	switch s {
	case wire.JobNew:
		return mark{"quiet", v.Text("web.job-new")}
	case wire.JobSubmitted:
		return mark{"quiet", v.Text("web.job-submitted")}
	case wire.JobStarted:
		return mark{"work", v.Text("web.job-started")}
	case wire.JobDone:
		return mark{"good", v.Text("web.job-done")}
	case wire.JobFailed:
		return mark{"bad", v.Text("web.job-failed")}
	case wire.JobResubmitted:
		return mark{"quiet", v.Text("web.job-resubmitted")}
	case wire.JobFailedRejected:
		return mark{"quiet", v.Text("web.job-rejected")}
	}
	return mark{"quiet", string(s)}
}

// JobStates are the states that a list of jobs can be asked for.
func (*view) JobStates() []wire.JobState {
	return []wire.JobState{wire.JobNew, wire.JobSubmitted, wire.JobStarted, wire.JobDone, wire.JobFailed,
		wire.JobResubmitted, wire.JobFailedRejected}
}

// CrawlState marks the state of a crawl that runs.
func (v *view) CrawlState(s string) mark {
	switch s {
	case "PREPARING":
		return mark{"work", v.Text("web.crawl-preparing")}
	case "RUNNING":
		return mark{"work", v.Text("web.crawl-running")}
	case "PAUSED":
		return mark{"look", v.Text("web.crawl-paused")}
	case "STOPPING":
		return mark{"look", v.Text("web.crawl-stopping")}
	case "FINISHED":
		return mark{"good", v.Text("web.crawl-finished")}
	case "":
		return mark{"look", v.Text("web.crawl-unknown")}
	}
	return mark{"quiet", s}
}

// Stop says why the harvest of a configuration ended.
func (v *view) Stop(reason string) string {
	switch reason {
	case "completed":
		return v.Text("web.stop-completed")
	case "object-limit":
		return v.Text("web.stop-object-limit")
	case "size-limit":
		return v.Text("web.stop-size-limit")
	case "config-object-limit":
		return v.Text("web.stop-config-object-limit")
	case "config-size-limit":
		return v.Text("web.stop-config-size-limit")
	case "time-limit":
		return v.Text("web.stop-time-limit")
	case "unfinished":
		return v.Text("web.stop-unfinished")
	}
	return reason
}

// Presence marks whether a node is there, as the node that serves hears.
func (v *view) Presence(s string) mark {
	switch s {
	case "alive":
		return mark{"good", v.Text("web.node-alive")}
	case "suspected":
		return mark{"look", v.Text("web.node-suspected")}
	case "failed":
		return mark{"bad", v.Text("web.node-failed")}
	case "left":
		return mark{"bad", v.Text("web.node-left")}
	}
	return mark{"look", v.Text("web.node-unknown")}
}

// Role names a role.
func (v *view) Role(r any) string {
	switch s := plain(r); wire.Role(s) {
	case wire.RoleReader:
		return v.Text("web.role-reader")
	case wire.RoleCurator:
		return v.Text("web.role-curator")
	case wire.RoleOperator:
		return v.Text("web.role-operator")
	case wire.RoleAdmin:
		return v.Text("web.role-admin")
	default:
		return s
	}
}

// PersonState marks whether a person may act.
func (v *view) PersonState(s wire.PersonState) mark {
	switch s {
	case wire.Invited:
		return mark{"work", v.Text("web.person-invited")}
	case wire.Active:
		return mark{"good", v.Text("web.person-active")}
	case wire.Disabled:
		return mark{"look", v.Text("web.person-disabled")}
	}
	return mark{"quiet", string(s)}
}

// GrantState says whether a grant counts.
func (v *view) GrantState(s string) string {
	switch s {
	case "open":
		return v.Text("web.grant-open")
	case "expired":
		return v.Text("web.grant-expired")
	case "ended":
		return v.Text("web.grant-ended")
	case "void":
		return v.Text("web.grant-void")
	}
	return s
}

// Kind says what a replica keeps.
func (v *view) Kind(k wire.ReplicaKind) string {
	switch k {
	case wire.Bitarchive:
		return v.Text("web.kind-bitarchive")
	case wire.Checksum:
		return v.Text("web.kind-checksum")
	}
	return string(k)
}

// FileStates are the states that a list of files can be asked for, CopyStates those of a list of copies.
func (*view) FileStates() []string {
	return []string{"complete", "incomplete", "owed", "disputed", "corrupt", "missing", "lost", "removed"}
}

// CopyStates are the faults of copies.
func (*view) CopyStates() []string { return copyStates() }

func copyStates() []string { return []string{"owed", "disputed", "corrupt", "missing"} }

// FileState names what a list of files or copies can be asked for.
func (v *view) FileState(s string) string {
	switch s {
	case "complete":
		return v.Text("web.file-complete")
	case "incomplete":
		return v.Text("web.file-incomplete")
	case "owed":
		return v.Text("web.copy-owed")
	case "disputed":
		return v.Text("web.copy-disputed")
	case "corrupt":
		return v.Text("web.copy-corrupt")
	case "missing":
		return v.Text("web.copy-missing")
	case "lost":
		return v.Text("web.file-lost")
	case "removed":
		return v.Text("web.file-removed")
	}
	return s
}

// OfFile marks the state of a file.
func (v *view) OfFile(f wire.File) mark {
	switch {
	case !f.Removed.IsZero():
		return mark{"quiet", v.FileState("removed")}
	case !f.Lost.IsZero():
		return mark{"bad", v.FileState("lost")}
	case f.Complete:
		return mark{"good", v.FileState("complete")}
	}
	return mark{"look", v.FileState("incomplete")}
}

// OfCopy marks the state of a copy: the worst thing that is known of it.
func (v *view) OfCopy(c wire.Copy) mark {
	switch {
	case c.FileList == wire.FileListMissing:
		return mark{"bad", v.FileState("missing")}
	case c.Checksum == wire.ChecksumCorrupt:
		return mark{"bad", v.FileState("corrupt")}
	case c.Disputed:
		return mark{"look", v.FileState("disputed")}
	case c.State == wire.UploadFailed:
		return mark{"bad", v.Text("web.copy-failed")}
	case c.State != wire.UploadCompleted:
		return mark{"look", v.FileState("owed")}
	case c.Verified.IsZero():
		return mark{"look", v.Text("web.copy-unheard")}
	}
	return mark{"good", v.Text("web.copy-verified")}
}

// Audit marks the state of an audit.
func (v *view) Audit(a wire.Audit) mark {
	switch a.State {
	case "running":
		return mark{"work", v.Text("web.audit-running")}
	case "paused":
		return mark{"look", v.Text("web.audit-paused")}
	case "stopped":
		return mark{"look", v.Text("web.audit-stopped")}
	case "incomplete":
		return mark{"look", v.Text("web.audit-incomplete")}
	case "done":
		if a.Clean() {
			return mark{"good", v.Text("web.audit-clean")}
		}
		return mark{"look", v.Text("web.audit-findings")}
	}
	return mark{"quiet", a.State}
}
