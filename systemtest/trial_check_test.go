//go:build e2e

package systemtest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/warc"
)

// trialJob is a job of the trial and what is in the archive of it.
type trialJob struct {
	wire.Job
	plan     *trialPlan
	run      uint64
	brought  []wire.Statistic
	records  []trialRecord
	cdx      map[string]string // what its metadata file says of a record, by file and offset
	compared []uint64          // jobs with which it was compared
	paths    []string          // its files, the metadata file last
	count    int               // of all records in them
}

// trialRecord is a response, resource or revisit.
type trialRecord struct {
	kind, url, digest, media string
	place                    string // file and offset
	line                     string // what the CDX is to say of it
	status, serial           int
}

// counts reports whether the record is of a document.
func (r *trialRecord) counts() bool {
	return strings.HasPrefix(r.url, "http") && !strings.HasSuffix(r.url, "/robots.txt")
}

// verify checks what must be true after all.
func (s *trial) verify(step func(string, ...any)) {
	files := audited(s.t, s.c, "north-1")
	intact(s.t, s.c, files, files)
	step("%d files are valid and stored", len(files))
	jobs := map[uint64]*trialJob{}
	for _, p := range s.plans {
		s.verifyRuns(p, jobs)
	}
	step("%d jobs have each configuration once a run", len(jobs))
	paths, err := s.c.Paths("south-1")
	check(s.t, err)
	for _, f := range files {
		j := jobs[f.Job]
		if j == nil {
			s.t.Errorf("%s is of job %d, which no harvest has", f.Name, f.Job)
			continue
		}
		check(s.t, j.read(paths[f.Name], f.Name))
	}
	recorded := map[int]uint64{}
	hits := s.web.hits()
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		s.verifyJob(jobs[id], hits, recorded)
	}
	s.verifyUnrecorded(hits, recorded, step)
	s.verifyPictures(jobs, step)
	s.verifyHistory(jobs)
	step("statistics, history and metadata are what the servers' log says")
	s.verifyReaders(jobs, step)
}

// verifyReaders has other programs read all files, and find each record by the CDX of the metadata files.
func (s *trial) verifyReaders(jobs map[uint64]*trialJob, step func(string, ...any)) {
	var paths []string
	records, found := 0, 0
	var one *trialJob
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[id]
		paths = append(paths, j.paths...)
		records, found = records+j.count, found+len(j.cdx)
		if one == nil && len(j.paths) > 1 {
			one = j
		}
	}
	readEverywhere(s.t, paths, records, found)
	if one == nil {
		s.t.Fatal("no job has two files")
	}
	readersFindFaults(s.t, one.paths, one.paths[len(one.paths)-1])
	step("warcio and JWAT read %d files, and find %d records by the CDX", len(paths), found)
}

// verifyRuns checks when a harvest ran, and that each run has each of its configurations in one job, on the right
// channel.
func (s *trial) verifyRuns(p *trialPlan, jobs map[uint64]*trialJob) {
	t, runs := s.t, s.runs(p)
	var h wire.Harvest
	s.ask(func(ctx context.Context, archive *client.Client) (err error) {
		h, err = archive.Harvests().Show(ctx, p.number)
		return err
	})
	t.Logf("%s: %d runs, %d of %d dates skipped", p.name, len(runs), h.Skipped, p.dates)
	if uint64(len(runs))+h.Skipped != p.dates || h.Runs != uint64(len(runs)) {
		t.Errorf("%s ran %d times, and %d dates were skipped, of %d", p.name, len(runs), h.Skipped, p.dates)
	}
	last := -1
	for i, r := range runs {
		if p.every > 0 {
			n := int(r.Date.Sub(runs[0].Date) / p.every)
			if n <= last || !runs[0].Date.Add(time.Duration(n)*p.every).Equal(r.Date) || uint64(n) >= p.dates {
				t.Errorf("%s: run %d is of %v, the first of %v", p.name, i+1, r.Date, runs[0].Date)
			}
			last = n
		}
		if r.State != "made" || r.Gone > 0 || !maps.Equal(r.LeftOut, p.leftOut) {
			t.Errorf("%s: run %+v", p.name, r)
		}
		had := map[string]int{}
		for _, job := range s.jobs(p, r.Number) {
			j := &trialJob{Job: job, plan: p, run: r.Number, cdx: map[string]string{}}
			jobs[job.ID] = j
			j.brought = all(s, func(ctx context.Context, archive *client.Client) iter.Seq2[wire.Statistic, error] {
				return archive.Jobs().Statistics(ctx, job.ID)
			})
			for _, one := range j.brought {
				if one.Domain != "" {
					had[one.Domain+"/"+one.Configuration]++
				}
			}
			if job.Channel != p.channel || !slices.Contains(p.nodes, job.NodeName) {
				t.Errorf("%s: job %d is of channel %s, on %s", p.name, job.ID, job.Channel, job.NodeName)
			}
		}
		for name := range p.configurations {
			if had[name] != 1 {
				t.Errorf("%s: run %d harvested %s %d times", p.name, r.Number, name, had[name])
			}
		}
		if len(had) != len(p.configurations) {
			t.Errorf("%s: run %d harvested %v", p.name, r.Number, had)
		}
	}
}

