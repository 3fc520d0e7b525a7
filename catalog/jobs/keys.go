package jobs

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md.
const (
	PrefixJobs      = "job/"      // <id>: Job
	keyCount        = "jobcount"  // number of the last job
	prefixJobStates = "jobstate/" // <state>/<id>: mark
	PrefixSecrets   = "secret/"   // <id>: Secret
	PrefixSealing   = "sealing"   // Sealing: one key
)

func keyJob(id uint64) string { return PrefixJobs + agree.Hex(id) }

func keyJobState(s JobState, id uint64) string {
	return prefixJobStates + string(s) + "/" + agree.Hex(id)
}

func keySecret(id string) string { return PrefixSecrets + id }
