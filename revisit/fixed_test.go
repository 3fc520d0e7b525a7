package revisit

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFixed(t *testing.T) {
	f, err := NewFixed([]Interval{{"text/html", time.Hour}, {"image/*", 48 * time.Hour}, {"*", 24 * time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	for contentType, want := range map[string]time.Duration{"text/html": time.Hour, "TEXT/HTML; charset=utf-8": time.Hour, "image/png": 48 * time.Hour,
		"text/plain": 24 * time.Hour, "": 24 * time.Hour, "image": 24 * time.Hour, "imagery/png": 24 * time.Hour} {
		if got := f.Wait(contentType); got != want.Milliseconds() {
			t.Errorf("%q waits %d ms, want %s", contentType, got, want)
		}
	}
}

func TestBadIntervals(t *testing.T) {
	for _, tt := range []struct {
		name, setting, place string
		intervals            []Interval
	}{
		{"none", "intervals", "", nil},
		{"no interval for the rest", "type", "interval 1", []Interval{{"text/html", time.Hour}}},
		{"what follows is never reached", "type", "interval 1", []Interval{{"*", time.Hour}, {"*", time.Hour}}},
		{"no media type", "type", "interval 1", []Interval{{"html", time.Hour}, {"*", time.Hour}}},
		{"parameters", "type", "interval 1", []Interval{{"text/html; charset=utf-8", time.Hour}, {"*", time.Hour}}},
		{"half a star", "type", "interval 1", []Interval{{"text/ht*", time.Hour}, {"*", time.Hour}}},
		{"no wait", "wait", "interval 1", []Interval{{"*", 0}}},
		{"too long", "wait", "interval 2", []Interval{{"text/html", time.Hour}, {"*", 4000 * 24 * time.Hour}}},
	} {
		_, err := NewFixed(tt.intervals)
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Setting != tt.setting || !strings.Contains(err.Error(), tt.place) {
			t.Errorf("%s: refused with %v, want %s of %q", tt.name, err, tt.setting, tt.place)
		}
	}
}
