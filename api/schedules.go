package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest/schedule"
)

func (s definitions) scheduleRoutes(api huma.API, all shelf[wire.Schedule]) {
	type create struct{ Body wire.ScheduleRequest }
	r := all.route(catalog.Define, http.MethodPost, "", "create", "Create a schedule")
	r.status, r.once = http.StatusCreated, true
	handle(s.server, api, r, func(ctx context.Context, in *create) (wire.Schedule, error) {
		text, err := s.scheduleText(in.Body.Schedule)
		if err != nil {
			return wire.Schedule{}, err
		}
		return all.made(ctx, "create", in.Body.Name,
			defined.Creation{Name: in.Body.Name, Text: text, Comment: in.Body.Comment})
	})
	type change struct {
		ByName
		Body wire.ScheduleChange
	}
	handle(s.server, api, all.route(catalog.Define, http.MethodPatch, "/{name}", "set",
		"Change a schedule; those that come with the system stay as they are"),
		func(ctx context.Context, in *change) (wire.Schedule, error) {
			asked := defined.Change{Name: in.Name, After: in.Body.After, Comment: in.Body.Comment}
			if given(in.Body.Schedule) {
				text, err := s.scheduleText(in.Body.Schedule)
				if err != nil {
					return wire.Schedule{}, err
				}
				asked.Text = &text
			}
			return all.made(ctx, "set", in.Name, asked)
		})
	handle(s.server, api, all.route(catalog.Look, http.MethodGet, "/{name}/dates", "dates",
		"List the next dates of a harvest that has the schedule and is activated at a time"),
		func(_ context.Context, in *preview) (wire.Page[wire.Date], error) { return whole(s.dates(all, in)) })
}

// preview is the input of the list of a schedule's dates.
type preview struct {
	ByName
	Version int       `query:"version" minimum:"0" maximum:"1000000" doc:"of which version; default: the latest"`
	From    time.Time `query:"from" doc:"when the harvest is activated; default: now"`
	Limit   int       `query:"limit" default:"10" minimum:"1" maximum:"1000" doc:"how many dates are listed"`
}

// scheduleText checks a schedule and returns what the catalog keeps. One without a date from now on is refused.
func (s definitions) scheduleText(raw json.RawMessage) (string, error) {
	read, err := schedule.Parse(raw)
	if err != nil {
		return "", invalidAs422(err)
	}
	plan, err := schedule.Compile(read, time.LoadLocation)
	if err == nil {
		_, err = plan.First(s.now())
	}
	if err != nil {
		return "", invalidAs422(err)
	}
	text, err := json.Marshal(read)
	if err != nil {
		return "", fmt.Errorf("encode schedule: %w", err)
	}
	return string(text), checkTextSize("schedule", string(text))
}

// dates returns the first dates of a harvest.
func (s definitions) dates(all shelf[wire.Schedule], in *preview) ([]wire.Date, error) {
	var n named
	err := s.Catalog.View(func(v catalog.View) (err error) { n, err = all.find(v, in.Name, in.Version); return err })
	if err != nil {
		return nil, err
	}
	plan, zone, err := readPlan(in.Name, *n.text)
	if err != nil {
		return nil, err
	}
	start := in.From
	if start.IsZero() {
		start = s.now()
	}
	return datesFrom(plan, zone, start, start.Add(-time.Minute), in.Limit), nil
}

func (s definitions) scheduleOf(v catalog.View, n *named) (wire.Schedule, error) {
	out := wire.Schedule{Standard: n.Version == 0}
	var err error
	if out.Defined, err = definedOf(v, n); err == nil && n.text != nil {
		out.Schedule = json.RawMessage(*n.text)
	}
	return out, err
}
