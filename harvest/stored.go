package harvest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// storedSettings are what holds where a stored job gives nothing. For settings that came later, that is what was done
// before there was such a setting.
func storedSettings() Settings {
	s := DefaultSettings()
	for _, d := range described {
		if d.since > 0 {
			d.field(&s).Set(d.before)
		}
	}
	return s
}

// ParseStoredJob reads a job as it is stored: of a setting that it does not give it does what programs did that did not
// know the setting.
func ParseStoredJob(data []byte) (Job, error) {
	type plain Job
	p := plain{Settings: storedSettings()}
	err := decodeStrict(data, "job", &p)
	return Job(p), err
}

// AtLevel returns the settings as a cluster of that level can store them. Those that came with a later level have the
// values for which programs of that level stand; other values are refused, unless they are the defaults, and so are
// such settings in sheets.
func (s Settings) AtLevel(level int) (Settings, error) {
	for _, d := range described {
		if d.since <= level {
			continue
		}
		field := d.field(&s)
		given, err := json.Marshal(field.Interface())
		if err != nil {
			return s, invalid(d.Name, "a value that cannot be written", "JSON")
		}
		before, err := json.Marshal(d.before.Interface())
		if err != nil {
			return s, err
		}
		if string(given) != string(before) && string(given) != string(d.Default) {
			return s, invalid(d.Name, string(given), "none until the cluster is at level "+strconv.Itoa(d.since))
		}
		field.Set(d.before)
	}
	for _, sheet := range s.Sheets {
		if err := Patch(sheet.Settings).KnownAt(level); err != nil {
			return s, fmt.Errorf("sheets: %s: %w", sheet.Name, err)
		}
	}
	return s, nil
}

// KnownAt refuses settings that came with a later level than the given one, whatever their values: programs of clusters
// at that level do not know their names. Names that are no settings are not its business.
func (p Patch) KnownAt(level int) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if d, known := named(name); known && d.since > level {
			return invalid(name, string(p[name]), "none until the cluster is at level "+strconv.Itoa(d.since))
		}
	}
	return nil
}

// OldJob is a job as programs that know no level above 3 read and write it: without, and refusing, what came later.
type OldJob struct {
	Name     string      `json:"name"`
	Seeds    []string    `json:"seeds"`
	Settings oldSettings `json:"settings"`
}

// UnmarshalJSON reads a job; settings that are not given have their defaults.
func (j *OldJob) UnmarshalJSON(data []byte) error {
	type plain OldJob
	p := plain{Settings: oldSettings(storedSettings())}
	if err := decodeStrict(data, "job", &p); err != nil {
		return err
	}
	*j = OldJob(p)
	return nil
}

// oldSettings are settings with the keys of levels 1 to 3.
type oldSettings Settings

// UnmarshalJSON reads the keys that are given and leaves the other settings as they are.
func (s *oldSettings) UnmarshalJSON(data []byte) error {
	type plain Settings
	p := plain(*s)
	known := jsonNames(reflect.TypeFor[Settings]())
	for _, d := range described {
		if d.since > 0 {
			delete(known, d.Name)
		}
	}
	if err := decodeKnown(data, "settings", &p, known); err != nil {
		return err
	}
	*s = oldSettings(p)
	return nil
}
