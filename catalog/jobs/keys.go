package jobs

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md.
const (
	PrefixJobs      = "job/"      // <id>: Job
	keyCount        = "jobcount"  // number of the last job
	prefixJobStates = "jobstate/" // <state>/<id>: mark
	PrefixSecrets   = "secret/"   // <id>: Secret
	PrefixSealing   = "sealing"   // Sealing: one key

	// Since level 4.
	prefixParts     = "jobpart/"      // <id>/<number>: part, in a form of its own
	PrefixOpen      = "jobopen/"      // <id>: Open
	prefixWaiting   = "jobwait/"      // <channel>/<id>: mark
	prefixNew       = "jobnew/"       // <channel>/<id>: mark
	prefixRunning   = "jobnode/"      // <node>/<id>: mark
	prefixOfHarvest = "jobharvest/"   // <harvest's number>/<run>/<id>: mark
	prefixRuns      = "jobrun/"       // <harvest's number>/<run>: Run
	prefixSealed    = "jobsealed/"    // <id>: mark
	keyCounts       = "jobcounts"     // counts
	PrefixWalk      = "jobwalk"       // Walk: one key
	prefixChunks    = "jobstat/"      // <id>/<attempt>/<number>: chunk
	prefixTallies   = "jobtally/"     // <id>/<attempt>: tally
	PrefixUncounted = "jobuncounted/" // <id>: Counted
	PrefixLost      = "joblost/"      // <id>/<attempt>: mark
	prefixUses      = "secretuse/"    // <secret>/<user>: mark
	prefixListed    = "joblist/"      // <what>/<of which>/<left of all numbers of jobs>: mark; the newest first
)

// oddChannel stands in keys for channels from before level 4 with a name that no channel can have.
const oddChannel = "-"

func keyJob(id uint64) string { return PrefixJobs + agree.Hex(id) }

func keyJobState(s JobState, id uint64) string {
	return prefixJobStates + string(s) + "/" + agree.Hex(id)
}

func keySecret(id string) string           { return PrefixSecrets + id }
func prefixUsesOf(secret string) string    { return prefixUses + secret + "/" }
func keyUse(secret string, by User) string { return prefixUsesOf(secret) + string(by) }

func prefixPartsOf(id uint64) string         { return prefixParts + agree.Hex(id) + "/" }
func keyPart(id uint64, n int) string        { return prefixPartsOf(id) + agree.HexDigits(uint64(n), 8) }
func keyOpen(id uint64) string               { return PrefixOpen + agree.Hex(id) }
func keySealed(id uint64) string             { return prefixSealed + agree.Hex(id) }
func prefixOn(n agree.NodeID) string         { return prefixRunning + string(n) + "/" }
func keyOn(n agree.NodeID, id uint64) string { return prefixOn(n) + agree.Hex(id) }
func keyRun(number, run uint64) string       { return prefixRuns + agree.Hex(number) + "/" + agree.Hex(run) }

func tailOfAttempt(id uint64, attempt int) string {
	return agree.Hex(id) + "/" + agree.HexDigits(uint64(attempt), 8)
}
func keyChunk(id uint64, attempt, n int) string {
	return prefixChunks + tailOfAttempt(id, attempt) + "/" + agree.HexDigits(uint64(n), 8)
}
func keyTally(id uint64, attempt int) string { return prefixTallies + tailOfAttempt(id, attempt) }
func keyLost(id uint64, attempt int) string  { return PrefixLost + tailOfAttempt(id, attempt) }
func keyUncounted(id uint64) string          { return PrefixUncounted + agree.Hex(id) }

// channelInKey is how a channel stands in keys.
func channelInKey(channel string) string {
	if channel != "" && CheckChannel(channel) != nil {
		return oddChannel
	}
	return channel
}

func prefixWaitingFor(channel string) string { return prefixWaiting + channelInKey(channel) + "/" }

func keyWaiting(channel string, id uint64) string { return prefixWaitingFor(channel) + agree.Hex(id) }

func prefixNewIn(channel string) string { return prefixNew + channelInKey(channel) + "/" }

func keyNew(channel string, id uint64) string { return prefixNewIn(channel) + agree.Hex(id) }

// Prefixes of lists of jobs, the newest first.
func listedIn(state JobState) string { return prefixListed + "state/" + string(state) + "/" }
func listedOf(number uint64) string  { return prefixListed + "harvest/" + agree.Hex(number) + "/" }
func listedBy(number, run uint64) string {
	return prefixListed + "run/" + agree.Hex(number) + "/" + agree.Hex(run) + "/"
}
func listedChannel(channel string) string {
	return prefixListed + "channel/" + channelInKey(channel) + "/"
}
func listedDomain(domain string) string         { return prefixListed + "domain/" + domain + "/" }
func keyDomain(domain string, id uint64) string { return listedDomain(domain) + left(id) }

// listedAgain has the jobs that took over the parts of another one: behind their numbers stands the other's.
const listedAgain = prefixListed + "again/"

func keyAgain(id, of uint64) string { return listedAgain + left(id) + "/" + agree.Hex(of) }

// left is the number of a job in keys of which the newest come first.
func left(id uint64) string { return agree.Hex(lastNumber - id) }

const lastNumber = 1<<63 - 1

func prefixOfRun(number, run uint64) string {
	return prefixOfHarvest + agree.Hex(number) + "/" + agree.Hex(run) + "/"
}
