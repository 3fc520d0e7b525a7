package harvester

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
	"holdfast/harvest"
	"holdfast/harvest/compose"
	"holdfast/harvest/domain"
	"holdfast/harvest/split"
)

// broken is an error that no other leader and no waiting mends: the harvest is deactivated with the reason.
type broken struct {
	reason string
	err    error
}

func (b *broken) Error() string { return b.reason + ": " + b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// breaks makes an error, if there is one, the reason for which a harvest is deactivated.
func breaks(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &broken{fmt.Sprintf(format, args...), err}
}

// material is what all jobs of a run are made of, apart from the configurations of domains.
type material struct {
	harvest   runs.Harvest
	run       runs.Run // what was said of the harvest when it began
	split     split.Settings
	domains   domain.Settings
	traps     []string
	level     int            // of the cluster
	earlier   []uint64       // the snapshots that this one continues, the last one first
	templates map[string]int // the versions that are used
}

// gather reads the material of a run. What a run began with stays; templates and settings are those of now.
func gather(v catalog.View, h runs.Harvest, r runs.Run) (m *material, err error) {
	h.Asked = r.Definition
	m = &material{harvest: h, run: r, templates: map[string]int{}}
	cluster, err := v.Cluster()
	if err != nil {
		return nil, err
	}
	m.level = cluster.Level
	if m.split, err = splitSettings(v); err != nil {
		return nil, err
	}
	if m.domains, err = domainSettings(v); err != nil {
		return nil, err
	}
	if m.traps, err = globalTraps(v); err != nil {
		return nil, err
	}
	m.earlier, err = catalog.RunsIn(v).Snapshots(r.Definition.Earlier)
	return m, err
}

func (m *material) snapshot() bool { return m.harvest.Kind == runs.Snapshot }

// limits are the harvest's for each domain.
func (m *material) limits() split.Limits {
	return split.Limits{Objects: limit(m.run.Definition.Objects), Bytes: limit(m.run.Definition.Bytes)}
}

// whole is what the heads of all jobs have.
func (m *material) whole() compose.Whole {
	l := m.limits()
	return compose.Whole{Objects: l.Objects, Bytes: l.Bytes, MaxTime: seconds(m.run.Definition.MaxTime), Traps: m.traps,
		Level: m.level}
}

// seconds is a time in the catalog; far more than any crawl takes counts as no limit.
func seconds(n int64) time.Duration {
	const most = 10 * 365 * 24 * 60 * 60
	if n > most {
		return 0
	}
	return time.Duration(n) * time.Second
}

func limit(most *int64) harvest.Limit {
	if most == nil {
		return harvest.Limit{}
	}
	return harvest.AtMost(*most)
}

func splitSettings(v catalog.View) (split.Settings, error) {
	text, version, err := catalog.RunsIn(v).SplitSettings()
	if err != nil || text == "" {
		return split.DefaultSettings(), err
	}
	s, err := split.ParseSettings([]byte(text))
	return s, breaks(err, "the settings of harvests (version %d) cannot be read", version)
}

func domainSettings(v catalog.View) (domain.Settings, error) {
	kept, err := catalog.DomainsIn(v).Settings()
	if err != nil || kept.Text == "" {
		return domain.DefaultSettings(), err
	}
	s, err := domain.ParseSettings([]byte(kept.Text))
	return s, breaks(err, "the settings of domains (version %d) cannot be read", kept.Version)
}

// globalTraps returns the expressions of all lists of crawler traps that are switched on.
func globalTraps(v catalog.View) (all []string, err error) {
	view := catalog.HarvestsIn(v)
	lists, err := view.Definitions(harvests.Traps)
	if err != nil {
		return nil, err
	}
	for i := range lists {
		d := &lists[i]
		if d.Off {
			continue
		}
		_, text, err := view.Text(harvests.Traps, d.Name, d.Version)
		if err != nil {
			return nil, err
		}
		some, err := listed(text)
		if err != nil {
			return nil, breaks(err, "the list of crawler traps %s cannot be read", d.Name)
		}
		all = append(all, some...)
	}
	return all, nil
}

// listed returns the lines of a list that say something.
func listed(text string) (out []string, err error) {
	for lines := domain.NewLines(strings.NewReader(text)); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			err = line.Bad
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line.Number, err)
		}
		out = append(out, line.Text)
	}
}

// version returns the version of a template that the run's jobs are made of.
func (m *material) version(v catalog.View, name string) (int, error) {
	if version, known := m.templates[name]; known {
		return version, nil
	}
	d, err := catalog.HarvestsIn(v).Definition(harvests.Template, name)
	if errors.Is(err, agree.ErrNotFound) {
		return 0, breaks(err, "there is no template %s: make it, or give "+
			"the configurations that have it another one", name)
	}
	if err == nil {
		m.templates[name] = d.Version
	}
	return d.Version, err
}

