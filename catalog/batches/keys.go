package batches

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md. All are of level 5.
const (
	PrefixBatches = "batch/"      // <id>: Batch
	prefixNames   = "batchnames/" // <id>/<number of a part>: names
)

func keyBatch(id string) string { return PrefixBatches + id }

func prefixNamesOf(id string) string { return prefixNames + id + "/" }

func keyNames(id string, part int) string { return prefixNamesOf(id) + agree.Hex(uint64(part)) }
