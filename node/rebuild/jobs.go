package rebuild

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/harvest"
	"holdfast/warc"
)

// jobAttempt is an attempt of a job; zero if there is none.
type jobAttempt struct {
	job     uint64
	attempt int
}

// metadataName returns whose metadata file it is by its name, <job>-metadata-<attempt>.warc.gz.
func metadataName(name string) (of jobAttempt) {
	rest, ok := strings.CutSuffix(name, ".warc.gz")
	job, attempt, cut := strings.Cut(rest, "-metadata-")
	id, err := strconv.ParseUint(job, 10, 64)
	n, err2 := strconv.Atoi(attempt)
	if !ok || !cut || err != nil || err2 != nil || id == 0 || n < 1 || id > 1<<62 {
		return jobAttempt{}
	}
	return jobAttempt{id, n}
}

// jobOfName returns the job by the name of a file that it made, <job>-<harvest>-<time>-<serial>-<node>.warc.gz or that
// of its metadata; 0 if no job made it by its name.
func jobOfName(name string) uint64 {
	if of := metadataName(name); of.job != 0 {
		return of.job
	}
	words := strings.SplitN(name, "-", 5)
	if len(words) < 5 || len(words[2]) != 17 || len(words[3]) != 5 {
		return 0
	}
	for _, word := range words[:4] {
		if strings.Trim(word, "0123456789") != "" || word == "" {
			return 0
		}
	}
	id, err := strconv.ParseUint(words[0], 10, 62)
	if err != nil {
		return 0
	}
	return id
}

// maxSetting bounds a record of a metadata file that is read.
const maxSetting = 64 << 20

// documented is a job as its metadata files tell it.
type documented struct {
	job      catalog.Job
	parts    []jobs.Part
	attempts []int // of which there are metadata files
	outcome  bool  // how it ended is told
	files    int   // of its last attempt
}

