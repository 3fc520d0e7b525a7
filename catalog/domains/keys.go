package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// The subject's keys, in the order of doc/format/catalog.md. All are of level 4.
const (
	PrefixDomains   = "domain/"         // <domain>: Domain
	prefixConfigs   = "domainconfig/"   // <domain>/<configuration>: Configuration
	prefixLists     = "domainlist/"     // <domain>/<kind>/<list>: List
	prefixOpen      = "domainopen/"     // <domain>/<kind>/<list>: upload
	prefixTexts     = "domaintext/"     // <domain>/<kind>/<list>/<version>/<number>: text
	prefixAliases   = "domainalias/"    // <domain>/<its alias>: mark
	prefixExpiries  = "domainexpiry/"   // <time>/<alias>: mark
	prefixTemplates = "domaintemplate/" // <template>/<domain>/<configuration>: mark
	prefixCounts    = "domaincount/"    // <collection>: number of domains
	keySettings     = "domainsettings"  // Settings
	prefixFields    = "field/"          // <of>/<field>: Field
	prefixFieldUses = "fieldof/"        // <of>/<field>/<thing>: mark
	PrefixIngests   = "ingest/"         // <ingest>: Ingest
	prefixBad       = "ingestbad/"      // <ingest>/<chunk>: badLines
	prefixReading   = "ingestnode/"     // <node>/<ingest>: mark
)

func keyDomain(d Name) string              { return PrefixDomains + string(d) }
func prefixConfigsOf(d Name) string        { return prefixConfigs + string(d) + "/" }
func keyConfig(d Name, name string) string { return prefixConfigsOf(d) + name }

func tailOfList(d Name, kind ListKind, name string) string {
	return string(d) + "/" + string(kind) + "/" + name
}

func keyList(d Name, kind ListKind, name string) string {
	return prefixLists + tailOfList(d, kind, name)
}
func keyOpen(d Name, kind ListKind, name string) string {
	return prefixOpen + tailOfList(d, kind, name)
}

func prefixListsOf(d Name, kind ListKind) string { return prefixLists + tailOfList(d, kind, "") }

func keyText(d Name, kind ListKind, name string, version uint64, n int) string {
	return prefixTexts + tailOfList(d, kind, name) + "/" + agree.Hex(version) + "/" + agree.HexDigits(uint64(n), 4)
}

func prefixAliasesOf(d Name) string { return prefixAliases + string(d) + "/" }
func keyAlias(of, d Name) string    { return prefixAliasesOf(of) + string(d) }

func keyExpiry(until agree.Time, d Name) string {
	return prefixExpiries + agree.Hex(uint64(until)) + "/" + string(d)
}

func prefixTemplate(template string) string { return prefixTemplates + template + "/" }

func keyTemplate(c *Configuration) string {
	return prefixTemplate(c.Template) + string(c.Domain) + "/" + c.Name
}

func keyCount(c cluster.CollectionName) string { return prefixCounts + string(c) }

func prefixFieldsOf(of FieldOf) string        { return prefixFields + string(of) + "/" }
func keyField(of FieldOf, name string) string { return prefixFieldsOf(of) + name }
func prefixUses(of FieldOf, name string) string {
	return prefixFieldUses + string(of) + "/" + name + "/"
}
func keyUse(of FieldOf, name, thing string) string { return prefixUses(of, name) + thing }

func keyIngest(id string) string          { return PrefixIngests + id }
func prefixBadOf(id string) string        { return prefixBad + id + "/" }
func keyBad(id string, seq uint64) string { return prefixBadOf(id) + agree.Hex(seq) }

func prefixReadingBy(node agree.NodeID) string       { return prefixReading + string(node) + "/" }
func keyReading(node agree.NodeID, id string) string { return prefixReadingBy(node) + id }

// KeyOfDomain is where a domain stands, for the version of what a person has seen.
func KeyOfDomain(d Name) string { return keyDomain(d) }
