package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// Harvests returns what there is to do with harvests.
func (c *Client) Harvests() Harvests { return Harvests{c} }

// Harvests are the definitions of harvests.
type Harvests struct{ c *Client }

// HarvestQuery says which harvests a list has, and in which order. Empty fields are ignored.
type HarvestQuery struct {
	Search     string // in name, audience or comments
	Named      string
	Collection string
	Domain     string // of which it has a configuration
	Kind       string
	State      wire.HarvestState
	Sort       string // name, changed or next
}

// List yields harvests.
func (h Harvests) List(ctx context.Context, q HarvestQuery) iter.Seq2[wire.Harvest, error] {
	return all[wire.Harvest](ctx, h.c, q.values(), "harvests")
}

func (q HarvestQuery) values() url.Values {
	query := listing(q.Search, q.Sort)
	for name, value := range map[string]string{"named": q.Named, "collection": q.Collection, "domain": q.Domain,
		"kind": q.Kind, "state": string(q.State)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// Show shows a harvest.
func (h Harvests) Show(ctx context.Context, harvest uint64) (wire.Harvest, error) {
	return get[wire.Harvest](ctx, h.c, "harvests", number(harvest))
}

// Create makes a harvest, which is not active.
func (h Harvests) Create(ctx context.Context, in wire.HarvestRequest) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, in, "harvests")
}

// Set changes a harvest.
func (h Harvests) Set(ctx context.Context, harvest uint64, in wire.HarvestChange) (wire.Harvest, error) {
	return send[wire.Harvest](ctx, h.c, http.MethodPatch, in, "harvests", number(harvest))
}

// Copy makes a harvest of which the same is said, with the same configurations.
func (h Harvests) Copy(ctx context.Context, harvest uint64, name string) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, wire.HarvestCopying{Name: name}, "harvests", number(harvest), "copy")
}

// Delete deletes a harvest that is not active and has never run.
func (h Harvests) Delete(ctx context.Context, harvest uint64, reason string) error {
	return h.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "harvests", number(harvest),
		"delete")
}

// Activate has a harvest run on its dates.
func (h Harvests) Activate(ctx context.Context, harvest uint64, in wire.HarvestActivation) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, in, "harvests", number(harvest), "activate")
}

// Deactivate has a harvest run no more.
func (h Harvests) Deactivate(ctx context.Context, harvest uint64, reason string) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, wire.ReasonRequest{Reason: reason}, "harvests", number(harvest), "deactivate")
}

// Configurations yields the configurations of a harvest, by domain.
func (h Harvests) Configurations(ctx context.Context, harvest uint64) iter.Seq2[wire.HarvestConfiguration, error] {
	return all[wire.HarvestConfiguration](ctx, h.c, pages(), "harvests", number(harvest), "configurations")
}

// Add gives a harvest configurations, at most 100.
func (h Harvests) Add(ctx context.Context, harvest uint64, some ...wire.HarvestConfiguration) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, wire.HarvestConfigurations{Configurations: some}, "harvests", number(harvest),
		"configurations", "add")
}

// Remove takes configurations from a harvest, at most 100.
func (h Harvests) Remove(ctx context.Context, harvest uint64, some ...wire.HarvestConfiguration) (wire.Harvest, error) {
	return post[wire.Harvest](ctx, h.c, wire.HarvestConfigurations{Configurations: some}, "harvests", number(harvest),
		"configurations", "remove")
}

// Runs yields the runs of a harvest, the latest first.
func (h Harvests) Runs(ctx context.Context, harvest uint64) iter.Seq2[wire.HarvestRun, error] {
	return all[wire.HarvestRun](ctx, h.c, pages(), "harvests", number(harvest), "runs")
}

// Jobs yields the jobs of a run of a harvest, oldest first.
func (h Harvests) Jobs(ctx context.Context, harvest, run uint64) iter.Seq2[wire.Job, error] {
	return all[wire.Job](ctx, h.c, pages(), "harvests", number(harvest), "runs", number(run), "jobs")
}

// Dates lists the next dates of a harvest; of one that is not active, as if it were activated now.
func (h Harvests) Dates(ctx context.Context, harvest uint64, n int) ([]wire.Date, error) {
	return list[wire.Date](ctx, h.c, url.Values{"limit": {strconv.Itoa(n)}}, "harvests", number(harvest), "dates")
}

// Preview returns which jobs a harvest would make if a run began now.
func (h Harvests) Preview(ctx context.Context, harvest uint64) (wire.HarvestPreview, error) {
	return get[wire.HarvestPreview](ctx, h.c, "harvests", number(harvest), "preview")
}

// Settings returns how harvests are split into jobs.
func (h Harvests) Settings(ctx context.Context) (wire.HarvestSettings, error) {
	return get[wire.HarvestSettings](ctx, h.c, "harvest-settings")
}

// SetSettings changes some of the settings of splitting.
func (h Harvests) SetSettings(ctx context.Context, changes map[string]any) (wire.HarvestSettings, error) {
	return send[wire.HarvestSettings](ctx, h.c, http.MethodPatch, changes, "harvest-settings")
}

// pages is the query of a list that is read page by page.
func pages() url.Values { return url.Values{"limit": {strconv.Itoa(wire.MaxPage)}} }

// SeedsOptions are for the configurations that get seeds in bulk. An empty field is set as the settings of domains say;
// limits are numbers, or "none".
type SeedsOptions struct{ Template, Objects, Bytes string }

// AddSeeds gives an event harvest seeds, one URL on a line.
func (h Harvests) AddSeeds(ctx context.Context, harvest uint64, o SeedsOptions,
	text io.Reader) (wire.HarvestSeeds, error) {
	query := url.Values{}
	for name, value := range map[string]string{"template": o.Template, "objects": o.Objects, "bytes": o.Bytes} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return sendText[wire.HarvestSeeds](ctx, h.c, http.MethodPost, text, query, "harvests", number(harvest), "seeds")
}
