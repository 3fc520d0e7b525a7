package config

import "time"

// AuditSettings are the Settings of audits beside the pace and the time of a full one, of ledgers, and of making files
// again.
type AuditSettings struct {
	// how often it is looked whether all files are there; 0 = only when asked for
	PresenceEvery *Duration `toml:"presence-every"`
	AuditHours    *Hours    `toml:"audit-hours"` // in which audits that are due are at work; none = always
	// how old the last full reading of a shard may be before an alert says so; 0 = twice audit-every
	AuditAge *Duration `toml:"audit-age"`
	// share of the copies that a node examines, of which it challenges the nodes after each draw; 0 = only when asked
	Challenges *float64 `toml:"challenge-share"`
	// how often each replica with bytes makes a ledger; 0 = only when asked for
	LedgerEvery *Duration `toml:"ledger-every"`
	// how long a node is away before the others of its replica make its files again, as far as they have room;
	// 0 = they never do
	RebuildAfter *Duration `toml:"rebuild-after"`
	// how long a disk for files is away before its node makes its files again on its other disks; 0 = it never does
	DiskGrace *Duration `toml:"disk-grace"`
}

// resolveAudits applies a layer.
func (l *Limits) resolveAudits(s *AuditSettings) {
	set(&l.Presence, s.PresenceEvery)
	set(&l.AuditHours, s.AuditHours)
	set(&l.AuditAge, s.AuditAge)
	set(&l.Challenges, s.Challenges)
	set(&l.LedgerEvery, s.LedgerEvery)
	set(&l.RebuildAfter, s.RebuildAfter)
	set(&l.DiskGrace, s.DiskGrace)
}

// AuditAlert returns how old the last reading of a shard may be before an alert says so; 0: none does.
func (l Limits) AuditAlert() time.Duration {
	if l.AuditAge != 0 {
		return time.Duration(l.AuditAge)
	}
	return 2 * time.Duration(l.AuditEvery)
}
