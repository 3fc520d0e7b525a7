package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/api/wire"
)

// Channels returns what there is to do with channels.
func (c *Client) Channels() Channels { return Channels{c} }

// Templates returns what there is to do with templates.
func (c *Client) Templates() Templates {
	return Templates{shelf[wire.Template, wire.TemplateRequest, wire.TemplateChange]{c, "templates"}}
}

// Schedules returns what there is to do with schedules.
func (c *Client) Schedules() Schedules {
	return Schedules{shelf[wire.Schedule, wire.ScheduleRequest, wire.ScheduleChange]{c, "schedules"}}
}

// TrapLists returns what there is to do with lists of crawler traps.
func (c *Client) TrapLists() TrapLists {
	return TrapLists{shelf[wire.TrapList, wire.TrapListRequest, wire.TrapListChange]{c, "trap-lists"}}
}

// Channels say which nodes take which jobs.
type Channels struct{ c *Client }

// List yields the channels whose names or comments have the text, in the order that sort says: name or changed.
func (h Channels) List(ctx context.Context, search, sort string) iter.Seq2[wire.Channel, error] {
	return all[wire.Channel](ctx, h.c, listing(search, sort), "channels")
}

// Show shows a channel.
func (h Channels) Show(ctx context.Context, name string) (wire.Channel, error) {
	return get[wire.Channel](ctx, h.c, "channels", name)
}

// Create makes a channel.
func (h Channels) Create(ctx context.Context, in wire.ChannelRequest) (wire.Channel, error) {
	return post[wire.Channel](ctx, h.c, in, "channels")
}

// Set changes a channel.
func (h Channels) Set(ctx context.Context, name string, in wire.ChannelChange) (wire.Channel, error) {
	return send[wire.Channel](ctx, h.c, http.MethodPatch, in, "channels", name)
}

// Delete deletes a channel that is not used.
func (h Channels) Delete(ctx context.Context, name string) error {
	return h.c.call(ctx, http.MethodDelete, nil, nil, nil, "channels", name)
}

// listing is the query of a list.
func listing(search, sort string) url.Values {
	query := url.Values{"limit": {strconv.Itoa(wire.MaxPage)}}
	if search != "" {
		query.Set("search", search)
	}
	if sort != "" {
		query.Set("sort", sort)
	}
	return query
}

// shelf has what there is to do with all that archivists define by texts.
type shelf[T, Request, Change any] struct {
	c    *Client
	path string
}

// List yields those whose names or comments have the text, in the order that sort says: name or changed.
func (s shelf[T, Request, Change]) List(ctx context.Context, search, sort string) iter.Seq2[T, error] {
	return all[T](ctx, s.c, listing(search, sort), s.path)
}

// Show shows one as it was in a version, 0 being the latest.
func (s shelf[T, Request, Change]) Show(ctx context.Context, name string, version int) (out T, err error) {
	err = s.c.call(ctx, http.MethodGet, nil, &out, ofVersion(version), s.path, name)
	return out, err
}

// Versions lists the versions.
func (s shelf[T, Request, Change]) Versions(ctx context.Context, name string) ([]wire.Version, error) {
	return list[wire.Version](ctx, s.c, nil, s.path, name, "versions")
}

// Create makes one.
func (s shelf[T, Request, Change]) Create(ctx context.Context, in Request) (T, error) {
	return post[T](ctx, s.c, in, s.path)
}

// Set changes one; what it says becomes its next version.
func (s shelf[T, Request, Change]) Set(ctx context.Context, name string, in Change) (T, error) {
	return send[T](ctx, s.c, http.MethodPatch, in, s.path, name)
}

// Copy makes one that says what another says.
func (s shelf[T, Request, Change]) Copy(ctx context.Context, name string, in wire.Copying) (T, error) {
	return post[T](ctx, s.c, in, s.path, name, "copy")
}

// Delete deletes one that is not used.
func (s shelf[T, Request, Change]) Delete(ctx context.Context, name string) error {
	return s.c.call(ctx, http.MethodDelete, nil, nil, nil, s.path, name)
}

// ofVersion is the query of a version.
func ofVersion(version int) url.Values {
	if version == 0 {
		return nil
	}
	return url.Values{"version": {strconv.Itoa(version)}}
}

// Templates are settings of crawls that harvests refer to.
type Templates struct {
	shelf[wire.Template, wire.TemplateRequest, wire.TemplateChange]
}

// Schedules say when harvests repeat.
type Schedules struct {
	shelf[wire.Schedule, wire.ScheduleRequest, wire.ScheduleChange]
}

// Dates lists the next dates of a harvest that is activated at a time, or now when it is zero.
func (s Schedules) Dates(ctx context.Context, name string, from time.Time, n int) ([]wire.Date, error) {
	query := url.Values{"limit": {strconv.Itoa(n)}}
	if !from.IsZero() {
		query.Set("from", from.UTC().Format(time.RFC3339))
	}
	return list[wire.Date](ctx, s.c, query, "schedules", name, "dates")
}

// TrapLists are regular expressions of URIs that no crawl fetches.
type TrapLists struct {
	shelf[wire.TrapList, wire.TrapListRequest, wire.TrapListChange]
}
