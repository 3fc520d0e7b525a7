package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
)

// auditCursor is the pattern of the cursors of a list of audits.
const auditCursor = `^(|a-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

// LongPaging is the input of a list that was once answered whole: its pages are as long as possible by default.
type LongPaging struct {
	After string `query:"after" doc:"cursor: the value of next from the previous page"`
	Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"1000"`
}

// AuditListing is the input of a list of audits.
type AuditListing struct {
	LongPaging
	State   string `query:"state" enum:"running,paused,stopped,incomplete,done" doc:"list only audits in this state"`
	Replica string `query:"replica" maxLength:"64" doc:"list only audits that read copies of this replica"`
}

// pageOf returns a page of the audits that are asked for.
func (in *AuditListing) pageOf(all []wire.Audit) (wire.Page[wire.Audit], error) {
	found := slices.DeleteFunc(slices.Clone(all), func(a wire.Audit) bool {
		return in.State != "" && a.State != in.State ||
			in.Replica != "" && !slices.Contains(a.Replicas, in.Replica)
	})
	return pageOf(&in.LongPaging, "a", found, func(a *wire.Audit) string {
		return agree.Hex(^uint64(a.Began.UnixMilli())) + a.ID
	})
}

// pageOf returns a page of a list that is there as a whole, in the order of what position says.
func pageOf[T any](in *LongPaging, kind string, all []T, position func(*T) string) (wire.Page[T], error) {
	total := int64(len(all))
	page := wire.Page[T]{Items: []T{}, Total: &total}
	after, err := openCursor(in.After, kind)
	if err != nil {
		return page, err
	}
	slices.SortStableFunc(all, func(x, y T) int { return strings.Compare(position(&x), position(&y)) })
	for i := range all {
		at := position(&all[i])
		if in.After != "" && at <= after {
			continue
		}
		if len(page.Items) == in.Limit {
			page.Next = makeCursor(kind, position(&page.Items[in.Limit-1]))
			break
		}
		page.Items = append(page.Items, all[i])
	}
	return page, nil
}

func (s audits) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits", id: "audit-list",
		tag:     "audits",
		summary: "List the audits, newest first: all, or by state and replica; and name the nodes that did not answer"},
		func(ctx context.Context, in *AuditListing) (wire.Page[wire.Audit], error) {
			all, silent, err := s.audits.List(ctx)
			if err != nil {
				return wire.Page[wire.Audit]{}, err
			}
			page, err := in.pageOf(all)
			page.Silent = silent
			return page, err
		})
	type start struct{ Body wire.AuditRequest }
	replicasAsked := func(_ context.Context, in *start) (out []catalog.ReplicaName, err error) {
		if name := in.Body.Replica; name != "" {
			_, err = s.replica(name)
			out = append(out, catalog.ReplicaName(name))
		}
		return out, err
	}
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, replicasAsked),
		method: http.MethodPost, path: "/api/v1/audits", id: "audit-run", tag: "audits",
		summary: "Check all copies, or those of a replica, a shard, a prefix or some files",
		status:  http.StatusCreated},
		func(ctx context.Context, in *start) (wire.Audit, error) {
			order := AuditOrder{Replica: catalog.ReplicaName(in.Body.Replica), Kind: in.Body.Kind,
				Prefix: catalog.FileName(in.Body.Prefix), Files: kindOf[catalog.FileName](in.Body.Files),
				Reason: in.Body.Reason}
			if in.Body.Shard != "" {
				shard, err := catalog.ParseShard(in.Body.Shard)
				if err != nil {
					return wire.Audit{}, fmt.Errorf("%w: %w", ErrInvalid, err)
				}
				order.Shard = &shard
			}
			return s.audits.Start(ctx, order, callerOf(ctx).Actor)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits/{name}",
		id: "audit-show", tag: "audits",
		summary: "Show an audit and the progress of each node"},
		func(ctx context.Context, in *ByName) (wire.Audit, error) {
			return s.audits.Show(ctx, in.Name)
		})
	type wish struct {
		ByName
		Body wire.WishBody
	}
	replicasOfAudit := func(ctx context.Context, in *wish) ([]catalog.ReplicaName, error) {
		a, err := s.audits.Show(ctx, in.Name)
		return kindOf[catalog.ReplicaName](a.Replicas), err
	}
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, replicasOfAudit),
		method: http.MethodPost, path: "/api/v1/audits/{name}/wish", id: "audit-wish", tag: "audits",
		summary: "Pause, resume or stop an audit"},
		func(ctx context.Context, in *wish) (wire.Audit, error) {
			return s.audits.Wish(ctx, in.Name, wishOf(in.Body.Wish), in.Body.Reason, callerOf(ctx).Actor)
		})
}