// read reads a file of the job: a metadata file, or one with records.
func (j *trialJob) read(path, name string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, err := warc.NewReader(f, name)
	if err != nil {
		return err
	}
	if strings.Contains(name, "-metadata-") {
		j.paths = append(j.paths, path)
	} else {
		j.paths = slices.Insert(j.paths, 0, path)
	}
	for {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		j.count++
		if err == nil && strings.Contains(name, "-metadata-") {
			err = j.readAbout(rec)
		} else if err == nil {
			err = j.readRecord(rec, name)
		}
		if err != nil {
			return fmt.Errorf("%s at %d: %w", name, rec.Offset, err)
		}
	}
}

// readAbout reads a record of the metadata file.
func (j *trialJob) readAbout(rec *warc.Record) error {
	uri := rec.TargetURI()
	if strings.Contains(uri, "/crawl/setup/duplicatereductionjobs?") {
		text, err := io.ReadAll(rec.Block)
		for _, id := range strings.FieldsFunc(string(text), func(r rune) bool { return r < '0' || r > '9' }) {
			n, bad := strconv.ParseUint(id, 10, 64)
			j.compared, err = append(j.compared, n), errors.Join(err, bad)
		}
		return err
	}
	if !strings.Contains(uri, "/crawl/index/cdx?") {
		return nil
	}
	lines, last := bufio.NewScanner(rec.Block), ""
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 7 {
			return fmt.Errorf("a line of the CDX is %q", lines.Text())
		}
		if lines.Text() <= last {
			return fmt.Errorf("a line of the CDX is %q, behind %q", lines.Text(), last)
		}
		last = lines.Text()
		j.cdx[words[5]+" "+words[6]] = strings.Join([]string{words[0], words[1], words[2], words[4]}, " ")
	}
	return lines.Err()
}

// readRecord reads a record of another file.
func (j *trialJob) readRecord(rec *warc.Record, file string) error {
	if rec.Type != warc.TypeResponse && rec.Type != warc.TypeRevisit && rec.Type != warc.TypeResource {
		return nil
	}
	r := trialRecord{kind: rec.Type, url: rec.TargetURI(), digest: rec.Header.Get("WARC-Payload-Digest"), serial: -1,
		place: fmt.Sprint(file, " ", rec.Offset)}
	date, err := rec.Date()
	if err != nil {
		return err
	}
	r.line = strings.Join([]string{r.url, cmp.Or(rec.Header.Get("WARC-IP-Address"), "-"),
		date.UTC().Format("20060102150405"), rec.Header.Get("Content-Length")}, " ")
	if rec.IsHTTP() {
		head, err := rec.HTTP()
		if err != nil {
			return err
		}
		r.status, r.media = head.Status, head.MIME()
		if r.serial, err = strconv.Atoi(head.Header.Get(serialHeader)); err != nil {
			return err
		}
	}
	j.records = append(j.records, r)
	return nil
}

