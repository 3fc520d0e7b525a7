package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// Place is a place in a list: what follows a cursor, which the page before gave as Next, and how many items at most; 0
// leaves that to the node.
type Place struct {
	After string
	Limit int
}

// page asks for one page of a list.
func page[T any](ctx context.Context, c *Client, query url.Values, at Place, segments ...string) (wire.Page[T], error) {
	if at.After != "" {
		query.Set("after", at.After)
	}
	if query.Del("limit"); at.Limit != 0 {
		query.Set("limit", strconv.Itoa(at.Limit))
	}
	var out wire.Page[T]
	err := c.call(ctx, http.MethodGet, nil, &out, query, segments...)
	return out, err
}

// Page returns one page of the jobs that are asked for, newest first.
func (j Jobs) Page(ctx context.Context, q JobQuery, at Place) (wire.Page[wire.Job], error) {
	return page[wire.Job](ctx, j.c, q.values(), at, "jobs")
}

// StatisticsPage returns one page of what Statistics yields.
func (j Jobs) StatisticsPage(ctx context.Context, id uint64, at Place) (wire.Page[wire.Statistic], error) {
	return page[wire.Statistic](ctx, j.c, url.Values{}, at, "jobs", number(id), "statistics")
}

// Page returns one page of the files that are asked for, by name.
func (f Files) Page(ctx context.Context, q FileQuery, at Place) (wire.Page[wire.File], error) {
	return page[wire.File](ctx, f.c, q.values(), at, "files")
}

// CopiesPage returns one page of what Copies yields.
func (f Files) CopiesPage(ctx context.Context, state, replica string, at Place) (wire.Page[wire.FileCopy], error) {
	return page[wire.FileCopy](ctx, f.c, asked(map[string]string{"state": state, "replica": replica}), at, "copies")
}

// Page returns one page of what Find yields.
func (a Audits) Page(ctx context.Context, state, replica string, at Place) (wire.Page[wire.Audit], error) {
	return page[wire.Audit](ctx, a.c, asked(map[string]string{"state": state, "replica": replica}), at, "audits")
}

// ShardsPage returns one page of what Shards yields.
func (r Replicas) ShardsPage(ctx context.Context, name string, at Place) (wire.Page[wire.Shard], error) {
	return page[wire.Shard](ctx, r.c, url.Values{}, at, "replicas", name, "shards")
}

// SoleFilesPage returns one page of what SoleFiles yields. The first has the number of all.
func (n Nodes) SoleFilesPage(ctx context.Context, name string, at Place) (wire.Page[wire.File], error) {
	return page[wire.File](ctx, n.c, url.Values{}, at, "nodes", name, "sole-files")
}

// Page returns one page of what List yields.
func (l Ledgers) Page(ctx context.Context, replica string, at Place) (wire.Page[wire.Ledger], error) {
	return page[wire.Ledger](ctx, l.c, url.Values{}, at, "replicas", replica, "ledgers")
}

// Page returns one page of the events of the audit trail that are asked for.
func (t Trail) Page(ctx context.Context, q EventQuery, at Place) (wire.Page[wire.Event], error) {
	return page[wire.Event](ctx, t.c, q.values(), at, "trail")
}

// Page returns one page of the harvests that are asked for.
func (h Harvests) Page(ctx context.Context, q HarvestQuery, at Place) (wire.Page[wire.Harvest], error) {
	return page[wire.Harvest](ctx, h.c, q.values(), at, "harvests")
}

// RunsPage returns one page of what Runs yields.
func (h Harvests) RunsPage(ctx context.Context, harvest uint64, at Place) (wire.Page[wire.HarvestRun], error) {
	return page[wire.HarvestRun](ctx, h.c, url.Values{}, at, "harvests", number(harvest), "runs")
}

// Page returns one page of the domains whose names begin with the prefix, by name.
func (d Domains) Page(ctx context.Context, prefix string, at Place) (wire.Page[wire.Domain], error) {
	return page[wire.Domain](ctx, d.c, asked(map[string]string{"prefix": prefix}), at, "domains")
}

// HistoryPage returns one page of what History yields.
func (d Domains) HistoryPage(ctx context.Context, name string, at Place) (wire.Page[wire.DomainHistory], error) {
	return page[wire.DomainHistory](ctx, d.c, url.Values{}, at, "domains", name, "history")
}

// BadPage returns one page of what Bad yields.
func (i Ingests) BadPage(ctx context.Context, id string, at Place) (wire.Page[wire.BadLine], error) {
	return page[wire.BadLine](ctx, i.c, url.Values{}, at, "domain-ingests", id, "bad")
}

// Page returns one page of the channels whose names or comments have the text, by name.
func (h Channels) Page(ctx context.Context, search string, at Place) (wire.Page[wire.Channel], error) {
	return page[wire.Channel](ctx, h.c, asked(map[string]string{"search": search}), at, "channels")
}

// Page returns one page of those whose names or comments have the text, by name.
func (s shelf[T, Request, Change]) Page(ctx context.Context, search string, at Place) (wire.Page[T], error) {
	return page[T](ctx, s.c, asked(map[string]string{"search": search}), at, s.path)
}

// ConfigurationsPage returns one page of what Configurations yields.
func (h Harvests) ConfigurationsPage(ctx context.Context, harvest uint64,
	at Place) (wire.Page[wire.HarvestConfiguration], error) {
	return page[wire.HarvestConfiguration](ctx, h.c, url.Values{}, at, "harvests", number(harvest), "configurations")
}
