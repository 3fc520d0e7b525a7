package web

import (
	"context"
	"strconv"

	"holdfast/api/wire"
)

// listPage is what the page of a seed list shows.
type listPage struct {
	List *wire.List `json:"list"`
	Text *string    `json:"text"`
}

// Shown is the text.
func (p *listPage) Shown() string { return *p.Text }

func showList(ctx context.Context, v *visit) (any, error) {
	name, part := v.given["name"], v.given["part"]
	v.about = name + "/" + part
	version, ok := v.number("version", "web.seed-list")
	if !ok {
		return &listPage{}, nil
	}
	p := &listPage{}
	var missing error
	v.ask(ctx, "web.domain", soon, func(ctx context.Context) error {
		d, err := v.api.Domains().Show(ctx, name)
		for i := range d.Seeds {
			if d.Seeds[i].Name == part {
				p.List = &d.Seeds[i]
			}
		}
		return here(err)
	})
	v.ask(ctx, "web.seed-list", soon, func(ctx context.Context) error {
		text, err := v.api.Domains().Seeds(ctx, name, part, version)
		if err == nil {
			p.Text = &text
			return nil
		}
		if missing = err; here(err) == nil {
			return nil
		}
		missing = nil
		return err
	})
	v.wait()
	v.offer("domains", name, "seeds", part, "edit")
	v.offer("domains", name, "seeds", part, "remove")
	return p, missing
}

// Versions are the versions of the list, the latest first, as far as they are offered.
func (p *listPage) Versions() (out []string) {
	if p.List == nil {
		return nil
	}
	for n := p.List.Version; n > 0 && len(out) < 20; n-- {
		out = append(out, strconv.FormatUint(n, 10))
	}
	return out
}
