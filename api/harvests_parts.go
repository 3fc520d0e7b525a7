package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	rights "holdfast/catalog/people"
	"holdfast/catalog/runs"
	"holdfast/harvest/split"
)

func (s harvests) configurationRoutes(api huma.API) {
	const path = "/api/v1/harvests/{number}/configurations"
	type paged struct {
		ByHarvest
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "harvest-configurations",
		tag: "harvests", summary: "List the configurations of a selective or event harvest, by domain"},
		func(ctx context.Context, in *paged) (wire.Page[wire.HarvestConfiguration], error) {
			return s.configurations(ctx, in.Number, in.After, in.Limit)
		})
	type some struct {
		ByHarvest
		Body wire.HarvestConfigurations
	}
	for _, r := range []struct {
		verb, summary string
		kind          catalog.Kind
	}{
		{"add", "Give a selective or event harvest configurations of domains of its collection; those that it has " +
			"stay", runs.AddConfigurations},
		{"remove", "Take configurations from a selective or event harvest", runs.RemoveConfigurations},
	} {
		handle(s.server, api, route{act: rights.KeepHarvest,
			within: ofHarvest(s.server, func(in *some) uint64 { return in.Number }), method: http.MethodPost,
			path: path + "/" + r.verb, id: "harvest-configurations-" + r.verb, once: true,
			tag: "harvests", summary: r.summary},
			func(ctx context.Context, in *some) (wire.Harvest, error) {
				return s.after(ctx, in.Number, s.configure(ctx, r.kind, in.Number, in.Body.Configurations))
			})
	}
}

func (s harvests) settingsRoutes(api huma.API) {
	const path = "/api/v1/harvest-settings"
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "harvest-settings-show",
		tag: "harvests", summary: "Show how harvests are split into jobs"},
		func(context.Context, *struct{}) (wire.HarvestSettings, error) { return s.shownSettings() })
	type change struct{ Body map[string]any }
	handle(s.server, api, route{act: rights.KeepHarvest, method: http.MethodPatch, path: path,
		id: "harvest-settings-set", once: true, tag: "harvests",
		summary: "Change how harvests are split into jobs; settings that are not given stay"},
		func(ctx context.Context, in *change) (wire.HarvestSettings, error) {
			err := s.again(ctx, false, func() error { return s.setSettings(ctx, in.Body) })
			if err != nil {
				return wire.HarvestSettings{}, err
			}
			return s.shownSettings()
		})
}

// splitSettings returns the settings of splitting as they are stored, and their version.
func (s harvests) splitSettings() (text string, version uint64, err error) {
	err = s.Catalog.View(func(v catalog.View) (err error) {
		text, version, err = catalog.RunsIn(v).SplitSettings()
		return err
	})
	return text, version, err
}

func (s harvests) shownSettings() (out wire.HarvestSettings, err error) {
	text, version, err := s.splitSettings()
	if err != nil {
		return out, err
	}
	settings := split.DefaultSettings()
	if version > 0 {
		if settings, err = split.ParseSettings([]byte(text)); err != nil {
			return out, fmt.Errorf("read the settings of harvests: %w", err)
		}
	}
	return wire.HarvestSettings{Version: version, Settings: settings}, nil
}

// setSettings changes some settings of splitting.
func (s harvests) setSettings(ctx context.Context, changes map[string]any) error {
	stored, version, err := s.splitSettings()
	if err != nil {
		return err
	}
	text, err := mergedSettings(stored, changes)
	if err != nil {
		return err
	}
	if _, err := split.ParseSettings(text); err != nil {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	return s.decide(ctx, runs.SetSettings, runs.SettingsChange{Version: version, Text: string(text)}, nil)
}

// mergedSettings returns the text of settings with some of them changed.
func mergedSettings(stored string, changes map[string]any) ([]byte, error) {
	all := map[string]any{}
	if stored != "" {
		if err := json.Unmarshal([]byte(stored), &all); err != nil {
			return nil, err
		}
	}
	for name, value := range changes {
		all[name] = value
	}
	return json.Marshal(all)
}
