package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/runs"
)

// TestSettingsOfSplitting keeps them as text, against the version that was seen.
func TestSettingsOfSplitting(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, 4)
	says := func(text string, version uint64) {
		t.Helper()
		got, at, err := c.runs().SplitSettings()
		if err != nil || got != text || at != version {
			t.Errorf("%q of version %d, %v; want %q of version %d", got, at, err, text, version)
		}
	}
	says("", 0)
	change := runs.SettingsChange{Text: `{"generator":"fixed"}`}
	c.must(t, runs.SetSettings, change)
	says(change.Text, 1)
	refusedAs(t, c.apply(t, runs.SetSettings, change), catalog.Conflict, "an old version")
	long := runs.SettingsChange{Version: 1, Text: strings.Repeat("x", 128<<10+1)}
	refusedAs(t, c.apply(t, runs.SetSettings, long), catalog.Invalid, "too much text")
	says(change.Text, 1)
}
