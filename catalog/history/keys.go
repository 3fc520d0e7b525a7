package history

import (
	"holdfast/catalog/agree"
)

// The subject's keys, in the order of doc/format/catalog.md. All are of level 4.
const (
	prefixBest  = "history/"   // <domain>/<configuration>: Best
	prefixOf    = "historyof/" // <domain>/<left of all times>/<left of all numbers of jobs>/<number>: mark
	prefixIn    = "historyin/" // <number of a snapshot>/<domain>/<configuration>: Earlier
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
