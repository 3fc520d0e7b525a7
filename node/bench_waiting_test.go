package node

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest"
)

// BenchmarkWaitingJobs has a thousand jobs wait for a channel that no node serves, and reports how much of a processor
// each of three nodes at rest takes, without these jobs and with them.
func BenchmarkWaitingJobs(b *testing.B) {
	const jobs, window = 1000, 30 * time.Second
	m := &manyDomains{b: b, n: benchNodes(b)[0]}
	m.decide(defined.CreateChannel, defined.ChannelCreation{Name: "NOBODY"})
	rest := func() float64 {
		<-time.After(window) // what came before is settled
		began, used := time.Now(), processorTime(b)
		<-time.After(window)
		return float64(processorTime(b)-used) / float64(time.Since(began)) / 3 * 100
	}
	spec, err := json.Marshal(harvest.Job{Name: "waits", Seeds: []string{"http://site.example/"},
		Settings: harvest.DefaultSettings()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.ReportMetric(rest(), "%-without")
		var callers sync.WaitGroup
		slots := make(chan struct{}, 64)
		for range jobs {
			slots <- struct{}{}
			callers.Go(func() {
				m.decide(catalog.CreateJob, catalog.JobCreation{Harvest: "waits", Collection: "web", Channel: "NOBODY",
					Spec: spec, Submit: true, Seeds: 1, Domains: []string{"site.example"}})
				<-slots
			})
		}
		callers.Wait()
		b.ReportMetric(rest(), "%-with-1000")
	}
}
