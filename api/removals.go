package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// restoreRoutes are about files that are removed and can be restored.
func (s files) restoreRoutes(api huma.API) {
	type restoration struct {
		ByName
		Body wire.FileRestoration
	}
	handle(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/restore",
		id: "file-restore", tag: "files",
		summary: "Restore a removed file; refused when the release of its bytes has begun"},
		func(ctx context.Context, in *restoration) (wire.File, error) {
			of := agreed.Restoration{Name: catalog.FileName(in.Name), Reason: in.Body.Reason}
			if err := of.SHA256.UnmarshalText([]byte(in.Body.SHA256)); err != nil {
				return wire.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "sha256: "+err.Error())
			}
			if err := s.propose(ctx, agreed.RestoreFile, of, nil); err != nil {
				return wire.File{}, err
			}
			return s.shown(in.Name)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/removal-rule",
		id: "removal-rule", tag: "files", summary: "Show for how many days a removed file can be restored"},
		func(context.Context, *struct{}) (wire.RemovalRule, error) { return s.removalRule() })
	type change struct{ Body wire.RemovalRuleRequest }
	handle(s.server, api, route{act: catalog.EraseFile, method: http.MethodPut, path: "/api/v1/removal-rule",
		id: "removal-set-rule", tag: "files",
		adjust:  mayBeStale,
		summary: "Change for how many days files that are removed from now on can be restored"},
		func(ctx context.Context, in *change) (wire.RemovalRule, error) {
			of := agreed.RemovalSetting{Days: in.Body.Days, Version: in.Body.Version, Reason: in.Body.Reason}
			if err := s.propose(ctx, agreed.SetRemovals, of, nil); err != nil {
				return wire.RemovalRule{}, err
			}
			return s.removalRule()
		})
}

func (s files) removalRule() (out wire.RemovalRule, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		r, err := agreed.RemovalsIn(v.Reader).Rule()
		if err != nil {
			return err
		}
		out = wire.RemovalRule{Version: r.Version, By: r.By, At: std(r.At)}
		if out.Days, err = agreed.RemovalDaysIn(v.Reader); err != nil { // 0 below the level
			return err
		}
		if r.By != "" {
			out.ByName, err = catalog.PeopleIn(v).ActorName(r.By)
		}
		return err
	})
	return out, err
}
