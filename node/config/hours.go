package config

import (
	"fmt"
	"time"
)

// Hours are hours of each day, by the machine's clock: from one full hour up to another, past midnight if the second is
// not later. The zero value is all hours.
type Hours struct{ From, To int }

// UnmarshalText reads hours such as "22-6"; "" is all.
func (h *Hours) UnmarshalText(text []byte) error {
	var read Hours
	if len(text) > 0 {
		var rest string
		n, _ := fmt.Sscanf(string(text)+" .", "%d-%d %s", &read.From, &read.To, &rest)
		if n != 3 || rest != "." || min(read.From, read.To) < 0 || read.From > 23 || read.To > 24 ||
			read.From == read.To {
			return fmt.Errorf("%q are not hours of the day such as \"22-6\"", text)
		}
	}
	*h = read
	return nil
}

// MarshalText writes the hours as String does.
func (h Hours) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// String returns the hours as UnmarshalText reads them.
func (h Hours) String() string {
	if h == (Hours{}) {
		return ""
	}
	return fmt.Sprintf("%d-%d", h.From, h.To)
}

// Has reports whether the time is in the hours.
func (h Hours) Has(t time.Time) bool {
	hour := t.Hour()
	switch {
	case h == (Hours{}):
		return true
	case h.From < h.To:
		return h.From <= hour && hour < h.To
	}
	return h.From <= hour || hour < h.To
}
