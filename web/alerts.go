package web

import (
	"strconv"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/internal/words"
)

// Severity marks how much an alert matters.
func (l terms) Severity(a wire.Alert) mark {
	if a.Severity == string(alert.Bad) {
		return mark{"bad", l.Text("web.alert-bad")}
	}
	return mark{"look", l.Text("web.alert-look")}
}

// counted are the parameters of alerts that choose a plural form: a text of such a kind has {count} for them.
func counted(name string) bool {
	switch name {
	case "copies", "files", "jobs", "shards", "harvests", "alerts", "configurations", "aliases", "runs":
		return true
	}
	return false
}

// Alert returns an alert's text in the reader's language, in pieces: what stands for a parameter has its name. An alert
// of a later program is in English.
func (v *view) Alert(a wire.Alert) []words.Part {
	key := "alert." + a.Kind
	if v.Parameters(key) == nil && v.Text(key) == key {
		return []words.Part{{Name: "text", Text: a.Text}}
	}
	pairs := []any{"subject", a.Subject}
	for name, value := range a.Parameters {
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "subject" || name == "count": // another node says so; it is not for it to say
		case err == nil && counted(name):
			pairs = append(pairs, "count", n)
		case err == nil && (name == "bytes" || name == "usual-bytes"):
			pairs = append(pairs, name, v.Size(n))
		case err == nil && (name == "objects" || name == "usual-objects"):
			pairs = append(pairs, name, v.Figure(n))
		case name == "state" && a.Kind == string(alert.NodeAway):
			pairs = append(pairs, name, v.Presence(value).Text)
		default:
			pairs = append(pairs, name, value)
		}
	}
	return v.Parts(key, pairs...)
}

// AlertLink returns the page where one sees more of an alert, or "".
func (v *view) AlertLink(a wire.Alert) string {
	switch alert.Kind(a.Kind) {
	case alert.JobHeld, alert.JobPaused, alert.JobNotClaimed, alert.JobSecretsLost:
		return v.To("jobs", a.Subject)
	case alert.JobsFailed:
		return v.Ask("/jobs", "state", wire.JobFailed)
	case alert.HarvestUnserved, alert.HarvestWaits, alert.HarvestDeactivated:
		return v.To("harvests", a.Subject)
	case alert.RunUnusual, alert.RunLimited, alert.RunSilent:
		return v.Ask("/jobs", "harvest", a.Parameters["harvest"], "run", a.Parameters["run"])
	case alert.MoreRunsUnusual:
		return v.To("harvests")
	case alert.AliasesLapse:
		return v.To("domains", a.Parameters["alias"])
	case alert.CopiesAway:
		return v.To("disks")
	case alert.CopiesDisputed, alert.DisputesUndecided:
		return v.Ask("/copies", "state", "disputed")
	case alert.CopiesStuck:
		return v.Ask("/files", "state", "stuck")
	case alert.FilesNotIndexed:
		return v.To("index")
	case alert.ReplicaWithoutNode, alert.ShardsWithoutHolder, alert.LedgerOld, alert.LedgerNone:
		return v.To("replicas")
	case alert.NodeAway, alert.DiskLow, alert.DrainAlone, alert.DrainOthersAway:
		return v.To("nodes")
	}
	return ""
}
