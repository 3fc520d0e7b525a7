package notices

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md. All are of level 5.
const (
	PrefixFaults       = "fault/"        // <key of an alert>: Fault
	prefixAcknowledged = "acknowledged/" // <key of an alert>: Acknowledgement
	PrefixAddresses    = "noticeto/"     // <name>: Address
	prefixState        = "noticestate/"  // <number of an address>: State
	PrefixNotices      = "notice/"       // <name of an address>/<id>: Notice
	prefixTold         = "told/"         // <key of an alert>: map of Told by the numbers of addresses
	keyCount           = "faultcount"    // number of faults that are kept
	keyRounds          = "faultrounds"   // the greatest round of a fault that is not kept any more
	keyNumbers         = "noticenumber"  // number of the last address
)

func keyFault(key string) string { return PrefixFaults + key }

func keyAcknowledged(key string) string { return prefixAcknowledged + key }

func keyAddress(name string) string { return PrefixAddresses + name }

func keyState(number uint64) string { return prefixState + agree.Hex(number) }

func prefixNotices(address string) string { return PrefixNotices + address + "/" }

func keyNotice(address, id string) string { return prefixNotices(address) + id }

func keyTold(key string) string { return prefixTold + key }
