package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"holdfast/api/wire"
	"holdfast/client"
)

// definedPage is what the page of something shows that archivists define by a text.
type definedPage[T any] struct {
	It       *T                   `json:"it"`
	Text     string               `json:"text"`
	Versions listed[wire.Version] `json:"versions"`
	Dates    []wire.Date          `json:"dates,omitempty"` // of a schedule
}

func (p *definedPage[T]) lines() (items any, next string, read bool) { return p.Versions.lines() }

// store is what templates, schedules and lists of traps have in common in the client.
type store[T any] interface {
	Show(ctx context.Context, name string, version int) (T, error)
	Versions(ctx context.Context, name string) ([]wire.Version, error)
	Page(ctx context.Context, search string, at client.Place) (wire.Page[T], error)
}

func showAll[T any](ctx context.Context, v *visit, of store[T], part string) (any, error) {
	out := &listed[T]{}
	v.ask(ctx, part, soon, func(ctx context.Context) error {
		return out.set(of.Page(ctx, v.query.Get("search"), v.at()))
	})
	v.wait()
	return out, nil
}

// showOne shows one as it was in the version that the query names, with all its versions.
func showOne[T any](ctx context.Context, v *visit, of store[T], part string) (*definedPage[T], error) {
	name := v.given["name"]
	v.about = name
	p := &definedPage[T]{}
	version, ok := v.number("version", part)
	if !ok {
		return p, nil
	}
	var missing error
	v.ask(ctx, part, soon, func(ctx context.Context) error {
		t, err := of.Show(ctx, name, int(version))
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.It = &t
		}
		return err
	})
	v.ask(ctx, "web.versions", soon, func(ctx context.Context) error {
		all, err := of.Versions(ctx, name)
		return here(p.Versions.set(wire.Page[wire.Version]{Items: all}, err))
	})
	v.wait()
	return p, missing
}

func showTemplates(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "template")
	return showAll(ctx, v, v.api.Templates(), "web.templates")
}

func showTemplate(ctx context.Context, v *visit) (any, error) {
	p, err := showOne(ctx, v, v.api.Templates(), "web.template")
	if p.It != nil {
		p.Text = indented(p.It.Settings)
		offerDefined(v, "templates")
	}
	return p, err
}

func showSchedules(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "schedule")
	return showAll(ctx, v, v.api.Schedules(), "web.schedules")
}

func showSchedule(ctx context.Context, v *visit) (any, error) {
	var dates []wire.Date
	v.ask(ctx, "web.next-dates", soon, func(ctx context.Context) (err error) {
		dates, err = v.api.Schedules().Dates(ctx, v.given["name"], v.now, shownDates)
		return here(err)
	})
	p, err := showOne(ctx, v, v.api.Schedules(), "web.schedule")
	p.Dates = dates
	if p.It != nil {
		p.Text = indented(p.It.Schedule)
		if p.It.Standard {
			v.offer("schedules", v.given["name"], "copy")
		} else {
			offerDefined(v, "schedules")
		}
	}
	return p, err
}

func showTrapLists(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "trap-list")
	return showAll(ctx, v, v.api.TrapLists(), "web.trap-lists")
}

func showTrapList(ctx context.Context, v *visit) (any, error) {
	p, err := showOne(ctx, v, v.api.TrapLists(), "web.trap-list")
	if p.It != nil {
		for _, one := range p.It.Traps {
			p.Text += one + "\n"
		}
		offerDefined(v, "traps")
	}
	return p, err
}

// offerDefined names what can be done with one.
func offerDefined(v *visit, path string) {
	for _, what := range []string{"edit", "copy", "delete"} {
		v.offer(path, v.given["name"], what)
	}
}

func showChannels(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "channel")
	out := &listed[wire.Channel]{}
	v.ask(ctx, "web.channels", soon, func(ctx context.Context) error {
		return out.set(v.api.Channels().Page(ctx, v.query.Get("search"), v.at()))
	})
	v.wait()
	return out, nil
}

// indented writes JSON for people.
func indented(text json.RawMessage) string {
	if len(text) == 0 {
		return ""
	}
	out, err := json.MarshalIndent(text, "", "  ")
	if err != nil {
		return string(text)
	}
	return string(out)
}

// file is the text of a page that can be had as a file; ok is false if it could not be read.
type file interface {
	file() (text string, ok bool)
}

func (p *definedPage[T]) file() (text string, ok bool) { return p.Text, p.It != nil }

func (p *listPage) file() (text string, ok bool) {
	if p.Text == nil {
		return "", false
	}
	return *p.Text, true
}

// file answers with a text as a file.
func (t *opening) file(of file) {
	text, ok := of.file()
	if !ok {
		t.problem(http.StatusServiceUnavailable, wire.CodeUnavailable, "the text could not be read")
		return
	}
	name := t.of.template + ".txt"
	if json.Valid([]byte(text)) {
		name = t.of.template + ".json"
	}
	t.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	t.send(http.StatusOK, "application/octet-stream", []byte(text))
}
