package scope

import "strings"

// aboutDates reports whether a path and query look like those of a calendar.
func aboutDates(rest string) bool {
	for _, word := range [...]string{"calend", "kalend", "event", "month", "year", "date", "agenda", "termin",
		"veranstalt", "schedule", "monat", "arrang"} {
		if containsFold(rest, word) {
			return true
		}
	}
	return false
}

// containsFold looks for a lower-case word, in whatever case it is written.
func containsFold(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0] && strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// dateOf finds the year and month that a URI names: 2026/05, 2026-05, 20260531, or parameters year and month.
func dateOf(p *parts) date {
	s := p.rest
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' {
			i++
			continue
		}
		n := digits(s[i:])
		if n == 8 {
			if d := (date{number(s[i : i+4]), number(s[i+4 : i+6])}); d.plausible() && number(s[i+6:i+8]) >= 1 &&
				number(s[i+6:i+8]) <= 31 {
				return d
			}
		}
		if n == 4 && i+5 < len(s) && strings.IndexByte("/-_.", s[i+4]) >= 0 {
			if m := digits(s[i+5:]); m == 1 || m == 2 {
				if d := (date{number(s[i : i+4]), number(s[i+5 : i+5+m])}); d.plausible() {
					return d
				}
			}
		}
		i += n
	}
	return queryDate(p.query)
}

func (d date) plausible() bool { return d.year >= 1000 && d.month >= 1 && d.month <= 12 }

func queryDate(query string) (d date) {
	for rest := query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(pair, "=")
		n := digits(value)
		if n == 0 || n != len(value) || n > 6 {
			continue
		}
		switch {
		case n == 6 && (containsFold(name, "month") || containsFold(name, "date")):
			d = date{number(value[:4]), number(value[4:])}
		case n == 4 && (containsFold(name, "year") || containsFold(name, "jahr") || containsFold(name, "yr")):
			d.year = number(value)
		case n <= 2 && (containsFold(name, "month") || containsFold(name, "monat") || containsFold(name, "mon")):
			d.month = number(value)
		}
	}
	if !d.plausible() {
		return date{}
	}
	return d
}

// digits counts the digits at the beginning of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// number reads digits, few enough not to overflow.
func number(s string) (n int) {
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}
