package cli

import (
	"strings"
	"testing"
	"time"
)

// A bar shows the rate and the time left since the command began, not since the first byte of an earlier one.
func TestABarShowsRateAndTimeLeft(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pace{unit: func(n float64) string { return size(int64(n)) + "/s" }, began: began, base: 1 << 30, on: "one.warc.gz"}
	for _, tt := range []struct {
		name           string
		current, total int64
		after          time.Duration
		want           string
	}{
		{"nothing moved yet", 1 << 30, 2 << 30, 10 * time.Second, "  one.warc.gz"},
		{"half of the rest", 1<<30 + 1<<29, 2 << 30, 16 * time.Second, "  32.0 MiB/s  16s left  one.warc.gz"},
		{"done", 2 << 30, 2 << 30, 32 * time.Second, "  32.0 MiB/s  one.warc.gz"},
	} {
		if got := p.text(tt.current, tt.total, began.Add(tt.after)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestALineOfProgressStaysShort(t *testing.T) {
	t.Parallel()
	if got := clip("https://example.org/"+strings.Repeat("é", 100), 60); len(got) > 63 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}
