package domain

import (
	"strings"

	"holdfast/harvest"
)

// What a domain has if nothing else was said.
const (
	DefaultConfiguration = "defaultconfig"
	DefaultSeedList      = "defaultseeds"
)

// Settings say what a domain has of which nothing was said. Their tags describe them as those of crawl settings do.
type Settings struct {
	DefaultTemplate string           `json:"default_template" is:"default" help:"The template of a new configuration."`
	DefaultObjects  harvest.Limit    `json:"default_objects,omitzero" help:"The limit on objects of a new configuration; null is no limit, 0 means that nothing may be fetched."`
	DefaultBytes    harvest.Limit    `json:"default_bytes" is:"1000000000" help:"The limit on bytes of a new configuration; null is no limit, 0 means that nothing may be fetched."`
	DefaultSeeds    []string         `json:"default_seeds" is:"http://www.{domain}/" help:"The seeds of a new domain; {domain} stands for its name."`
	AliasExpiry     harvest.Duration `json:"alias_expiry" is:"8760h" min:"1h" max:"876000h" help:"How long a domain stays an alias of another one unless the alias is renewed."`
}

var described = harvest.Describe[Settings]()

// Reference describes every setting.
func Reference() []harvest.Setting { return described.Reference() }

// DefaultSettings are the settings where nothing was said.
func DefaultSettings() Settings { return described.Defaults() }

// ParseSettings reads settings from JSON: a missing setting has its default, and an unknown key is refused with the
// nearest known one. The error wraps harvest.ErrInvalid.
func ParseSettings(data []byte) (Settings, error) {
	s, err := described.Parse(data, "domain settings")
	if err != nil {
		return Settings{}, err
	}
	return s, s.Validate()
}

// Validate reports whether the settings are valid. The error names the setting, its value and what is allowed, and
// wraps harvest.ErrInvalid.
func (s Settings) Validate() error {
	for _, seed := range s.DefaultSeeds {
		rest, web := strings.CutPrefix(seed, "http")
		rest = strings.TrimPrefix(rest, "s")
		if !web || !strings.HasPrefix(rest, "://") || !strings.Contains(rest, "{domain}") {
			return harvest.Refused("default_seeds", seed, "URLs with {domain}, as https://www.{domain}/")
		}
	}
	return described.Check(s)
}

// Seeds are the seeds of a domain of which nothing was said.
func (s Settings) Seeds(name string) []string {
	seeds := make([]string, len(s.DefaultSeeds))
	for i, seed := range s.DefaultSeeds {
		seeds[i] = strings.ReplaceAll(seed, "{domain}", name)
	}
	return seeds
}
