// Package split makes jobs of the configurations of a harvest: what is expected of each, which are left out, in which
// order they come, and where a job ends and the next one begins.
//
// It is pure, and holds at most as many configurations as a job may have.
package split

import "holdfast/harvest"

// The generators.
const (
	Default    = "default" // jobs of configurations of similar size, up to a total
	FixedCount = "fixed"   // jobs of a number of configurations
)

// Settings say how harvests are split into jobs. Their tags describe them as those of crawl settings do.
type Settings struct {
	Generator                     string `json:"generator" is:"default" allowed:"default fixed" help:"How jobs are made: of configurations of similar expected size up to a total, or of a fixed number of configurations."`
	DomainConfigSubsetSize        int64  `json:"domain_config_subset_size" unit:"configurations" is:"10000" min:"1" max:"100000" help:"The most configurations in a job of any kind, and the most that a split has in memory."`
	FixedDomainCountSnapshot      int64  `json:"fixed_domain_count_snapshot" unit:"configurations" is:"10000" max:"100000" help:"The most configurations in a job of a snapshot harvest; 0 is no limit."`
	FixedDomainCountFocused       int64  `json:"fixed_domain_count_focused" unit:"configurations" max:"100000" help:"With the generator fixed: the most configurations in a job of a selective harvest; 0 is no limit."`
	MaxDomainSize                 int64  `json:"max_domain_size" unit:"objects" is:"5000" min:"1" max:"1000000000000" help:"How many objects a domain without limits is taken to have at most."`
	MaxTotalSize                  int64  `json:"max_total_size" unit:"objects" is:"8000000" min:"1" max:"1000000000000" help:"With the generator default: the most objects that are expected of a job, unless it has only one configuration."`
	MaxRelativeSizeDifference     int64  `json:"max_relative_size_difference" is:"100" min:"1" max:"1000000000" help:"With the generator default: how many times as many objects may be expected of a job's largest configuration as of its smallest."`
	MinAbsoluteSizeDifference     int64  `json:"min_absolute_size_difference" unit:"objects" is:"2000" max:"1000000000000" help:"With the generator default: max_relative_size_difference does not apply to configurations whose expected objects differ by less than this."`
	ErrorFactorPrevResult         int64  `json:"error_factor_prev_result" is:"10" min:"1" max:"1000000" help:"If the best earlier harvest of a configuration was completed: the part of the distance to the limit by which more is expected; 10 is a tenth."`
	ErrorFactorBestGuess          int64  `json:"error_factor_best_guess" is:"2" min:"1" max:"1000000" help:"If no earlier harvest of a configuration was completed: the part of the distance to the limit by which more is expected; 2 is half."`
	MaxWaitingPerChannel          int64  `json:"max_waiting_per_channel" unit:"jobs" is:"100" min:"1" max:"100000" help:"How many jobs of harvests wait for a node in one channel at most; further ones are submitted when these are taken."`
	ExpectedAverageBytesPerObject int64  `json:"expected_average_bytes_per_object" unit:"bytes" is:"38000" min:"1" max:"1000000000000" help:"How large an object is assumed to be, at the least, and where too little is known."`
	LeaveOutZeroLimits            bool   `json:"leave_out_zero_limits" help:"Leave out configurations whose limit, or whose harvest's limit, is 0. Otherwise they are in a job, of which nothing of theirs is fetched."`
}

var described = harvest.Describe[Settings]()

// Reference describes every setting.
func Reference() []harvest.Setting { return described.Reference() }

// DefaultSettings are the settings where nothing was said.
func DefaultSettings() Settings { return described.Defaults() }

// ParseSettings reads settings from JSON: a missing setting has its default, and an unknown key is refused with the
// nearest known one. The error wraps harvest.ErrInvalid.
func ParseSettings(data []byte) (Settings, error) {
	s, err := described.Parse(data, "split settings")
	if err != nil {
		return Settings{}, err
	}
	return s, s.Validate()
}

// Validate reports whether the settings are valid. The error names the setting, its value and what is allowed, and
// wraps harvest.ErrInvalid.
func (s Settings) Validate() error { return described.Check(s) }

// mostIn is how many configurations a job may have.
func (s Settings) mostIn(snapshot bool) int {
	most, fixed := s.DomainConfigSubsetSize, int64(0)
	switch {
	case snapshot:
		fixed = s.FixedDomainCountSnapshot
	case s.Generator == FixedCount:
		fixed = s.FixedDomainCountFocused
	}
	if fixed > 0 {
		most = min(most, fixed)
	}
	return int(most)
}
