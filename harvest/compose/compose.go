// Package compose makes what a job crawls: of a template, of settings that are laid over it, and of the configurations
// of domains.
//
// It is pure. What lets one in somewhere is not in its texts: they refer to it, and the result refers to it by full
// names.
package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/harvest"
)

// Template is a version of a template.
type Template struct {
	Name    string
	Version int
	Text    string
	Sealed  string // the id of what its secrets are sealed in
}

// Label names a version of a template, as default@3.
func Label(name string, version int) string { return name + "@" + strconv.Itoa(version) }

// ParseLabel reads what Label has made.
func ParseLabel(label string) (name string, version int, err error) {
	at := strings.LastIndexByte(label, '@')
	if at < 0 {
		return "", 0, fmt.Errorf("%w: %q names no version of a template", harvest.ErrInvalid, label)
	}
	version, err = strconv.Atoi(label[at+1:])
	if err != nil {
		return "", 0, fmt.Errorf("%w: %q names no version of a template", harvest.ErrInvalid, label)
	}
	return label[:at], version, nil
}

// Overlay is what a configuration says beside its template.
type Overlay struct {
	Patch  harvest.Patch // laid over the template's settings
	Logins []harvest.Credential
}

// logins is the setting that is not laid over a template: logins are in a job's table of domains.
const logins = "credentials"

// ParseOverlay reads the settings of a configuration, whose secrets are sealed in what has the id. The error wraps
// harvest.ErrInvalid.
func ParseOverlay(text, sealed string) (o Overlay, err error) {
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o.Patch); err != nil {
		return o, fmt.Errorf("%w: settings of a configuration: %w", harvest.ErrInvalid, err)
	}
	if sealed != "" {
		if o.Patch, err = o.Patch.ReferTo(sealed); err != nil {
			return o, err
		}
	}
	if given, there := o.Patch[logins]; there {
		if err := json.Unmarshal(given, &o.Logins); err != nil {
			return o, fmt.Errorf("%w: %s: %w", harvest.ErrInvalid, logins, err)
		}
		delete(o.Patch, logins)
	}
	return o, nil
}

// Mark stands for the settings that are laid over a template; it is empty if there are none. Configurations with the
// same mark may be in one job.
func (o Overlay) Mark() (string, error) {
	if len(o.Patch) == 0 {
		return "", nil
	}
	text, err := json.Marshal(o.Patch)
	if err != nil {
		return "", fmt.Errorf("%w: settings of a configuration: %w", harvest.ErrInvalid, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// Whole is what all jobs of a run have.
type Whole struct {
	Objects, Bytes harvest.Limit // of the harvest, for each domain
	MaxTime        time.Duration // of a job; 0: no limit
	Traps          []string      // of all global lists that are switched on
	Level          int           // of the cluster: jobs have no setting that its programs may not know
}

// Head makes the text of a job, but for its configurations. The error wraps harvest.ErrInvalid.
func Head(name string, t Template, patch harvest.Patch, whole Whole) (harvest.Job, error) {
	job := harvest.Job{Name: name}
	settings, err := harvest.ParseTemplate([]byte(t.Text))
	if err == nil {
		settings, err = settings.ReferTo(t.Sealed)
	}
	if err == nil {
		err = settings.Lay(patch)
	}
	if err == nil {
		settings, err = settings.AtLevel(whole.Level)
	}
	if err != nil {
		return job, fmt.Errorf("template %s: %w", Label(t.Name, t.Version), err)
	}
	if most := harvest.Duration(whole.MaxTime); most > 0 && (settings.MaxTime == 0 || most < settings.MaxTime) {
		settings.MaxTime = most
	}
	job.Settings = settings
	job.Domains = &harvest.Domains{Objects: whole.Objects, Bytes: whole.Bytes, Traps: whole.Traps}
	return job, nil
}

// Check reports whether a job can be crawled with its configurations, as far as can be told without its secrets.
func Check(head harvest.Job, all []harvest.Configuration) error {
	job := head
	for i := range all {
		job.Seeds = append(job.Seeds, all[i].Seeds...)
	}
	table := *head.Domains
	table.Configurations = all
	job.Domains = &table
	job, err := job.Filled()
	if err != nil {
		return err
	}
	return job.Validate()
}
