package history

import (
	"holdfast/catalog/agree"
)

// The subject's keys, in the order of doc/format/catalog.md. They are of level 4, those of runs of LevelOfSums.
const (
	prefixBest  = "history/"   // <domain>/<configuration>: Best
	prefixOf    = "historyof/" // <domain>/<left of all times>/<left of all numbers of jobs>/<number>: mark
	prefixIn    = "historyin/" // <number of a snapshot>/<domain>/<configuration>: Earlier
	prefixSum   = "runsum/"    // <number of the harvest>/<run>: Sum
	prefixLast  = "runlast/"   // <left of all times>/<number of the harvest>/<run>: mark
	endOfAll    = 1<<63 - 1
	digitsOfOne = 8
)

func keyBest(domain, name string) string { return prefixBest + domain + "/" + name }

func prefixOfDomain(domain string) string { return prefixOf + domain + "/" }

// tailOf is the end of a key: the newest come first.
func tailOf(ended agree.Time, job uint64, n int) string {
	return agree.Hex(uint64(endOfAll-ended)) + "/" + agree.Hex(endOfAll-job) + "/" +
		agree.HexDigits(uint64(n), digitsOfOne)
}

func keyIn(harvest uint64, domain, name string) string {
	return prefixIn + agree.Hex(harvest) + "/" + domain + "/" + name
}

func keySum(harvest, run uint64) string { return prefixSum + agree.Hex(harvest) + "/" + agree.Hex(run) }

func keyLast(at agree.Time, harvest, run uint64) string {
	return prefixLast + agree.Hex(uint64(endOfAll-at)) + "/" + agree.Hex(harvest) + "/" + agree.Hex(run)
}
