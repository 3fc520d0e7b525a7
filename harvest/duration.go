package harvest

import (
	"fmt"
	"time"
)

// Duration is a length of time that JSON and TOML write as text: "3s", "1m30s", "12h".
type Duration time.Duration

// Std is the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the duration as "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "3s", "900ms", "1h30m"; a number without a unit is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%w: duration %q: want a number with a unit, as 300ms, 3s, 15m or 2h", ErrInvalid, text)
	}
	*d = Duration(v)
	return nil
}
