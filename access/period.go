package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Period is a span of the calendar, such as two years and six months.
type Period struct{ Years, Months, Days int }

// maxPeriod bounds each part of a period.
const maxPeriod = 10_000

// ParsePeriod reads a period: numbers with y, m, w or d behind them for years, months, weeks and days, largest first,
// such as 2y6m or 90d. The error wraps ErrRule.
func ParsePeriod(text string) (Period, error) {
	var p Period
	rest, units := text, "ymwd"
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > maxPeriod || digits == len(rest) {
			return Period{}, badPeriod(text)
		}
		at := strings.IndexByte(units, rest[digits])
		if at < 0 {
			return Period{}, badPeriod(text)
		}
		switch rest[digits] {
		case 'y':
			p.Years = n
		case 'm':
			p.Months = n
		case 'w':
			p.Days = 7 * n
		case 'd':
			p.Days += n
		}
		rest, units = rest[digits+1:], units[at+1:]
	}
	if p == (Period{}) {
		return p, badPeriod(text)
	}
	return p, nil
}

func badPeriod(text string) error {
	return fmt.Errorf("%w: period %.40q: want years, months, weeks and days, such as 2y6m or 90d", ErrRule, text)
}

// parsePeriodOf reads a rule's period; the zero one for no text.
func parsePeriodOf(what, text string) (Period, error) {
	if text == "" {
		return Period{}, nil
	}
	p, err := ParsePeriod(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", what, err)
	}
	return p, nil
}

// String writes the period as ParsePeriod reads it.
func (p Period) String() string {
	var b strings.Builder
	for _, part := range []struct {
		n    int
		unit byte
	}{{p.Years, 'y'}, {p.Months, 'm'}, {p.Days, 'd'}} {
		if part.n > 0 {
			b.WriteString(strconv.Itoa(part.n))
			b.WriteByte(part.unit)
		}
	}
	return b.String()
}

// before returns the moment that lies the period before another.
func (p Period) before(t time.Time) time.Time { return t.UTC().AddDate(-p.Years, -p.Months, -p.Days) }
