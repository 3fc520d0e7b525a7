package config

import (
	"testing"
	"time"
)

func TestHours(t *testing.T) {
	for _, tt := range []struct {
		text string
		in   []int // hours
		out  []int
	}{
		{"", []int{0, 12, 23}, nil},
		{"22-6", []int{22, 23, 0, 5}, []int{6, 12, 21}},
		{"1-3", []int{1, 2}, []int{0, 3, 23}},
		{"20-24", []int{20, 23}, []int{0, 19}},
		{"22-0", []int{22, 23}, []int{0, 21}},
	} {
		var h Hours
		if err := h.UnmarshalText([]byte(tt.text)); err != nil || h.String() != tt.text {
			t.Errorf("%q: %v, written %q", tt.text, err, h)
		}
		for i, hour := range append(tt.in, tt.out...) {
			if at := time.Date(2026, 3, 1, hour, 59, 0, 0, time.UTC); h.Has(at) != (i < len(tt.in)) {
				t.Errorf("%q at %d:59: %v", tt.text, hour, h.Has(at))
			}
		}
	}
	for _, text := range []string{"5", "5-", "-3", "5-5", "0-0", "24-3", "3-25", "-1-4", "2-3x", "2-3 4", "night"} {
		if err := new(Hours).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for hours", text)
		}
	}
}
