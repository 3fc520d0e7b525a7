package notices

import (
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/duty"
)

// lookAgain is how old what Alerts returns may be: audits are looked for in all shards.
const lookAgain = 30 * time.Second

// latest is what was found last.
type latest struct {
	mu     sync.Mutex
	at     time.Time
	alerts []alert.Alert
}

// Alerts are those that have to do with notices, and some that are decided from what is agreed. It may be called at the
// same time.
func (n *Notices) Alerts() []alert.Alert {
	n.latest.mu.Lock()
	defer n.latest.mu.Unlock()
	now := n.cfg.Now()
	if age := now.Sub(n.latest.at); age >= 0 && age < lookAgain {
		return slices.Clone(n.latest.alerts)
	}
	var out []alert.Alert
	err := n.cfg.Agreement.View(func(v catalog.View) error {
		told, err := duty.NoticeAlerts(v, now, n.cfg.Zones)
		late, err2 := duty.HarvestsLate(v, now)
		tokens, err3 := duty.TokensLapsing(v, now)
		audits, err4 := duty.AuditsOld(v, n.cfg.Self, now, n.cfg.AuditAge)
		unusual, err5 := duty.RunsUnusual(v, now)
		aliases, err6 := duty.AliasesLapsing(v, now)
		waiting, err7 := duty.ApprovalsWaiting(v, now)
		out = slices.Concat(told, late, tokens, audits, unusual, aliases, waiting)
		return errors.Join(err, err2, err3, err4, err5, err6, err7)
	})
	if err != nil {
		out = append(out, alert.New(alert.CatalogUnreadable, "", "reason", err.Error()))
	}
	out = append(out, Certificate(n.cfg.Certificate, now)...)
	n.latest.at, n.latest.alerts = now, out
	return slices.Clone(out)
}

// See says where the alerts are seen. To be called before Run, unless Config says it.
func (n *Notices) See(seen Seen) { n.cfg.Seen = seen }