// verifyJob compares what a job recorded with the servers' log, its statistics with that, and its CDX with its files.
func (s *trial) verifyJob(j *trialJob, hits []hit, recorded map[int]uint64) {
	t := s.t
	type count struct{ objects, bytes int64 }
	came, seen := map[string]count{}, map[string]bool{}
	for i := range j.records {
		r := &j.records[i]
		if j.cdx[r.place] != r.line {
			t.Errorf("job %d: the CDX says of %s %q, not %q", j.ID, r.place, j.cdx[r.place], r.line)
		}
		if r.serial < 0 {
			continue
		}
		h := hits[r.serial]
		if by, twice := recorded[r.serial]; twice {
			t.Errorf("job %d: answer %d, to %s, is in job %d too", j.ID, r.serial, r.url, by)
		}
		recorded[r.serial] = j.ID
		if !h.sent || h.status != r.status || s.web.url(h.domain, h.path) != r.url {
			t.Errorf("job %d: %+v is in the servers' log as %+v", j.ID, *r, h)
		}
		if !r.counts() {
			continue
		}
		if seen[r.url] {
			t.Errorf("job %d has %s twice", j.ID, r.url)
		}
		seen[r.url] = true
		c := came[h.domain]
		came[h.domain] = count{c.objects + 1, c.bytes + h.size}
	}
	if len(j.cdx) != len(j.records) {
		t.Errorf("job %d: the CDX has %d lines for %d records", j.ID, len(j.cdx), len(j.records))
	}
	var sum int64
	for _, one := range j.brought {
		if got := (count{one.Objects, one.Bytes}); got != came[one.Domain] || one.Objects == 0 && one.Domain != "" {
			t.Errorf("%s, run %d, job %d: %s/%s brought %v, the statistics say %v", j.plan.name, j.run, j.ID, one.Domain,
				one.Configuration, came[one.Domain], got)
		}
		delete(came, one.Domain)
		sum += one.Objects
	}
	if len(came) > 0 || sum != j.Stats.Objects {
		t.Errorf("job %d: %v is in no line of its statistics, whose sum is %d and not %d", j.ID, came, sum, j.Stats.Objects)
	}
}

// verifyUnrecorded checks that answers that nobody recorded were sent just before a kill.
func (s *trial) verifyUnrecorded(hits []hit, recorded map[int]uint64, step func(string, ...any)) {
	lost := 0
	for serial, h := range hits {
		if _, there := recorded[serial]; there {
			continue
		}
		lost++
		if !slices.ContainsFunc(s.kills, func(at time.Time) bool {
			return h.at.After(at.Add(-20*time.Second)) && h.at.Before(at.Add(time.Second))
		}) {
			s.t.Errorf("answer %d is nowhere in the archive, and no node was killed then: %+v", serial, h)
		}
	}
	step("%d answers of the servers; %d were lost with a node that was killed", len(hits), lost)
}

// verifyPictures checks that no picture is stored that a job with which the job was compared had already, and that later
// runs are compared with earlier ones.
func (s *trial) verifyPictures(jobs map[uint64]*trialJob, step func(string, ...any)) {
	stored, again := 0, 0
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		j, own := jobs[id], 0
		had := map[string]bool{}
		for _, id := range j.compared {
			before := jobs[id]
			if before == nil {
				s.t.Errorf("job %d was compared with job %d, which is none", j.ID, id)
				continue
			}
			for i := range before.records {
				had[before.records[i].digest] = true
			}
		}
		for i := range j.records {
			r := &j.records[i]
			switch {
			case r.kind == warc.TypeRevisit:
				again++
			case r.media == "image/png" && had[r.digest]:
				s.t.Errorf("job %d stores %s again, which one of jobs %v had", j.ID, r.url, j.compared)
			case r.media == "image/png":
				own++
			}
		}
		if stored += own; j.run > 1 && own > 0 || j.plan == s.plans[4] {
			step("job %d of run %d of %s stores %d pictures; it was compared with jobs %v", j.ID, j.run, j.plan.name, own,
				j.compared)
		}
		if j.plan == s.plans[4] && len(j.compared) == 0 {
			s.t.Errorf("job %d of the second snapshot was compared with nothing", j.ID)
		}
	}
	step("%d pictures are stored, %d times something was found unchanged", stored, again)
	if again == 0 {
		s.t.Error("nothing was found unchanged")
	}
}

// verifyHistory checks that the history of each domain has what its jobs brought.
func (s *trial) verifyHistory(jobs map[uint64]*trialJob) {
	want := map[string]int{}
	for _, j := range jobs {
		for _, one := range j.brought {
			if one.Domain != "" {
				want[fmt.Sprintf("%s of %s: job %d, %d objects, %d bytes, %s", one.Configuration, one.Domain, j.ID,
					one.Objects, one.Bytes, one.Stop)]++
			}
		}
	}
	check(s.t, Eventually(s.t.Context(), time.Minute, func() error {
		got := map[string]int{}
		for _, domain := range trialDomains {
			for _, one := range all(s, func(ctx context.Context, archive *client.Client) iter.Seq2[wire.DomainHistory, error] {
				return archive.Domains().History(ctx, domain)
			}) {
				got[fmt.Sprintf("%s of %s: job %d, %d objects, %d bytes, %s", one.Configuration, domain, one.Job, one.Objects,
					one.Bytes, one.Stop)]++
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("the history has %d entries of %d", len(got), len(want))
		}
		return nil
	}))
}