// head makes the text of a job of a template, but for its configurations.
func (m *material) head(v catalog.View, label string, patch harvest.Patch) (harvest.Job, compose.Template, error) {
	var t compose.Template
	name, version, err := compose.ParseLabel(label)
	if err != nil {
		return harvest.Job{}, t, err
	}
	kept, text, err := catalog.HarvestsIn(v).Text(harvests.Template, name, version)
	if err != nil {
		return harvest.Job{}, t, fmt.Errorf("template %s: %w", label, err)
	}
	t = compose.Template{Name: name, Version: version, Text: text, Sealed: kept.Secret}
	job, err := compose.Head(fmt.Sprintf("harvest-%d-%d", m.run.Harvest, m.run.Number), t, patch, m.whole())
	return job, t, breaks(err, "template %s cannot be used", name)
}

// found is a configuration as the catalog has it.
type found struct {
	domain  *domains.Domain
	kept    domains.Configuration
	overlay compose.Overlay
	as      split.Configuration // but for what is expected
	limits  split.Limits        // its own
}

// reader reads the configurations of domains at one moment of the catalog.
type reader struct {
	*material
	view    catalog.View
	domains domains.View
}

func (m *material) at(v catalog.View) reader { return reader{m, v, catalog.DomainsIn(v)} }

// domain returns the domain if it was there before the run, and whether it is still.
func (r *reader) domain(name domains.Name) (*domains.Domain, bool, error) {
	d, err := r.domains.Domain(name)
	if errors.Is(err, agree.ErrNotFound) {
		return nil, false, nil
	}
	return &d, err == nil && r.counts(&d), err
}

// counts reports whether a domain may be harvested.
func (r *reader) counts(d *domains.Domain) bool {
	return !d.Removing && d.Collection == r.harvest.Collection && d.Index < r.run.Index
}

// find returns a configuration of a domain, and whether it is there and was before the run.
func (r *reader) find(d *domains.Domain, name string) (f found, there bool, err error) {
	f.domain = d
	if d.Configurations > 0 {
		f.kept, err = r.domains.Configuration(d.Name, name)
	}
	switch {
	case d.Configurations == 0 || errors.Is(err, agree.ErrNotFound):
		if name != domains.DefaultConfiguration {
			return f, false, nil
		}
		f.kept = domains.Configuration{Domain: d.Name, Name: name, Template: r.material.domains.DefaultTemplate,
			Lists: []string{domains.DefaultSeedList}, Index: d.Index}
		f.limits = split.Limits{Objects: r.material.domains.DefaultObjects, Bytes: r.material.domains.DefaultBytes}
	case err != nil:
		return f, false, err
	case !r.snapshot() && f.kept.Index >= r.run.Index:
		return f, false, nil
	default:
		f.limits = split.Limits{Objects: limit(f.kept.Objects), Bytes: limit(f.kept.Bytes)}
	}
	version, err := r.version(r.view, f.kept.Template)
	if err != nil {
		return f, false, fmt.Errorf("configuration %s of %s: %w", name, d.Name, err)
	}
	mark := ""
	if f.overlay, err = compose.ParseOverlay(f.kept.Settings, f.kept.Secret); err == nil {
		mark, err = f.overlay.Mark()
	}
	if err != nil {
		return f, false, breaks(err, "the settings of configuration %s of %s cannot be used", name, d.Name)
	}
	f.as = split.Configuration{Domain: string(d.Name), Name: name, Overlay: mark,
		Template: compose.Label(f.kept.Template, version), Bytes: f.limits.Least(r.limits()).Bytes}
	return f, true, nil
}

// seeded reports whether a configuration has a seed.
func (r *reader) seeded(f *found) (bool, error) {
	for _, name := range f.kept.Lists {
		l, there, err := r.list(f, domains.Seeds, name)
		if err != nil {
			return false, err
		}
		if there && l.Items > 0 || !there && name == domains.DefaultSeedList &&
			len(r.material.domains.DefaultSeeds) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// list returns a list of the domain's own.
func (r *reader) list(f *found, kind domains.ListKind, name string) (l domains.List, there bool, err error) {
	if kind == domains.Seeds && f.domain.Lists == 0 {
		return l, false, nil
	}
	l, err = r.domains.List(f.domain.Name, kind, name)
	if errors.Is(err, agree.ErrNotFound) {
		return l, false, nil
	}
	return l, err == nil, err
}

// text returns what a list of the domain's own says, nil if there is none.
func (r *reader) text(f *found, kind domains.ListKind, name string) ([]string, bool, error) {
	l, there, err := r.list(f, kind, name)
	if err != nil || !there {
		return nil, false, err
	}
	text, err := r.domains.WholeText(&l)
	if err != nil {
		return nil, true, err
	}
	lines, err := listed(text)
	return lines, true, breaks(err, "the list %s of %s cannot be read", name, f.domain.Name)
}

// line makes of a configuration what a job has of it.
func (r *reader) line(f *found) (c harvest.Configuration, err error) {
	c = harvest.Configuration{Domain: f.as.Domain, Name: f.as.Name, Objects: f.limits.Objects, Bytes: f.limits.Bytes,
		Logins: f.overlay.Logins, Settings: f.overlay.Patch}
	for _, name := range f.kept.Lists {
		seeds, there, err := r.text(f, domains.Seeds, name)
		if err != nil {
			return c, err
		}
		if !there && name == domains.DefaultSeedList {
			seeds = r.material.domains.Seeds(f.as.Domain)
		}
		c.Seeds = append(c.Seeds, seeds...)
	}
	c.Traps, _, err = r.text(f, domains.Traps, string(domains.Traps))
	return c, err
}
