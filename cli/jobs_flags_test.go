package cli

import (
	"reflect"
	"strings"
	"testing"

	"holdfast/harvest"
)

// TestFlagsOfCrawlsAreDescribedOnce finds the text of each flag that stands for a setting in harvest.Reference, and no default
// written by hand.
func TestFlagsOfCrawlsAreDescribedOnce(t *testing.T) {
	t.Parallel()
	others := map[string]bool{"Template": true, "IgnoreRobots": true, "Set": true} // no setting of the same meaning
	names := map[string]string{"Contact": "operator_contact"}
	settings := map[string]harvest.Setting{}
	for _, s := range harvest.Reference() {
		settings[s.Name] = s
	}
	vars := settingVars()
	for name := range vars { // others would cost each start of the program time, for each flag that there is
		if !strings.Contains(tagsOfCrawlFlags(), "${"+name+"}") {
			t.Errorf("no flag refers to %s", name)
		}
	}
	for field := range reflect.TypeFor[crawlFlags]().Fields() {
		if others[field.Name] {
			continue
		}
		name := names[field.Name]
		if name == "" {
			name = snake(field.Name)
		}
		s, there := settings[name]
		if !there {
			t.Errorf("%s: there is no setting %q", field.Name, name)
			continue
		}
		if help := field.Tag.Get("help"); !strings.HasPrefix(help, "${setting_"+name+"}") || vars["setting_"+name] != s.Help || s.Help == "" {
			t.Errorf("%s: its help is %q, and not that of the setting, %q", field.Name, help, s.Help)
		}
		holder := field.Tag.Get("placeholder")
		if strings.Trim(string(s.Default), `"`) == holder {
			t.Errorf("%s: the default %q is written a second time", field.Name, holder)
		}
	}
}

func snake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(c)
	}
	return strings.ToLower(out.String())
}
