package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	rights "holdfast/catalog/people"
	"holdfast/harvest/domain"
)

// ByField is the input of an act on an extended field.
type ByField struct {
	Of   string `path:"of" enum:"domain,harvest"`
	Name string `path:"name" minLength:"1" maxLength:"64"`
}

func (s domains) fieldRoutes(api huma.API) {
	type of struct {
		Of string `query:"of" enum:"domain,harvest" default:"domain"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/fields", id: "field-list",
		tag: "domains", summary: "List the extended fields of domains or of harvests"},
		func(_ context.Context, in *of) (wire.Page[wire.Field], error) { return whole(s.fields(in.Of)) })
	type set struct{ Body wire.Field }
	handle(s.server, api, route{act: rights.KeepDomain, method: http.MethodPut, path: "/api/v1/fields",
		id: "field-set", once: true, tag: "domains",
		summary: "Define an extended field, or change whether it is mandatory and its comments"},
		func(ctx context.Context, in *set) (wire.Field, error) {
			f := in.Body
			return f, s.decide(ctx, kept.SetField, kept.Field{Of: kept.FieldOf(f.Of), Name: f.Name,
				Type: kept.FieldType(f.Type), Mandatory: f.Mandatory, Comments: f.Comments}, nil)
		})
	type removal struct {
		ByField
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: rights.KeepDomain, method: http.MethodPost,
		path: "/api/v1/fields/{of}/{name}/remove", id: "field-remove", once: true, tag: "domains",
		summary: "Remove an extended field that has no values", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			return nil, s.decide(ctx, kept.RemoveField, kept.FieldRef{Of: kept.FieldOf(in.Of), Name: in.Name,
				Reason: in.Body.Reason}, nil)
		})
}

func (s domains) fields(of string) (out []wire.Field, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.DomainsIn(v).Fields(kept.FieldOf(of))
		for _, f := range all {
			out = append(out, wire.Field{Of: string(f.Of), Name: f.Name, Type: string(f.Type), Mandatory: f.Mandatory,
				Comments: f.Comments})
		}
		return err
	})
	return out, err
}

func (s domains) settingsRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domain-settings",
		id: "domain-settings-show", tag: "domains", summary: "Show the settings of domains"},
		func(context.Context, *struct{}) (wire.DomainSettings, error) { return s.shownSettings() })
	type change struct{ Body map[string]any }
	handle(s.server, api, route{act: rights.KeepDomain, method: http.MethodPatch, path: "/api/v1/domain-settings",
		id: "domain-settings-set", once: true, tag: "domains",
		summary: "Change settings of domains; those that are not given stay"},
		func(ctx context.Context, in *change) (wire.DomainSettings, error) {
			err := s.again(ctx, false, func() error { return s.setSettings(ctx, in.Body) })
			if err != nil {
				return wire.DomainSettings{}, err
			}
			return s.shownSettings()
		})
}

func (s domains) shownSettings() (out wire.DomainSettings, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		stored, err := catalog.DomainsIn(v).Settings()
		if err != nil {
			return err
		}
		out.Version = stored.Version
		out.Settings, err = readDomainSettings(stored)
		return err
	})
	return out, err
}

// setSettings changes some settings of domains. A caller who may not let crawls reach the nodes' own network cannot
// name a default template that does not exist yet: whoever makes it later could let it reach that network, and would
// not know that everybody's domains use it.
func (s domains) setSettings(ctx context.Context, changes map[string]any) error {
	var stored kept.Settings
	if err := s.seesReach(ctx, callerOf(ctx).Rights); err != nil {
		return err
	}
	err := s.Catalog.View(func(v catalog.View) (err error) {
		stored, err = catalog.DomainsIn(v).Settings()
		return err
	})
	if err != nil {
		return err
	}
	text, err := mergedSettings(stored.Text, changes)
	if err != nil {
		return err
	}
	settings, err := domain.ParseSettings(text)
	if err != nil {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	before, err := readDomainSettings(stored)
	rights := callerOf(ctx).Rights
	if err == nil && settings.DefaultTemplate != before.DefaultTemplate &&
		catalog.May(rights, catalog.ReachInside, catalog.Where{}) != nil {
		err = s.hasTemplate(rights, &kept.Configuration{Template: settings.DefaultTemplate}, before)
	}
	if err != nil {
		return err
	}
	return s.decide(ctx, kept.SetSettings, kept.SettingsChange{Version: stored.Version, Text: string(text)}, nil)
}
