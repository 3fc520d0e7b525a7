package catalog_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog/jobs"
)

// TestDividedConfigurations puts configurations into parts, one of them over several, and reads them again.
func TestDividedConfigurations(t *testing.T) {
	t.Parallel()
	var all []jobs.Configuration
	var seeds []string
	for i := range 1200 {
		c := jobs.Configuration{Domain: fmt.Sprintf("d%d.org", i), Name: "defaultconfig", Seeds: []string{fmt.Sprintf("http://www.d%d.org/", i)}}
		if i == 700 {
			for n := range 2000 {
				c.Seeds = append(c.Seeds, fmt.Sprintf("http://www.d%d.org/%d?a<b", i, n))
				c.Traps = append(c.Traps, fmt.Sprintf(`.*\.%d\.<`, n))
			}
			c.Settings = map[string]json.RawMessage{"max_hops": json.RawMessage("3")}
		}
		all, seeds = append(all, c), append(seeds, c.Seeds...)
	}
	parts, err := jobs.DivideConfigurations(all)
	if err != nil {
		t.Fatal(err)
	}
	c := harvesting(t)
	job := opened(t, c, jobs.JobOpening{Harvest: "h", Collection: "web"})
	head := []jobs.Part{{Kind: jobs.PartJob, Text: `{"name":"h","seeds":[],"settings":{}}`}}
	parts = append(head, parts...)
	for i, p := range parts {
		if p.Items > jobs.MaxPartItems || len(p.Text) > 256<<10 {
			t.Fatalf("part %d has %d items and %d bytes", i+1, p.Items, len(p.Text))
		}
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: i + 1, Part: p})
	}
	sum, err := jobs.SumOf(parts)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: len(parts), Sum: sum})
	stored, err := c.view().Job(job)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := c.view().Spec(&stored)
	if err != nil || !reflect.DeepEqual(spec.Domains.Configurations, all) || !reflect.DeepEqual(spec.Seeds, seeds) {
		t.Errorf("the job is put together as %d configurations and %d seeds, %v", len(spec.Domains.Configurations), len(spec.Seeds), err)
	}
	if again, err := c.view().Configurations(&stored); err != nil || !reflect.DeepEqual(again, all) {
		t.Errorf("%d configurations, %v", len(again), err)
	}
	all[3].Name = strings.Repeat("x", 300<<10)
	if _, err := jobs.DivideConfigurations(all[:5]); err == nil {
		t.Error("a name that is too long fits into a part")
	}
}
