package duty

import (
	"errors"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/notices"
)

// NoticesAlone lists what a node tells by itself while there is no quorum: the alerts that it has seen for a minute,
// for each address that is told at once and has not been told, as far as the node knows. The ids are the same as those
// of the notices that are agreed later.
func NoticesAlone(view catalog.View, with Noticing, seen []alert.Alert) (out []Delivery, err error) {
	v := catalog.NoticesIn(view)
	addresses, err := v.Addresses()
	if err != nil || len(addresses) == 0 {
		return nil, err
	}
	cluster, err := view.Cluster()
	if err != nil {
		return nil, err
	}
	now := catalog.At(with.Now)
	for _, a := range alert.Merge(seen) {
		of := OfAlert(a)
		if a.Since.IsZero() || now-catalog.At(a.Since) < toldAfter {
			continue
		}
		k, err := untoldAlone(view, of, now)
		if err != nil {
			return nil, err
		}
		for i := range addresses {
			to := &addresses[i]
			if to.When != notices.AtOnce || k.acknowledged || k.told[to.Number].Round == k.Round ||
				!Passes(to, of, string(a.Severity), k.where) || !with.Can(to) {
				continue
			}
			n := notices.Notice{Address: to.Name, Due: now, Items: []notices.Item{{Of: of, Round: k.Round}}}
			n.ID = NoticeID(cluster.ID, to, &n)
			out = append(out, Delivery{n, *to})
		}
	}
	return out, nil
}

func untoldAlone(view catalog.View, of notices.Of, now catalog.Time) (k known, err error) {
	v := catalog.NoticesIn(view)
	if k.Round, err = v.Round(of); err != nil {
		return k, err
	}
	if k.where, err = catalog.AlertWhere(view, of); err != nil {
		return k, err
	}
	if k.told, err = v.Told(of); err != nil {
		return k, err
	}
	_, k.acknowledged, err = v.Acknowledged(of, now)
	return k, err
}

// Well reports whether nothing bad is known: neither to this node, nor by what the nodes have reported, whether or not
// somebody has acknowledged it.
func Well(view catalog.View, seen []alert.Alert) (bool, error) {
	for _, a := range seen {
		if a.Severity != alert.Look {
			return false, nil
		}
	}
	cluster, err := view.Cluster()
	if errors.Is(err, catalog.ErrNotFound) || err == nil && cluster.Level < notices.Level {
		return false, nil // the nodes report nothing
	}
	if err != nil {
		return false, err
	}
	faults, err := catalog.NoticesIn(view).Faults()
	if err != nil || len(faults) >= notices.MostFaults { // there may be more
		return false, err
	}
	for i := range faults {
		if faults[i].Open() && faults[i].Severity != string(alert.Look) {
			return false, nil
		}
	}
	return true, nil
}

// JobsEnded counts the jobs that have ended since the time, of a collection or, if it is empty, of all; at most says
// that there may be more.
func JobsEnded(view catalog.View, since catalog.Time, collection string) (done, failed int, atLeast bool, err error) {
	count := func(state catalog.JobState) (n int) {
		var some []catalog.Job
		if err != nil {
			return 0
		}
		some, err = view.Newest(state, jobsLooked)
		for i := range some {
			j := &some[i]
			if j.Ended >= since && (collection == "" || string(j.Collection) == collection) {
				n++
			}
		}
		if len(some) == jobsLooked && some[len(some)-1].Ended >= since {
			atLeast = true
		}
		return n
	}
	done, failed = count(catalog.JobDone), count(catalog.JobFailed)
	return done, failed, atLeast, err
}

// jobsLooked is how many jobs of a state are looked at for those that ended lately.
const jobsLooked = 1000

