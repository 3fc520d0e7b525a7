package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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

// TestAttendedCrawlsDoNotWaitForSilentHosts: crawl and up try a host that never answered three times in two minutes,
// unless a template or a flag says otherwise.
func TestAttendedCrawlsDoNotWaitForSilentHosts(t *testing.T) {
	t.Parallel()
	template := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(template, []byte(`{"silent_retries": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		flags   crawlFlags
		own     []func(*harvest.Settings)
		retries int
		delay   time.Duration
	}{
		{"a job", crawlFlags{MinDelay: -1}, nil, 0, 0},
		{"attended", crawlFlags{MinDelay: -1}, []func(*harvest.Settings){attended}, 2, time.Minute},
		{"a template", crawlFlags{MinDelay: -1, Template: template}, []func(*harvest.Settings){attended}, 7, 0},
		{"a flag", crawlFlags{MinDelay: -1, Set: []string{"silent_retries=0", "silent_retry_delay=0s"}}, []func(*harvest.Settings){attended}, 0, 0},
	} {
		s, err := tt.flags.settings(tt.own...)
		if err != nil || s.SilentRetries != tt.retries || s.SilentRetryDelay.Std() != tt.delay {
			t.Errorf("%s: %d tries after %v each, %v; want %d, %v", tt.name, s.SilentRetries, s.SilentRetryDelay, err, tt.retries, tt.delay)
		}
	}
}

// TestWaitsFor names what a crawl waits for, and until when.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour)
	reply := harvest.Reply{Live: &harvest.Live{Waiting: &harvest.Waiting{Queue: "dead.example", Until: until, Status: -2, Why: "no connection could be made (status -2)"}}}
	want := "waits until " + until.Format(time.TimeOnly) + " for dead.example: no connection could be made (status -2)"
	if got := atNow(reply, nil); got != want {
		t.Errorf("%q, want %q", got, want)
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
