package api

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest"
)

func (s definitions) trapRoutes(api huma.API, all shelf[wire.TrapList]) {
	type create struct{ Body wire.TrapListRequest }
	r := all.route(catalog.Define, http.MethodPost, "", "create", "Create a list of crawler traps")
	r.status, r.once = http.StatusCreated, true
	handle(s.server, api, r, func(ctx context.Context, in *create) (wire.TrapList, error) {
		text, err := s.trapText(in.Body.Traps)
		if err != nil {
			return wire.TrapList{}, err
		}
		return all.made(ctx, "create", in.Body.Name, defined.Creation{Name: in.Body.Name, Text: text,
			Items: len(in.Body.Traps), Off: in.Body.Inactive, Comment: in.Body.Comment})
	})
	type change struct {
		ByName
		Body wire.TrapListChange
	}
	handle(s.server, api, all.route(catalog.Define, http.MethodPatch, "/{name}", "set",
		"Change a list of crawler traps, or switch it on or off"),
		func(ctx context.Context, in *change) (wire.TrapList, error) {
			asked := defined.Change{Name: in.Name, After: in.Body.After, Comment: in.Body.Comment}
			if in.Body.Active != nil {
				asked.Off = new(!*in.Body.Active)
			}
			if in.Body.Traps != nil {
				text, err := s.trapText(in.Body.Traps)
				if err != nil {
					return wire.TrapList{}, err
				}
				asked.Text, asked.Items = &text, len(in.Body.Traps)
			}
			return all.made(ctx, "set", in.Name, asked)
		})
}

// trapText checks a list of traps and returns what the catalog keeps: a line each.
func (s definitions) trapText(traps []string) (string, error) {
	if len(traps) == 0 {
		return "", refused("traps: none: want at least one")
	}
	for i, trap := range traps {
		if trap == "" || strings.ContainsAny(trap, "\r\n") {
			return "", refused("traps[%d]: %.200q: want a regular expression in one line", i, trap)
		}
		if _, err := regexp.Compile(trap); err != nil {
			return "", refused("traps[%d]: %.200q: want a regular expression: %v", i, trap, err)
		}
	}
	text := strings.Join(traps, "\n")
	if err := checkTextSize("traps", text); err != nil {
		return "", err
	}
	spec := harvest.Job{Name: "traps", Seeds: []string{"http://127.0.0.1/"}, Settings: harvest.DefaultSettings()}
	spec.Settings.Traps = traps
	return text, invalidAs422(s.crawls.Check(spec))
}

func (s definitions) trapsOf(v catalog.View, n *named) (wire.TrapList, error) {
	out := wire.TrapList{Active: !n.Off}
	var err error
	if out.Defined, err = definedOf(v, n); err == nil && n.text != nil {
		out.Traps = strings.Split(*n.text, "\n")
	}
	return out, err
}
