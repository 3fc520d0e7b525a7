package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Definition is what a job was made from, as it was then. What is not there (a job made by hand has no schedule) is
// nil. It holds no secrets.
type Definition struct {
	Harvest, Template, Configurations, Schedule json.RawMessage

	Aliases   []Alias  // among the job's domains
	Continues []uint64 // the jobs whose content this one does not store again
	Info      HarvestInfo
}

// Alias is a domain that stands for another.
type Alias struct{ Domain, Of string }

// HarvestInfo is what each WARC file says of the harvest, in NetarchiveSuite's words. Empty values are left out.
type HarvestInfo struct {
	HarvestName, HarvestComments, ScheduleName         string
	TemplateName, TemplateDescription, TemplateUpdated string
	Performer, Audience                                string
}

// Origin says whose archive this is, and where its jobs come from.
type Origin struct {
	Organization string // the host in the URIs of metadata records
	Address      string // an IP address of this node, or nothing
	// Definition returns what a job of a harvest was made from. nil: all jobs are made by hand.
	Definition func(catalog.Job) (Definition, error)
}

// made is what a job was made from, with what the job itself says of it.
type made struct {
	Definition
	seeds []string
	given harvest.Settings // without secrets
}

// definition finds what the job was made from.
func (cfg *Config) definition(job catalog.Job) (m made, err error) {
	if cfg.Origin.Definition != nil && job.Number != 0 {
		if m.Definition, err = cfg.Origin.Definition(job); err != nil {
			return m, fmt.Errorf("find what job %d was made from: %w", job.ID, err)
		}
	}
	var spec harvest.Job
	var configurations []jobs.Configuration
	err = cfg.Agreement.View(func(v catalog.View) (err error) {
		if spec, err = v.Spec(&job); err != nil {
			return err
		}
		configurations, err = v.Configurations(&job)
		return err
	})
	if err != nil {
		return m, err
	}
	m.seeds, m.given = spec.Seeds, spec.Settings.Redacted()
	if m.Info.HarvestName == "" {
		m.Info.HarvestName = job.Harvest
	}
	if m.Harvest == nil {
		m.Harvest, err = json.Marshal(map[string]any{"name": job.Harvest, "harvestid": job.Number,
			"harvestnum": job.Run, "collection": job.Collection,
			"channel": job.Channel})
	}
	if err == nil && m.Template == nil {
		m.Template, err = json.Marshal(m.given)
	}
	if err == nil && m.Configurations == nil && configurations != nil {
		m.Configurations, err = json.Marshal(configurations)
	}
	return m, err
}

// keep writes what the job was made from into the folder of its settings, once: harvest.json comes last.
func (m *made) keep(d disk.Disk, dir string) error {
	last := filepath.Join(dir, "settings", "harvest.json")
	if exists(last) {
		return nil
	}
	seeds, err := json.Marshal(m.seeds)
	if err != nil {
		return fmt.Errorf("encode the seeds of a job: %w", err)
	}
	files := []struct {
		name string
		text []byte
	}{{"template.json", m.Template}, {"configurations.json", m.Configurations}, {"seeds.json", seeds},
		{"schedule.json", m.Schedule}, {aliasesFile, m.aliases()}, {continuesFile, m.continues()},
		{filepath.Base(last), m.Harvest}}
	for _, f := range files {
		if f.text == nil {
			continue
		}
		err := d.WriteFile(filepath.Join(dir, "settings", f.name), func(w io.Writer) error {
			_, err := w.Write(f.text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The files in a job's settings that become NetarchiveSuite's records of the same names.
const (
	aliasesFile   = "aliases"
	continuesFile = "duplicatereductionjobs"
)

func (m *made) aliases() (text []byte) {
	for _, a := range m.Aliases {
		text = fmt.Appendf(text, "%s is an alias for %s\n", a.Domain, a.Of)
	}
	return text
}

// continues is empty, but not nil, for a job that looks for what is archived already and continues no other job.
func (m *made) continues() []byte {
	if len(m.Continues) == 0 && !deduplicates(&m.given) {
		return nil
	}
	ids := make([]string, len(m.Continues))
	for i, id := range m.Continues {
		ids[i] = strconv.FormatUint(id, 10)
	}
	return []byte(strings.Join(ids, ","))
}

// deduplicates reports whether the settings, or those of a sheet, ask for revisits of what is archived already.
func deduplicates(s *harvest.Settings) bool {
	const off = "none"
	return s.Deduplicate != off || slices.ContainsFunc(s.Sheets, func(sheet harvest.Sheet) bool {
		value, there := sheet.Settings["deduplicate"]
		return there && string(value) != strconv.Quote(off)
	})
}

// prefix begins the names of the job's WARC files.
func prefix(job catalog.Job) string { return fmt.Sprintf("%d-%d", job.ID, job.Number) }

// info is what each WARC file of the job says of its harvest.
func (m *made) info(address string, job catalog.Job) []warc.Field {
	submitted := ""
	if job.Submitted != 0 {
		submitted = job.Submitted.Std().UTC().Format(time.RFC3339)
	}
	const version = "0.6" // of these names
	lines := []warc.Field{{Name: "ip", Value: address}}
	for _, f := range []warc.Field{
		{Name: "version", Value: version},
		{Name: "jobId", Value: strconv.FormatUint(job.ID, 10)},
		{Name: "channel", Value: job.Channel},
		{Name: "harvestNum", Value: strconv.FormatUint(job.Run, 10)},
		{Name: "origHarvestDefinitionID", Value: strconv.FormatUint(job.Number, 10)},
		{Name: "maxBytesPerDomain", Value: smaller(m.given.MaxDomainBytes, m.given.HarvestDomainBytes)},
		{Name: "maxObjectsPerDomain", Value: smaller(m.given.MaxDomainObjects, m.given.HarvestDomainObjects)},
		{Name: "templateName", Value: m.Info.TemplateName},
		{Name: "templateLastUpdateDate", Value: m.Info.TemplateUpdated},
		{Name: "templateDescription", Value: m.Info.TemplateDescription},
		{Name: "origHarvestDefinitionName", Value: m.Info.HarvestName},
		{Name: "origHarvestDefinitionComments", Value: m.Info.HarvestComments},
		{Name: "scheduleName", Value: m.Info.ScheduleName},
		{Name: "harvestFilenamePrefix", Value: prefix(job)},
		{Name: "jobSubmitDate", Value: submitted},
		{Name: "performer", Value: m.Info.Performer},
		{Name: "operator", Value: m.given.Operator},
		{Name: "audience", Value: m.Info.Audience},
	} {
		lines = append(lines, warc.Field{Name: "harvestInfo." + f.Name, Value: f.Value})
	}
	return slices.DeleteFunc(lines, func(f warc.Field) bool { return f.Value == "" })
}

// smaller is the smaller of two limits, of which 0 is none; -1 when there is none.
func smaller(a, b int64) string {
	if a == 0 || b != 0 && b < a {
		a = b
	}
	if a == 0 {
		a = -1
	}
	return strconv.FormatInt(a, 10)
}
