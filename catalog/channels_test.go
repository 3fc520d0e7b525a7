package catalog_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
)

// serve lets a member say which channels it serves, in its own name.
func (c *cluster) serve(t *testing.T, name string, channels ...string) catalog.Result {
	t.Helper()
	return c.send(t, catalog.Command{Kind: catalog.UpdateMember, Node: id(name), Boot: 1, Seq: uint64(c.index)},
		catalog.MemberChange{ID: id(name), Channels: &channels})
}

// jobOf makes a submitted job of a channel.
func (c *cluster) jobOf(t *testing.T, channel string) uint64 {
	t.Helper()
	var j catalog.Job
	res := c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Channel: channel,
		Submit: true, Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)})
	if err := json.Unmarshal(res.Value, &j); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

// TestANodeGetsTheJobsOfItsChannelsAlone claims jobs of several channels, below level 4 and at it.
func TestANodeGetsTheJobsOfItsChannelsAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		level   int
		serves  []string // nil: nothing is said
		channel string
		refused bool
	}{
		{"nothing is said, selective", 4, nil, jobs.Focused, false},
		{"nothing is said, snapshot", 4, nil, jobs.Snapshot, false},
		{"nothing is said, another", 4, nil, "EVENTS", true},
		{"another is said", 4, []string{"EVENTS"}, "EVENTS", false},
		{"only another is said", 4, []string{"EVENTS"}, jobs.Focused, true},
		{"no channel", 4, []string{"EVENTS"}, "", false},
		{"names differ in case", 4, []string{"events"}, "EVENTS", true},
		{"before level 4", 3, nil, "EVENTS", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := aloneAt(t, tt.level)
			if tt.serves != nil {
				if res := c.serve(t, "north-1", tt.serves...); res.Refusal != nil {
					t.Fatal(res.Refusal)
				}
			}
			job := c.jobOf(t, tt.channel)
			res := c.apply(t, catalog.ClaimJob, catalog.JobRef{ID: job, Node: id("north-1")})
			if (res.Refusal != nil) != tt.refused {
				t.Errorf("refused: %v", res.Refusal)
			}
			if tt.refused && (res.Refusal.Code != catalog.Conflict ||
				!strings.Contains(res.Refusal.Message, tt.channel)) {
				t.Errorf("refused with %+v", res.Refusal)
			}
		})
	}
}

// TestChannelsOfAMember says which channels a member serves, well and badly.
func TestChannelsOfAMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		level    int
		channels []string
		want     string // in the refusal; empty: none
	}{
		{"one", 4, []string{"EVENTS"}, ""},
		{"none again", 4, []string{}, ""},
		{"no name", 4, []string{""}, "want 1 to 64 letters"},
		{"a dash", 4, []string{"a-b"}, `channel "a-b"`},
		{"twice", 4, []string{"A", "A"}, "twice"},
		{"too many", 4, make([]string, 101), "at most 100"},
		{"before level 4", 3, []string{"EVENTS"}, `body: json: unknown field "channels"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := aloneAt(t, tt.level)
			res := c.serve(t, "north-1", tt.channels...)
			switch {
			case tt.want == "" && res.Refusal != nil:
				t.Error(res.Refusal)
			case tt.want != "" && (res.Refusal == nil || !strings.Contains(res.Refusal.Message, tt.want)):
				t.Errorf("%v, want %q", res.Refusal, tt.want)
			}
		})
	}
	c := aloneAt(t, 4)
	res := c.apply(t, catalog.UpdateMember, catalog.MemberChange{ID: id("north-1"), Channels: &[]string{"EVENTS"}})
	if res.Refusal == nil || res.Refusal.Code != catalog.Denied {
		t.Errorf("somebody else says what it serves: %v", res.Refusal)
	}
	c = aloneAt(t, 3)
	m := member("north-2")
	m.Channels = []string{"EVENTS"}
	res = c.apply(t, catalog.JoinMember, catalog.Joining{Member: m})
	if res.Refusal == nil || res.Refusal.Message != `body: json: unknown field "channels"` {
		t.Errorf("a member with channels joins before level 4: %v", res.Refusal)
	}
}

// TestUnservedChannels looks for channels whose jobs nobody takes.
func TestUnservedChannels(t *testing.T) {
	t.Parallel()
	c, a, _ := sealing(t)
	c.raiseTo(t, 4)
	events := c.jobOf(t, "EVENTS")
	c.jobOf(t, "EVENTS")
	c.jobOf(t, jobs.Focused)
	unserved := func(want ...jobs.Unserved) {
		t.Helper()
		if got, err := c.view().Unserved(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	unserved(jobs.Unserved{Channel: "EVENTS", Jobs: 2}, jobs.Unserved{Channel: jobs.Focused, Jobs: 1}) // nobody crawls
	c.publish(t, a, "ka")
	unserved(jobs.Unserved{Channel: "EVENTS", Jobs: 2})
	j, err := c.view().Job(events)
	if err != nil {
		t.Fatal(err)
	}
	if why, err := c.view().Waits(&j); err != nil || why != "job 1 waits: no node that crawls serves channel EVENTS" {
		t.Errorf("%q %v", why, err)
	}
	res := c.send(t, catalog.Command{Kind: catalog.UpdateMember, Node: a.ID, Boot: 1, Seq: 900},
		catalog.MemberChange{ID: a.ID, Channels: &[]string{"EVENTS", jobs.Focused}})
	if res.Refusal != nil {
		t.Fatal(res.Refusal)
	}
	unserved()
	if why, err := c.view().Waits(&j); err != nil || why != "" {
		t.Errorf("%q %v", why, err)
	}
}
