package schedule

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// zones finds time zones and remembers them.
func zones() Zones {
	known := map[string]*time.Location{}
	return func(name string) (*time.Location, error) {
		if zone := known[name]; zone != nil {
			return zone, nil
		}
		zone, err := time.LoadLocation(name)
		known[name] = zone
		return zone, err
	}
}

// tableCase is a line of the table that testdata/table.py wrote.
type tableCase struct {
	Schedule Schedule  `json:"s"`
	Start    time.Time `json:"start"`
	Horizon  time.Time `json:"horizon"` // dates after it are not in the table
	Count    int64     `json:"count"`
	Digest   string    `json:"digest"`
}

func table(t testing.TB) (all []tableCase) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "table.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unpacked)
	for lines.Scan() {
		var c tableCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) != 10_000 {
		t.Fatalf("%d schedules in the table, %v", len(all), err)
	}
	return all
}

// The dates of 10 000 random schedules over ten years in three zones are those of an independent program.
func TestDatesEqualIndependentTable(t *testing.T) {
	find := zones()
	wrong := 0
	for i, c := range table(t) {
		plan, err := Compile(c.Schedule, find)
		if err != nil {
			if c.Count == 0 {
				continue // it never comes due
			}
			t.Errorf("line %d: %v", i+1, err)
			continue
		}
		got := c.dates(plan)
		sum := sha256.Sum256([]byte(strings.Join(got, "\n")))
		count := plan.Count(c.Start, c.Horizon)
		if hex.EncodeToString(sum[:6]) != c.Digest || count != c.Count {
			text, _ := json.Marshal(c.Schedule)
			t.Errorf("line %d: %s from %s: %d dates, want %d; some of them:\n%s", i+1, text, c.Start, count, c.Count,
				strings.Join(got, " "))
			if wrong++; wrong > 5 {
				t.Fatal("and maybe more")
			}
		}
	}
}

// dates are those of the table's digest: the first 20, three after each quarter of the time, and the last three.
func (c tableCase) dates(plan *Plan) (out []string) {
	take := func(after time.Time, n int) {
		for range n {
			next, there := plan.Next(c.Start, after)
			if !there || next.After(c.Horizon) {
				return
			}
			out = append(out, next.Format("2006-01-02T15:04"))
			after = next
		}
	}
	take(c.Start.Add(-time.Second), 20)
	for i := range time.Duration(3) {
		take(c.Start.Add((c.Horizon.Sub(c.Start) / 4 / 1000 * 1000 * (i + 1))).Truncate(time.Second), 3)
	}
	// The last three are found by their numbers.
	total := plan.Count(c.Start, c.Horizon)
	low, high := c.Start.Unix()-1, c.Horizon.Unix()
	for low < high {
		if middle := (low + high) / 2; plan.Count(c.Start, time.Unix(middle, 0)) >= total-2 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if total <= 3 {
		low = c.Start.Unix()
	}
	take(time.Unix(low-1, 0), 3)
	return out
}
