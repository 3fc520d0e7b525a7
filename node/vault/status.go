package vault

import (
	"fmt"
	"slices"

	"holdfast/alert"
	"holdfast/catalog"
)

// Alerts lists what prevents secrets from being sealed as they should be, and jobs that wait because no node can
// open their secrets.
func (v *Vault) Alerts() (all []alert.Alert) {
	if err := v.trouble.Load(); err != nil && *err != nil {
		all = append(all, alert.New(alert.SecretsUnsealed, "", "reason", (*err).Error()))
	}
	err := v.cfg.Agree.View(func(view catalog.View) error {
		members, err := view.Members()
		if err != nil {
			return err
		}
		jobs, err := view.Jobs(catalog.JobSubmitted, 0, waitingShown)
		if err != nil {
			return err
		}
		lost := map[string]bool{}
		for i := range jobs {
			if jobs[i].Node != "" {
				continue
			}
			if len(lost) > secretsShown {
				all = append(all, alert.New(alert.SecretsUnread, "", "reason", fmt.Sprintf(
					"jobs that wait have more than %d of them, and the rest was not looked at", secretsShown)))
				break
			}
			waits, err := anyLost(view, members, jobs[i].AllSecrets(), lost)
			if err != nil {
				return err
			}
			if waits {
				all = append(all, alert.New(alert.JobSecretsLost, alert.Number(jobs[i].ID)))
			}
		}
		return nil
	})
	if err != nil {
		all = append(all, alert.New(alert.SecretsUnread, "", "reason", err.Error()))
	}
	return all
}

// waitingShown is how many waiting jobs are looked at for status.
const waitingShown = 1000

// secretsShown is of how many secrets these may have.
const secretsShown = 20_000

// anyLost reports whether one of the secrets is there no more, or nobody that crawls can open it. lost is what is known
// so far.
func anyLost(view catalog.View, members []catalog.Member, ids []string, lost map[string]bool) (bool, error) {
	for _, id := range ids {
		is, known := lost[id]
		if !known {
			x, err := view.Secret(id)
			if ignoreNotFound(err) != nil {
				return false, err
			}
			is = err != nil || !anyOpens(&x, members)
			lost[id] = is
		}
		if is {
			return true, nil
		}
	}
	return false, nil
}

func anyOpens(x *catalog.Secret, members []catalog.Member) bool {
	for i := range members {
		if members[i].Crawls && x.Box(&members[i]) != nil {
			return true
		}
	}
	return false
}

// Stale reports whether the catalog shows another key for secrets than this node has, until that is published.
func (v *Vault) Stale(view catalog.View) (bool, error) {
	m, err := view.Member(v.cfg.Self)
	if err != nil {
		return false, ignoreNotFound(err)
	}
	return m.Seal != nil && !slices.Equal(m.Seal.Key, v.cfg.Proved.Key), nil
}
