package harvester

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/harvest"
	"holdfast/harvest/compose"
	"holdfast/harvest/split"
)

// Bounds of what is in hand of a job.
const (
	linesPage = 200      // configurations that are read at a time
	mostBytes = 32 << 20 // of seeds and traps in one job

	lightBytes = mostBytes / 32 // of these, that every run has in hand at any time
)

// draft is a job that gets its configurations.
type draft struct {
	first harvest.Patch // laid over the template, the same for all
	lines []harvest.Configuration
	uses  map[string]bool // secrets of the configurations
	bytes int
	long  bool // it has one of the texts
}

// full reports whether there is no room for one more configuration with or without a secret.
func (d *draft) full() bool { return d.bytes >= mostBytes || len(d.uses) >= jobs.MaxSecrets-1 }

// waits reports whether the draft has so much text that it has to wait for one of the texts before it gets more.
func (d *draft) waits() bool { return d.bytes >= lightBytes && !d.long }

// texts shares out the memory for seeds and traps among the runs that are split at the same time: a few of them at
// most have a draft with much text in hand.
type texts chan struct{}

func newTexts() texts { return make(texts, large.most()+entire.most()) }

// take waits until the draft may have as much text as a job has at most.
func (t texts) take(ctx context.Context, d *draft) error {
	select {
	case t <- struct{}{}:
		d.long = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// give gives back what the draft took.
func (t texts) give(d *draft) {
	if d.long {
		<-t
	}
}

// job makes a job in the catalog; the last one may still be on its way when it returns: see storing. It reads each
// configuration again: those that were changed since they were sorted are left for the next pass, and so are those
// whose template was; those that were deleted are counted. A job with very much text, or very many secrets, is made
// as several.
func (s *splitting) job(ctx context.Context, job *split.Job) error {
	d := &draft{uses: map[string]bool{}}
	defer func() { s.texts.give(d) }()
	// The catalog keeps what a job has by domain, too: in their order they are read and written faster.
	slices.SortFunc(job.Configurations, func(a, b split.Configuration) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
	})
	for rest := job.Configurations; len(rest) > 0; {
		taken := 0
		err := s.cfg.Agreement.View(func(v catalog.View) error {
			old, err := replaced(v, job.Configurations[0].Template)
			if err != nil || old {
				s.changed, taken = s.changed || old, len(rest)
				return err
			}
			r := s.at(v)
			for taken < min(linesPage, len(rest)) && !d.full() && !d.waits() {
				if err := s.add(d, &r, &rest[taken]); err != nil {
					return err
				}
				taken++
			}
			return nil
		})
		if err != nil {
			return err
		}
		rest = rest[taken:]
		switch {
		case d.full() || len(rest) == 0:
			whole := d
			d = &draft{uses: map[string]bool{}}
			if err := s.put(ctx, job.Configurations[0].Template, whole); err != nil {
				return err
			}
		case d.waits():
			if err := s.texts.take(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaced reports whether a template has another version by now than the label says, or is gone. The seeds that a
// configuration has now were not put for what the template said before (doc/decisions/0017).
func replaced(v catalog.View, label string) (bool, error) {
	name, version, err := compose.ParseLabel(label)
	if err != nil {
		return false, err
	}
	d, err := catalog.HarvestsIn(v).Definition(harvests.Template, name)
	if errors.Is(err, agree.ErrNotFound) {
		return true, nil
	}
	return d.Version != version, err
}

// add adds a configuration to a draft, as it is now.
func (s *splitting) add(d *draft, r *reader, c *split.Configuration) error {
	of, there, err := r.domain(domains.Name(c.Domain))
	if err != nil {
		return err
	}
	var f found
	if there && s.snapshot() && of.DefaultName() != c.Name {
		s.changed = true
		return nil
	}
	if there {
		f, there, err = r.find(of, c.Name)
	}
	if err != nil {
		return err
	}
	if !there {
		s.lose(c)
		return nil
	}
	if f.as.Template != c.Template || f.as.Overlay != c.Overlay || f.as.Bytes != c.Bytes {
		s.changed = true
		return nil
	}
	line, err := r.line(&f)
	if err != nil {
		return err
	}
	if len(line.Seeds) == 0 {
		s.leftOut[split.NoSeeds]++ // it has lost them meanwhile
		return nil
	}
	if len(d.lines) == 0 {
		d.first = f.overlay.Patch
	}
	d.lines = append(d.lines, line)
	for _, list := range [][]string{line.Seeds, line.Traps} {
		for _, text := range list {
			d.bytes += len(text)
		}
	}
	if f.kept.Secret != "" {
		d.uses[f.kept.Secret] = true
	}
	return nil
}

// lose counts a configuration that was deleted while the jobs were made.
func (s *splitting) lose(c *split.Configuration) {
	if s.gone++; len(s.goneNames) < runs.MaxGone {
		s.goneNames = append(s.goneNames, runs.Configuration{Domain: domains.Name(c.Domain), Name: c.Name})
	}
	s.cfg.Log.Info("configuration was deleted while the jobs of a run were made", "harvest", s.key.harvest,
		"run", s.key.run, "domain", c.Domain, "configuration", c.Name)
}

// put makes a job of a draft, and begins to store it as soon as the one before is stored. It gives back what the draft
// took when it is no longer needed.
func (s *splitting) put(ctx context.Context, label string, d *draft) (err error) {
	stored := false
	defer func() {
		if !stored {
			s.texts.give(d)
		}
	}()
	if len(d.lines) == 0 {
		return nil
	}
	head, template, err := s.compose(label, d.first, d.lines)
	var bad *broken
	if errors.As(err, &bad) && len(d.first) > 0 {
		// if the template is sound, it is what is laid over it
		if _, _, plain := s.compose(label, nil, d.lines); plain == nil {
			s.leftOut[split.BadSettings] += int64(len(d.lines))
			s.cfg.Log.Warn("configurations are left out: their settings do not fit the template", "harvest",
				s.key.harvest,
				"run", s.key.run, "template", label, "configurations", len(d.lines), "first", d.lines[0].Name,
				"of", d.lines[0].Domain, "error", err)
			return nil
		}
	}
	if err != nil {
		return err
	}
	opening := jobs.JobOpening{Harvest: s.run.Definition.Name, Number: s.key.harvest, Run: s.key.run,
		Collection: s.harvest.Collection, Channel: s.harvest.JobChannel(), Template: label,
		Uses: d.secrets(template.Sealed)}
	parts, err := d.parts(head)
	if err != nil {
		return breaks(err, "jobs of template %s cannot be stored", template.Name)
	}
	if err := s.storing.wait(); err != nil {
		return err
	}
	stored = true
	s.storing.begin(func() error {
		defer s.texts.give(d)
		if err := s.store(ctx, opening, parts); err != nil {
			return err
		}
		s.configurations += int64(len(d.lines))
		return nil
	})
	return nil
}

// storing is a job that is on its way to the catalog, if there is one, while the next one is read. Between begin and
// wait, what is known of the run's jobs is that job's. The zero storing has none.
type storing chan error

// begin calls store in a goroutine of its own. No job is on its way.
func (s *storing) begin(store func() error) {
	done := make(chan error, 1)
	*s = done
	go func() { done <- store() }()
}

// wait waits until no job is on its way, and returns what became of the last one, once.
func (s *storing) wait() error {
	if *s == nil {
		return nil
	}
	err := <-*s
	*s = nil
	return err
}

// secrets names the secrets that the job refers to, in order.
func (d *draft) secrets(template string) []string {
	if template != "" {
		d.uses[template] = true
	}
	return slices.Sorted(maps.Keys(d.uses))
}

func (d *draft) parts(head harvest.Job) ([]jobs.Part, error) {
	parts, err := jobs.Divide(head)
	if err != nil {
		return nil, err
	}
	lines, err := jobs.DivideConfigurations(d.lines)
	return append(parts, lines...), err
}

// store stores a job behind the run's last one: a small one at once; another is opened, gets its parts, and is closed.
func (s *splitting) store(ctx context.Context, opening jobs.JobOpening, parts []jobs.Part) error {
	opening.After = s.last
	store := s.storeParts
	if jobs.IsSmall(parts) {
		store = s.storeAtOnce
	}
	id, err := store(ctx, opening, parts)
	if err != nil {
		return err
	}
	s.last, s.made = id, s.made+1
	s.cfg.Log.Debug("job of a harvest is made", "job", id, "harvest", s.key.harvest, "run", s.key.run)
	return nil
}

func (s *splitting) storeAtOnce(ctx context.Context, opening jobs.JobOpening, parts []jobs.Part) (uint64, error) {
	return s.begun(s.propose(ctx, jobs.MakeJob, jobs.JobMaking{Opening: opening, Parts: parts}))
}

func (s *splitting) storeParts(ctx context.Context, opening jobs.JobOpening, parts []jobs.Part) (uint64, error) {
	sum, err := jobs.SumOf(parts)
	if err != nil {
		return 0, err
	}
	id, err := s.begun(s.propose(ctx, jobs.OpenJob, opening))
	if err != nil {
		return 0, err
	}
	for i := range parts {
		addition := jobs.JobAddition{ID: id, Number: i + 1, Part: parts[i]}
		if _, err := s.propose(ctx, jobs.AddPart, addition); err != nil {
			return 0, err
		}
	}
	_, err = s.propose(ctx, jobs.CloseJob, jobs.JobClosing{ID: id, Parts: len(parts), Sum: sum})
	return id, err
}

// begun is the number of the job in an answer.
func (*splitting) begun(answer json.RawMessage, err error) (uint64, error) {
	var j catalog.Job
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(answer, &j); err != nil {
		return 0, fmt.Errorf("read the job that was begun: %w", err)
	}
	return j.ID, nil
}

// compose makes a job's text of a template with something laid over it, and checks it with the configurations.
func (s *splitting) compose(label string, first harvest.Patch,
	lines []harvest.Configuration) (head harvest.Job, template compose.Template, err error) {
	err = s.cfg.Agreement.View(func(v catalog.View) (err error) {
		head, template, err = s.head(v, label, first)
		return err
	})
	if err == nil {
		err = breaks(compose.Check(head, lines), "jobs of template %s cannot be crawled", template.Name)
	}
	return head, template, err
}
