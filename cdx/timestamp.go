package cdx

import (
	"errors"
	"fmt"
	"time"
)

// ErrTimestamp reports text that is no timestamp.
var ErrTimestamp = errors.New("not a timestamp")

const timestampLayout = "20060102150405"

// Timestamp writes a time as 14 digits, in UTC.
func Timestamp(t time.Time) string { return t.UTC().Format(timestampLayout) }

// Pad says which moment of the span that a short timestamp names is meant.
type Pad int

const (
	// Low is the first second: 2026 is 20260101000000.
	Low Pad = iota
	// High is the last second: 202602 is 20260228235959.
	High
)

// ParseTimestamp reads 1 to 14 digits, year first; with 17, three of milliseconds.
// A shorter one names a span, of which pad chooses the first or last second.
// The error wraps ErrTimestamp.
func ParseTimestamp(s string, pad Pad) (time.Time, error) {
	full, err := PadTimestamp(s, pad)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(timestampLayout, full)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %.30q", ErrTimestamp, s)
	}
	if len(s) == 17 {
		ms := time.Duration(s[14]-'0')*100 + time.Duration(s[15]-'0')*10 + time.Duration(s[16]-'0')
		t = t.Add(ms * time.Millisecond)
	}
	return t, nil
}

// PadTimestamp completes 1 to 14 digits to the 14 of an existing second.
// An odd last digit narrows the span as far as it can: 20261 is October to December.
// Of 17 digits the first 14 are returned. The error wraps ErrTimestamp.
func PadTimestamp(s string, pad Pad) (string, error) {
	if spanOf(s, isDigit) != len(s) || s == "" || len(s) > 14 && len(s) != 17 {
		return "", fmt.Errorf("%w: %.30q", ErrTimestamp, s)
	}
	if len(s) >= 14 {
		return s[:14], nil
	}
	low, high := "00000101000000", "99991231235959"
	fill := low
	if pad == High {
		fill = high
	}
	full := []byte(s + fill[len(s):])
	if n := len(s); n%2 == 1 && n > 4 {
		fixHalf(full, n, pad)
	}
	if pad == High && len(s) < 8 {
		capDay(full, len(s))
	}
	return string(full), nil
}

// fixHalf corrects the second digit of a field of which only the first was given.
func fixHalf(full []byte, n int, pad Pad) {
	first := full[n-1]
	full[n] = '9'
	if pad == Low {
		full[n] = '0'
	}
	switch {
	case n <= 7 && pad == Low && first == '0':
		full[n] = '1' // month or day 00
	case n == 5 && pad == High && first == '1':
		full[n] = '2' // month 12
	case n == 9 && pad == High && first == '2':
		full[n] = '3' // hour 23
	}
}

// capDay lowers the day to the month's last; only the first given digits stay.
func capDay(full []byte, given int) {
	year := int(full[0]-'0')*1000 + int(full[1]-'0')*100 + int(full[2]-'0')*10 + int(full[3]-'0')
	month := int(full[4]-'0')*10 + int(full[5]-'0')
	if month < 1 || month > 12 {
		return
	}
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if given == 7 && int(full[6]-'0') < last/10 {
		return
	}
	full[6], full[7] = byte('0'+last/10), byte('0'+last%10)
}
