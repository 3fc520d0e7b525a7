package harvester

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/internal/sorter"
)

// taken are the configurations that a run's jobs have already, in order.
type taken struct {
	count  int64 // how many there are
	sorted *sorter.Sorter
	next   func() ([]byte, error, bool)
	stop   func()
	head   []byte
	ended  bool
}

// takenPage is how many jobs' heads are read at a time.
const takenPage = 20

// taken reads the jobs of a run up to the last one that is known. Of snapshots domains alone count: a domain is
// harvested once, whatever its default configuration was.
func (s *splitting) taken(last uint64) (*taken, error) {
	t := &taken{sorted: sorter.New(s.cfg.Dir, s.room)}
	for after := uint64(0); last > 0; {
		var page []catalog.Job
		err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
			page, err = v.JobsOfRun(s.key.harvest, s.key.run, after, takenPage)
			return err
		})
		for i := range page {
			after = page[i].ID
			if err == nil && page[i].Parts != nil && page[i].Parts.Of == after { // no other has these parts
				err = s.takenBy(t, &page[i])
			}
		}
		if err != nil {
			t.close()
			return nil, fmt.Errorf("read the jobs of the run: %w", err)
		}
		if len(page) < takenPage || after >= last {
			break
		}
	}
	t.begin()
	return t, nil
}

// begin ends the sorting: places can be asked for.
func (t *taken) begin() { t.next, t.stop = iter.Pull2(t.sorted.Sorted()) }

// takenBy adds the configurations of a job.
func (s *splitting) takenBy(t *taken, j *catalog.Job) error {
	return namesOf(s.cfg.Agreement, j, func(one name) error {
		t.count++
		return t.sorted.Add(nil, one.place(s.snapshot()))
	})
}

// namesOf names the configurations of a job, one after the other.
func namesOf(agreed Agreement, j *catalog.Job, take func(name) error) error {
	before := name{}
	for n := 1; j.Parts != nil && n <= j.Parts.Count; n++ {
		var p jobs.Part
		err := agreed.View(func(v catalog.View) (err error) { p, err = v.Part(j, n); return err })
		if err != nil {
			return err
		}
		if p.Kind != jobs.PartConfigurations {
			continue
		}
		var names []name
		if err := json.Unmarshal([]byte(p.Text), &names); err != nil {
			return fmt.Errorf("part %d of job %d: %w", n, j.ID, err)
		}
		for _, one := range names {
			if one == before { // it continues
				continue
			}
			before = one
			if err := take(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// name names a configuration of a domain.
type name struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
}

// place is where a configuration comes when a run's configurations are walked.
func (n name) place(snapshot bool) string {
	if snapshot {
		return n.Domain
	}
	return n.Domain + "/" + n.Name
}

// has reports whether the configuration at a place is taken. Places are asked for in their order.
func (t *taken) has(place string) (bool, error) {
	for !t.ended {
		switch c := bytes.Compare(t.head, []byte(place)); {
		case t.head != nil && c == 0:
			return true, nil
		case t.head != nil && c > 0:
			return false, nil
		}
		head, err, more := t.next()
		if err != nil {
			return false, fmt.Errorf("sort the configurations of the run: %w", err)
		}
		t.head, t.ended = append(t.head[:0], head...), !more
	}
	return false, nil
}

func (t *taken) close() {
	if t.stop != nil {
		t.stop()
	}
	_ = t.sorted.Close() // nameless temporary files
}
