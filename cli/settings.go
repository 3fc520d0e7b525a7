package cli

import (
	"cmp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/crawler/scope"
	"holdfast/harvest"
)

type settingsCmd struct {
	List  settingsListCmd  `cmd:"" default:"1" help:"List the settings of a crawl: default, unit, level (for the whole job, or by URI in a sheet), whether it can be changed while the crawl runs, and meaning."`
	Rules settingsRulesCmd `cmd:"" help:"List the decide rules that the setting \"rules\" can contain."`
}

type settingsListCmd struct{}

func (settingsListCmd) Help() string {
	return "With --json, prints everything about each setting, enough to build a form from."
}

func (settingsListCmd) Run(a *app) error {
	return list(a, harvest.Reference(), table.Row{"Setting", "Default", "Unit", "Level", "Live", "Meaning"},
		func(s harvest.Setting) table.Row {
			value := string(s.Default)
			if value == "null" {
				value = "none"
			}
			if len(value) > 40 {
				value = value[:37] + "…"
			}
			live := "no"
			if s.Live {
				live = "yes"
			}
			help := s.Help
			if len(s.Allowed) > 0 {
				help += " Allowed: " + strings.Join(s.Allowed, ", ") + "."
			}
			return table.Row{s.Name, value, cmp.Or(s.Unit, s.Type), string(s.Level), live, help}
		})
}

type settingsRulesCmd struct{}

func (settingsRulesCmd) Run(a *app) error {
	return list(a, scope.RuleHelps(), table.Row{"Rule", "Opposite", "Decision", "Takes", "Speaks where"},
		func(r scope.RuleHelp) table.Row {
			return table.Row{r.Name, r.Opposite, r.Decision, strings.ReplaceAll(r.Takes, "`", ""), r.Help}
		})
}
