package raft

import (
	"testing"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// BenchmarkApply carries out what BenchmarkCatalogCommands asks for, on one node and without consensus: log entries of 64 commands
// each, from the entry's bytes to the state's database.
func BenchmarkApply(b *testing.B) {
	const together = 64
	f, _ := machineAt(b, theCatalog{})
	found := founding('a')
	found.Version, found.At = 1, 1_750_000_000_000
	text, err := command(found)
	if err != nil {
		b.Fatal(err)
	}
	index := uint64(1)
	if o := f.ApplyBatch([]*hraft.Log{{Index: index, Term: 1, Type: hraft.LogCommand, Data: text}})[0].(outcome); o.err != nil || o.result.Refusal != nil {
		b.Fatal(o.err, o.result.Refusal)
	}
	var logs []*hraft.Log
	for serial := int64(0); serial < int64(b.N); {
		var e entry
		for range together {
			serial++
			c := addition(benchID('a'), serial)
			c.At, c.Boot, c.Seq = catalog.Time(1_750_000_000_000+serial), 7, uint64(serial)
			if text, err = command(c); err != nil {
				b.Fatal(err)
			}
			e.add(nil, text)
		}
		index++
		logs = append(logs, &hraft.Log{Index: index, Term: 1, Type: hraft.LogCommand, Data: e.encode()})
	}
	used := processorTime(b)
	b.ResetTimer()
	for i := range logs {
		for _, o := range f.ApplyBatch(logs[i : i+1])[0].([]outcome) {
			if o.err != nil || o.result.Refusal != nil {
				b.Fatal(o.err, o.result.Refusal)
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(len(logs)*together), "cpu-us/command")
}
