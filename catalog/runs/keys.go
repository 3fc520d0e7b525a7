package runs

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
)

// The subject's keys, in the order of doc/format/catalog.md. All are of level 4.
const (
	PrefixHarvests = "harvest/"        // <number>: Harvest
	keyCount       = "harvestcount"    // number of the last harvest
	prefixIn       = "harvestin/"      // <collection>/<number>: mark
	prefixNames    = "harvestname/"    // <name in hexadecimal digits>: number
	prefixDue      = "harvestdue/"     // <time>/<number>: mark
	prefixConfigs  = "harvestconfig/"  // <number>/<domain>/<configuration>: mark
	prefixOf       = "harvestof/"      // <domain>/<configuration>/<number>: mark
	prefixUses     = "harvestuse/"     // <channel, schedule or earlier>/<name>/<number>: mark
	prefixFailed   = "harvestfailed/"  // <number>: mark
	PrefixRuns     = "harvestrun/"     // <number>/<run>: Run
	keySettings    = "harvestsettings" // Settings
	prefixOpen     = "harvestopen/"    // <number>/<run>: mark
)

func keyHarvest(number uint64) string { return PrefixHarvests + agree.Hex(number) }
func keyName(name string) string      { return prefixNames + hexText(name) }

func keyDue(at agree.Time, number uint64) string {
	return prefixDue + agree.Hex(uint64(at)) + "/" + agree.Hex(number)
}

func keyFailed(number uint64) string { return prefixFailed + agree.Hex(number) }

func prefixConfigsOf(number uint64) string { return prefixConfigs + agree.Hex(number) + "/" }

func keyConfig(number uint64, c Configuration) string {
	return prefixConfigsOf(number) + string(c.Domain) + "/" + c.Name
}

func prefixOfDomain(d domains.Name) string { return prefixOf + string(d) + "/" }

func prefixOfConfig(c Configuration) string { return prefixOfDomain(c.Domain) + c.Name + "/" }

func keyOf(c Configuration, number uint64) string { return prefixOfConfig(c) + agree.Hex(number) }

// What a harvest uses.
const (
	useChannel  = "channel"
	useSchedule = "schedule"
	useEarlier  = "earlier"
)

func prefixUsesOf(what, name string) string { return prefixUses + what + "/" + name + "/" }

func keyUse(what, name string, number uint64) string {
	return prefixUsesOf(what, name) + agree.Hex(number)
}

func prefixInside(c cluster.CollectionName) string { return prefixIn + string(c) + "/" }

func keyIn(c cluster.CollectionName, number uint64) string {
	return prefixInside(c) + agree.Hex(number)
}

func prefixRunsOf(number uint64) string { return PrefixRuns + agree.Hex(number) + "/" }
func keyRun(number, run uint64) string  { return prefixRunsOf(number) + agree.Hex(run) }
func keyOpen(number, run uint64) string { return prefixOpen + agree.Hex(number) + "/" + agree.Hex(run) }
func prefixOpenOf(number uint64) string { return prefixOpen + agree.Hex(number) + "/" }
