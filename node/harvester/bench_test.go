package harvester

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// BenchmarkSchedules is what a leader does in a minute in which ten of HOLDFAST_HARVESTS harvests (1 000 if it is not
// set) are due, each with a schedule of its own: their runs begin. The agreed state is in memory.
func BenchmarkSchedules(b *testing.B) {
	n := 1000
	if text := os.Getenv("HOLDFAST_HARVESTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	a := newAlone(b)
	a.domain("d.org")
	for i := range n {
		name := fmt.Sprintf("s%05d", i)
		a.must(harvests.CreateSchedule, harvests.Creation{Name: name,
			Text: fmt.Sprintf(`{"unit":"day","every":%d,"at":"22:00","zone":"Europe/Copenhagen"}`, 1+i%7)})
		number := a.define(runs.Selective, runs.Asked{Name: name, Schedule: name}, "d.org/"+domains.DefaultConfiguration)
		if i >= 10 {
			a.activate(number, time.Now().Add(time.Duration(i)*time.Hour))
		}
	}
	h := a.harvester()
	lead := h.lead(b.Context())
	defer lead.end()
	for run := uint64(1); b.Loop(); run++ {
		b.StopTimer()
		for number := uint64(1); number <= 10; number++ {
			a.must(runs.Deactivate, runs.Ref{Number: number})
			a.activate(number, time.Now())
		}
		b.StartTimer()
		if err := lead.dispatch(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		for number := uint64(1); number <= 10; number++ {
			if err := h.Split(b.Context(), number, run); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/minute")
}