// jobs reads the metadata files, the one of each job's last attempt.
func (s *Survey) jobs(ctx context.Context) error {
	all := map[uint64][]int{}
	for name := range s.shelf.paths {
		if of := metadataName(name); of.job != 0 {
			all[of.job] = append(all[of.job], of.attempt)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		attempts := all[id]
		slices.Sort(attempts)
		var d *documented
		for _, n := range slices.Backward(attempts) {
			name := fmt.Sprintf("%d-metadata-%d.warc.gz", id, n)
			var err error
			if d, err = jobIn(ctx, s, name, id, n); ctx.Err() != nil {
				return ctx.Err()
			}
			if d != nil {
				break
			}
			s.differs(name, "no job can be read from it: %v", err)
		}
		if d == nil {
			continue
		}
		if why := odd(&d.job); why != "" {
			s.differs(fmt.Sprintf("job %d", id), "its metadata file says what no job can have: %s", why)
			continue
		}
		d.attempts = attempts
		s.documented[id] = d
	}
	return nil
}

// jobIn reads a metadata file wherever it lies. Where its copies tell the job differently, most of them count, and of
// as many that whose bytes are those of the manifest beside it.
func jobIn(ctx context.Context, s *Survey, name string, id uint64, attempt int) (*documented, error) {
	var failed error
	told, at := map[string]*documented{}, map[string][]string{}
	for _, path := range s.shelf.paths[name] {
		d, err := readJob(ctx, path, id, attempt, s.cfg.DomainOf)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		text, err := json.Marshal([]any{d.job, d.parts})
		if err != nil {
			return nil, err
		}
		told[string(text)], at[string(text)] = d, append(at[string(text)], path)
	}
	if len(told) == 0 {
		return nil, failed
	}
	left := most(slices.Sorted(maps.Keys(told)), func(text string) int { return len(at[text]) })
	if len(told) > 1 {
		left = most(left, func(text string) (sound int) {
			for _, path := range at[text] {
				if _, sum, err := digest(ctx, path, nil); err == nil && listedSo(path, sum) {
					sound++
				}
			}
			return sound
		})
		s.differs(name, "its copies tell the job differently; that in %s is taken", at[left[0]][0])
	}
	return told[left[0]], nil
}

// odd says what the catalog would refuse of a job; nothing if it would not.
func odd(j *catalog.Job) string {
	switch {
	case agree.CheckName("collection", string(j.Collection)) != nil:
		return "no collection"
	case len(j.Harvest) == 0 || len(j.Harvest) > 200:
		return "the name of its harvest"
	case j.Channel != "" && jobs.CheckChannel(j.Channel) != nil:
		return "its channel"
	case j.Number > 1<<62 || j.Run > 1<<62 || len(j.Parts.Template) > 100:
		return "its harvest"
	case agree.CheckTimes(j.Created, j.Submitted, j.Started, j.Ended) != nil:
		return "its dates"
	}
	return ""
}

// readJob reads of a metadata file what its job was, and how its attempt ended. Only the records at the beginning are
// read, and each of them is compared with its digest.
func readJob(ctx context.Context, file string, id uint64, attempt int,
	domainOf func(string) string) (*documented, error) {
	f, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := warc.NewReader(f, path.Base(file))
	if err != nil {
		return nil, err
	}
	d := &documented{}
	var spec *harvest.Job
	var end *outcome
	var made time.Time
	for ctx.Err() == nil {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if rec.Type == warc.TypeWarcinfo {
			if made, err = rec.Date(); err != nil {
				return nil, err
			}
			continue
		}
		folder, base := settingOf(rec.TargetURI())
		if folder != "setup" {
			break // settings come first
		}
		switch base {
		case "attempt.json", "job.json", "outcome.json":
		default:
			continue
		}
		text, err := proved(rec)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		switch base {
		case "attempt.json":
			err = json.Unmarshal(text, &d.job)
		case "job.json":
			spec = &harvest.Job{}
			*spec, err = harvest.ParseStoredJob(text)
		case "outcome.json":
			end = &outcome{}
			err = json.Unmarshal(text, end)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.job.ID != id || d.job.Attempt != attempt {
		return nil, fmt.Errorf("it documents attempt %d of job %d", d.job.Attempt, d.job.ID)
	}
	if d.outcome = end != nil; d.outcome {
		d.end(end)
	}
	d.settle(made)
	if err := d.divide(spec, domainOf); err != nil {
		return nil, err
	}
	return d, nil
}

// outcome is what a metadata file says of how an attempt ended.
type outcome struct {
	catalog.JobEnd
	Started catalog.Time `json:"started"`
}

// end takes over how the attempt ended.
func (d *documented) end(end *outcome) {
	d.job.Started = cmp.Or(d.job.Started, end.Started)
	d.job.State, d.job.Stats, d.job.Reason = catalog.JobDone, end.Stats, end.Reason
	d.job.HarvestError = end.HarvestError
	if end.Failed {
		d.job.State = catalog.JobFailed
	}
}

// settle makes it a job that has ended.
func (d *documented) settle(made time.Time) {
	j := &d.job
	if j.State != catalog.JobFailed {
		j.State = catalog.JobDone
	}
	if j.Ended == 0 && !made.IsZero() {
		j.Ended = catalog.At(made)
	}
	j.Wish, j.Secret, j.Spec, j.Next, j.Statistics, j.UploadError = catalog.WishRun, "", nil, 0, 0, nil
}

// divide makes the parts of the job, of what it crawled in the end.
func (d *documented) divide(spec *harvest.Job, domainOf func(string) string) (err error) {
	template := ""
	if d.job.Parts != nil {
		template = d.job.Parts.Template
	}
	if spec == nil { // it never crawled
		spec = &harvest.Job{Name: cmp.Or(d.job.Harvest, "job "+strconv.FormatUint(d.job.ID, 10))}
	}
	if d.parts, err = jobs.DivideFor(*spec, domainOf); err != nil {
		return err
	}
	d.job.Parts = &jobs.Parts{Of: d.job.ID, Count: len(d.parts), Template: template}
	return nil
}

// settingOf returns which part of a job's folder a record is, and the file's name.
func settingOf(uri string) (part, base string) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "metadata" {
		return "", ""
	}
	part, base, _ = strings.Cut(strings.TrimPrefix(u.Path, "/crawl/"), "/")
	return part, base
}

var errUnlike = errors.New("the record does not match its digest")

// proved reads a record and compares it with its digest.
func proved(rec *warc.Record) ([]byte, error) {
	want, err := warc.ParseDigest(rec.Header.Get("WARC-Block-Digest"))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(rec.Block, maxSetting+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSetting {
		return nil, fmt.Errorf("a record of more than %d bytes", maxSetting)
	}
	sum := want.Algorithm.New()
	sum.Write(text)
	if got := warc.DigestOf(want.Algorithm, sum); !got.Equal(want) {
		return nil, errUnlike
	}
	return text, nil
}

// jobInFile returns the job that the first record of a WARC file names; 0 if it names none.
func jobInFile(file string) uint64 {
	f, err := openRegular(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	records, err := warc.NewReader(f, path.Base(file))
	if err != nil {
		return 0
	}
	rec, err := records.Next()
	if err != nil || rec.Type != warc.TypeWarcinfo {
		return 0
	}
	text, err := io.ReadAll(io.LimitReader(rec.Block, 1<<20))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		for _, key := range []string{"harvestInfo.jobId:", "isPartOf:"} {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok {
				if id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62); err == nil {
					return id
				}
			}
		}
	}
	return 0
}
