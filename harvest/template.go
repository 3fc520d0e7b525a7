package harvest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// setByHarvests are the settings that harvests and the configurations of domains set for each of their domains.
func setByHarvests() []string {
	return []string{"max_domain_objects", "max_domain_bytes", "harvest_domain_objects", "harvest_domain_bytes"}
}

// CheckTemplate refuses settings that no template of harvests can have: without an operator's contact, or with what
// harvests set. It does not check what Validate does.
func CheckTemplate(s Settings) error {
	if s.OperatorContact == "" {
		return fmt.Errorf("%w: %w: a template needs an e-mail address or an http(s) URL for owners of sites",
			ErrInvalid, ErrNoContact)
	}
	of := map[string]int64{"max_domain_objects": s.MaxDomainObjects, "max_domain_bytes": s.MaxDomainBytes,
		"harvest_domain_objects": s.HarvestDomainObjects, "harvest_domain_bytes": s.HarvestDomainBytes}
	const allowed = "no such limit in a template: harvests and configurations of domains set it"
	for _, name := range setByHarvests() {
		if of[name] != 0 {
			return invalid(name, strconv.FormatInt(of[name], 10), allowed)
		}
		for _, sheet := range s.Sheets {
			if value, there := sheet.Settings[name]; there {
				return invalid("sheets: "+sheet.Name+": "+name, string(value), allowed)
			}
		}
	}
	return nil
}

// DefaultTemplate is the text of the template of harvests for which nothing but the operator's contact was said: all
// settings have their defaults, but for what is archived already, which is not stored again.
func DefaultTemplate(contact string) (string, error) {
	text, err := plainJSON(map[string]string{"operator_contact": contact, "deduplicate": "digest"})
	if err != nil {
		return "", fmt.Errorf("encode template: %w", err)
	}
	return string(text), nil
}

// CheckLaid refuses settings that no configuration of a domain can lay over those of a template: they are of the job as
// a whole, or harvests set them. It does not check their values.
func CheckLaid(laid Patch) error {
	for _, name := range slices.Sorted(maps.Keys(laid)) {
		if d, known := named(name); known && !d.Layable {
			return invalid(name, "a value of a configuration", "this setting in the template alone")
		}
	}
	return nil
}

// givenIn returns the settings that a template gives, as they stand in it: in JSON of settings, or of a whole job.
func givenIn(template []byte) (given Patch, err error) {
	if err := json.Unmarshal(template, &given); err != nil {
		return nil, fmt.Errorf("%w: template: %w", ErrInvalid, err)
	}
	var job Patch
	if err := json.Unmarshal(given["settings"], &job); err == nil && len(given["settings"]) > 0 {
		given = job
	}
	return given, nil
}

// TemplateAt refuses a template that gives settings which programs of clusters at that level do not know, in sheets
// too. It does not check their values.
func TemplateAt(template []byte, s Settings, level int) error {
	given, err := givenIn(template)
	if err == nil {
		err = given.KnownAt(level)
	}
	if err == nil {
		_, err = s.AtLevel(level)
	}
	return err
}

// TemplateText returns the settings that a template gives, and no others, as compact JSON: the values are those of s,
// which was read from the template, maybe without its secrets.
func TemplateText(template []byte, s Settings) (string, error) {
	given, err := givenIn(template)
	if err != nil {
		return "", err
	}
	var all map[string]json.RawMessage
	text, err := plainJSON(s)
	if err != nil {
		return "", fmt.Errorf("encode settings: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return "", fmt.Errorf("encode settings: %w", err)
	}
	for name := range given {
		if value, there := all[name]; there {
			given[name] = value
		}
	}
	if text, err = plainJSON(given); err != nil {
		return "", fmt.Errorf("encode template: %w", err)
	}
	return string(text), nil
}

// plainJSON is JSON in which <, > and & stand as they are.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	err := write.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// ShownTemplate is a template's text as it may be shown: without what lets one in somewhere.
func ShownTemplate(text string) (string, error) {
	s, err := ParseTemplate([]byte(text))
	if err != nil {
		return "", err
	}
	return TemplateText([]byte(text), s.Redacted())
}
