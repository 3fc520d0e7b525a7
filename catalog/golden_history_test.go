package catalog_test

import (
	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// history has attempts of jobs tell what they brought, end and be lost, and keeps it.
func (g *golden) history() {
	const who = "north-1"
	limit := int64(100)
	g.say(who, runs.Create, runs.Creation{Kind: runs.Snapshot, Collection: "web", Asked: runs.Asked{Name: "all"}})
	for i := range uint64(6) {
		opening := jobs.JobOpening{Harvest: "h", Collection: "web"}
		if i%2 == 0 {
			opening.Number, opening.Run, opening.After = 1, 1, i-min(i, 1)
		}
		g.say(who, jobs.OpenJob, opening)
		part := jobs.Part{Kind: jobs.PartJob, Text: "{}", Domains: []string{"a.org", "b.org"}}
		g.say(who, jobs.AddPart, jobs.JobAddition{ID: i + 1, Number: 1, Part: part})
		sum, err := jobs.SumOf([]jobs.Part{part})
		if err != nil {
			g.t.Fatal(err)
		}
		g.say(who, jobs.CloseJob, jobs.JobClosing{ID: i + 1, Parts: 1, Sum: sum, Submit: true})
		j := jobs.Job{ID: i + 1, Node: id(who), Attempt: 1}
		g.say(who, catalog.ClaimJob, catalog.JobRef{ID: j.ID, Node: j.Node})
		x := stat("a.org", int64(10*i), 5, []string{"completed", "config-size-limit", "unfinished"}[i%3])
		x.MaxBytes = &limit
		told := chunks(j, append([]jobs.Statistic{x}, lines(310, int64(i))...))
		for _, b := range told {
			g.say(who, jobs.AddStatistics, b)
		}
		end := catalog.JobEnd{ID: j.ID, Node: j.Node, Attempt: 1, Failed: i == 3, Statistics: len(told)}
		if i == 4 {
			g.say(who, catalog.LoseJob, end)
			continue
		}
		g.say(who, catalog.FinishJob, end)
		g.say(who, history.Keep, history.Step{Job: j.ID})
		if i != 5 {
			g.say(who, history.Keep, history.Step{Job: j.ID, After: 1})
		}
	}
	g.say(who, jobs.DropStatistics, jobs.JobRef{ID: 5, Attempt: 1})
}
