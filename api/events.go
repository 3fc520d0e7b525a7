package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// How often events are asked for, and how many at a time. After a while without an event a comment is sent, so that a
// broken connection is noticed.
const (
	eventPoll  = 500 * time.Millisecond
	eventBatch = 1000
	eventQuiet = 15 * time.Second
)

// endOfEvents is the last that a client gets: it need not come back.
const endOfEvents = "event: end\ndata: {}\n\n"

// eventRoutes registers the stream of a crawl's events.
func (s jobs) eventRoutes(api huma.API) {
	type follow struct {
		ByID
		After string `query:"after" pattern:"^(|[0-9]{1,18})$" doc:"the number of the last event that the client knows; after a lost connection, send Last-Event-ID instead"`
		Last  string `header:"Last-Event-ID" pattern:"^(|[0-9]{1,18})$"`
	}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/events",
		id: "job-events", tag: "jobs",
		summary: "Follow the events of a crawl until it ends: server-sent events", stream: true,
		adjust: func(op *huma.Operation) {
			op.Responses = map[string]*huma.Response{"200": {Description: "Events: id is the event's number, data " +
				"its JSON. An event named missed stands for earlier events that are " +
				"no longer kept; the last event is named end. If the stream stops without end, connect again with " +
				"Last-Event-ID.",
				Content: map[string]*huma.MediaType{"text/event-stream": {Schema: eventSchema()}}}}
		}},
		func(ctx context.Context, in *follow) (*huma.StreamResponse, error) {
			job, _, err := s.job(in.ID)
			if err != nil {
				return nil, err
			}
			after := in.After
			if in.Last != "" {
				after = in.Last
			}
			first, err := s.crawls.Order(ctx, job, act.Order{Act: act.Events{After: after, Limit: eventBatch}})
			if err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) { s.sendEvents(ctx, hc, job, after, first) }}, nil
		})
}

// eventSchema describes one server-sent event.
func eventSchema() *huma.Schema {
	field := func(text string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: text} }
	return &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"id": field("the event's number"),
		"event": field("missed or end; nothing for what happened"), "data": field("JSON")}}
}

// sendEvents sends events as they come, until the crawl ends or the client goes.
func (s jobs) sendEvents(ctx context.Context, hc huma.Context, job catalog.Job, after string, page harvest.Reply) {
	_, w := humago.Unwrap(hc)
	out := &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	tick := time.NewTicker(eventPoll)
	defer tick.Stop()
	sent := time.Now()
	for {
		text := ""
		if page.Missed {
			text = "event: missed\ndata: {}\n\n"
		}
		for _, e := range page.Events {
			text += fmt.Sprintf("id: %s\ndata: %s\n\n", numberOf(e), e)
		}
		if page.Next != "" {
			after = page.Next
		}
		if page.Ended {
			text += endOfEvents
		}
		if text == "" && time.Since(sent) > eventQuiet {
			text = ": nothing happened\n\n"
		}
		if text != "" {
			sent = time.Now()
			if _, err := out.Write([]byte(text)); err != nil || out.control.Flush() != nil {
				return
			}
		}
		if page.Ended {
			return
		}
		if len(page.Events) < eventBatch {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		if err := s.still(ctx, catalog.Look); err != nil { // the token may be worth nothing by now
			s.log.Debug("events are followed no more", "job", job.ID, "error", err)
			return
		}
		now, _, err := s.job(job.ID) // another node may have it by now
		if err == nil {
			job = now
		}
		page, err = s.crawls.Order(ctx, job, act.Order{Act: act.Events{After: after, Limit: eventBatch}})
		if err != nil {
			s.log.Debug("events are followed no more", "job", job.ID, "error", err)
			if errors.Is(err, ErrNotFound) {
				_, _ = out.Write([]byte(endOfEvents)) // the client may have gone
			}
			return
		}
	}
}

// numberOf is an event's number, as text.
func numberOf(event json.RawMessage) string {
	var e struct {
		Number json.Number `json:"number"`
	}
	if json.Unmarshal(event, &e) != nil {
		return ""
	}
	return e.Number.String()
}
