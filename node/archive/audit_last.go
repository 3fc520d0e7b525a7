package archive

import "holdfast/replica"

// LastAudit returns how many audits run on this node, and the last finished one that proves something; the zero Audit
// if there is none.
func LastAudit(all []replica.Audit) (running int, last replica.Audit) {
	for _, a := range all {
		switch {
		case a.State == replica.AuditRunning:
			running++
		case a.Proves() && a.State.Ended() && a.State != replica.AuditStopped && a.Ended.After(last.Ended):
			last = a
		}
	}
	return running, last
}
