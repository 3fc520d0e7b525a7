package vault

import (
	"maps"
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
		secrets, err := view.Secrets("", waitingShown)
		if err != nil || len(secrets) == 0 {
			return err
		}
		lost := map[string]bool{}
		for i := range secrets {
			lost[secrets[i].ID] = !anyOpens(&secrets[i], members)
		}
		if !slices.Contains(slices.Collect(maps.Values(lost)), true) {
			return nil
		}
		jobs, err := view.Jobs(catalog.JobSubmitted, 0, waitingShown)
		for _, j := range jobs {
			if j.Node == "" && slices.ContainsFunc(j.AllSecrets(), func(id string) bool { return lost[id] }) {
				all = append(all, alert.New(alert.JobSecretsLost, alert.Number(j.ID)))
			}
		}
		return err
	})
	if err != nil {
		all = append(all, alert.New(alert.SecretsUnread, "", "reason", err.Error()))
	}
	return all
}

// waitingShown is how many waiting jobs are looked at for status.
const waitingShown = 1000

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