// HarvestsLate says which harvests were to begin more than an hour ago and did not, because jobs of their last run are
// still being made.
func HarvestsLate(view catalog.View, now time.Time) ([]alert.Alert, error) {
	v := catalog.RunsIn(view)
	open, err := v.OpenRuns()
	if err != nil {
		return nil, err
	}
	var out []alert.Alert
	for i := range open[:min(len(open), lateShown)] {
		h, err := v.Harvest(open[i].Harvest)
		if errors.Is(err, catalog.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if h.Next != 0 && h.Next.Std().Add(lateAfter).Before(now) {
			out = append(out, alert.New(alert.HarvestLate, alert.Number(h.Number), "name", string(h.Name), "date",
				written(h.Next)))
		}
	}
	return out, nil
}

const (
	lateAfter  = time.Hour
	lateShown  = 20
	lapsesSoon = 7 * catalog.Day
)

func written(at catalog.Time) string { return at.Std().Format("2006-01-02 15:04 MST") }

// TokensLapsing says which access tokens lapse within a week, of those that were good for longer than two.
func TokensLapsing(view catalog.View, now time.Time) ([]alert.Alert, error) {
	tokens, err := view.AccessTokens()
	if err != nil {
		return nil, err
	}
	at := catalog.At(now)
	var out []alert.Alert
	for i := range tokens {
		t := &tokens[i]
		if t.Revoked == 0 && t.Expires > at && t.Expires-at <= lapsesSoon && t.Expires-t.Created > 2*lapsesSoon &&
			len(out) < lateShown {
			out = append(out, alert.New(alert.TokenLapses, t.ID, "name", t.Name, "date", written(t.Expires)))
		}
	}
	return out, nil
}

// AliasesLapsing says how many aliases lapse within two weeks, a thousand at most.
func AliasesLapsing(view catalog.View, now time.Time) ([]alert.Alert, error) {
	at := catalog.At(now)
	begin := &domains.Domain{Alias: &domains.Alias{Until: at}}
	some, err := catalog.DomainsIn(view).Aliases(begin, at+aliasesSoon, aliasesLooked)
	if err != nil || len(some) == 0 {
		return nil, err
	}
	return []alert.Alert{alert.New(alert.AliasesLapse, "", "aliases", alert.Number(len(some)),
		"alias", string(some[0].Name), "date", written(some[0].Alias.Until))}, nil
}

const (
	aliasesSoon   = 14 * catalog.Day
	aliasesLooked = 1000
)

// AuditsOld returns an alert if node self holds shards whose last full reading is older than most; most 0 allows any
// age. Readings by another holder do not count: the time of a shard begins with its move here. The time of a shard that
// was never read begins with its first file.
func AuditsOld(view catalog.View, self catalog.NodeID, now time.Time, most time.Duration) ([]alert.Alert, error) {
	if most == 0 {
		return nil, nil
	}
	h, err := holderOf(view, self)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	passes, err := view.Passes(h.replica.Name)
	if err != nil {
		return nil, err
	}
	roots, err := view.Roots(h.replica.Name)
	if err != nil {
		return nil, err
	}
	shards, oldest := 0, catalog.At(now)
	old := func(since catalog.Time) {
		if since+catalog.Time(most.Milliseconds()) <= catalog.At(now) {
			shards, oldest = shards+1, min(oldest, since)
		}
	}
	passed := map[catalog.Shard]bool{}
	for _, p := range passes {
		passed[p.Shard] = true
		if p.Node == self && h.holds(p.Shard) && roots[p.Shard].Files > 0 {
			old(p.Ended)
		}
	}
	for s := range catalog.Shard(catalog.Shards) {
		if passed[s] || !h.holds(s) || roots[s].Files == 0 {
			continue
		}
		since, err := firstStored(view, h.replica.Name, s)
		if err != nil {
			return nil, err
		}
		if since != 0 {
			old(since)
		}
	}
	if shards == 0 {
		return nil, nil
	}
	days := (catalog.At(now) - oldest) / catalog.Day
	return []alert.Alert{alert.New(alert.AuditOld, "", "shards", alert.Number(shards), "days", alert.Number(days))}, nil
}

// firstStored returns since when the replica has the first of the shard's files that it has, 0 if that is none of the
// first few.
func firstStored(view catalog.View, r catalog.ReplicaName, s catalog.Shard) (catalog.Time, error) {
	files, err := view.ShardFiles(s, "", firstLooked)
	for i := range files {
		if c := files[i].Copy(r); c != nil && c.Good() && !c.Surplus {
			return c.Since, err
		}
	}
	return 0, err
}

// firstLooked is at how many files of a shard firstStored looks.
const firstLooked = 10
