package revisit

import (
	"math"
	"time"
)

// Per is what a budget counts.
type Per uint8

const (
	// Politeness is no budget: as much as the hosts' politeness lets through.
	Politeness Per = iota
	// RequestsPerSecond counts requests.
	RequestsPerSecond
	// BytesPerDay counts what comes in.
	BytesPerDay
)

// Settings are those of the policy adaptive. What stands in Without is for measuring what each part is worth.
type Settings struct {
	Budget    float64 // in the unit of Per; nothing with Politeness
	Per       Per
	Freshness float64       // weight of freshness, 0 to 1; what is left is that of completeness
	NewPage   float64       // weight of a new page that is found a day earlier, in days that a page is up to date
	MinWait   time.Duration // bounds of each wait
	MaxWait   time.Duration
	PerDay    float64 // versions a day of one URI that count in full
	HintShare float64 // share of the requests that hints may cause
	Without   Parts
}

// Parts are the parts of the policy that can be switched off, to measure them.
type Parts struct {
	EarlyTurns bool // turns ahead of time when nothing is due
	Profile    bool // the profile of rate by age
	Links      bool // the value of links that hubs and feeds bring
	Averaging  bool // freshness averaged over the belief, in place of the closed form
	Tickers    bool // the rule for pages that differ at each visit
	Hints      bool // visits because of feeds and sitemaps
}

// DefaultSettings are the defaults, with as many requests as politeness allows.
func DefaultSettings() Settings {
	return Settings{Freshness: 0.5, NewPage: 16, MinWait: time.Minute, MaxWait: 28 * 24 * time.Hour, PerDay: 48,
		HintShare: 0.03}
}

// Check refuses what cannot be.
func (s Settings) Check() error {
	positive := func(v, most float64) bool { return v > 0 && v <= most }
	switch {
	case s.Per > BytesPerDay:
		return refuse("per", uint8(s.Per), "politeness, requests per second or bytes per day")
	case s.Per == Politeness && s.Budget != 0:
		return refuse("budget", s.Budget, "left out where politeness alone bounds the crawl")
	case s.Per != Politeness && !positive(s.Budget, 1e15):
		return refuse("budget", s.Budget, "more than 0, and at most 1e15")
	case !(s.Freshness > 0 && s.Freshness < 1):
		return refuse("freshness", s.Freshness, "more than 0 and less than 1")
	case !positive(s.NewPage, 1e4):
		return refuse("new_page", s.NewPage, "more than 0, and at most 10000")
	case s.MinWait < time.Second:
		return refuse("min_wait", s.MinWait, "at least 1s")
	case s.MaxWait > 3650*24*time.Hour:
		return refuse("max_wait", s.MaxWait, "at most 10 years")
	case s.MinWait > s.MaxWait:
		return refuse("min_wait", s.MinWait, "at most max_wait (%s)", s.MaxWait)
	case !positive(s.PerDay, 86400):
		return refuse("versions_per_day", s.PerDay, "more than 0, and at most 86400")
	case !(s.HintShare >= 0 && s.HintShare <= 1):
		return refuse("hint_share", s.HintShare, "0 to 1")
	}
	return nil
}

// CheckImportance refuses an importance that is no factor of 0.1 to 10.
func CheckImportance(of float64) error {
	if !(of >= 0.1 && of <= 10) {
		return refuse("importance", of, "0.1 to 10")
	}
	return nil
}

// step is the natural logarithm of the factor that lies between neighbouring classes: 1.65.
const step = 0.5

// grade is the class of a factor, in steps.
func grade(of float64) int {
	if !(of > 0) {
		return -1 << 20
	}
	return int(math.Round(math.Min(math.Log(of), 1e6) / step))
}
