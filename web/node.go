package web

import (
	"context"
	"errors"
	"math"
	"time"

	"holdfast/api/wire"
)

// nodePage is what the page of a node shows.
type nodePage struct {
	Node    *wire.Node        `json:"node"`    // nil: not known
	Figures *wire.NodeFigures `json:"figures"` // nil: they could not be read
	Disks   *wire.Disks       `json:"disks"`   // nil also for nodes other than the one that answers
}

func showNode(ctx context.Context, v *visit) (any, error) {
	name := v.given["name"]
	v.about = name
	p := &nodePage{}
	var missing error
	v.ask(ctx, "web.node", soon, func(ctx context.Context) error {
		n, err := v.api.Nodes().Show(ctx, name)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Node, v.about = &n, n.Name
		}
		return err
	})
	v.ask(ctx, "web.figures", later, func(ctx context.Context) error {
		got, err := v.api.Nodes().Figures(ctx, name, v.query.Get("span"))
		if err == nil {
			p.Figures = &got
		}
		return here(err)
	})
	if st := v.known(); st != nil && p.Node != nil && st.Node.Name == p.Node.Name {
		v.ask(ctx, "web.disks", soon, func(ctx context.Context) error {
			found, err := v.api.Disks().Show(ctx)
			if err == nil {
				p.Disks = &found
			}
			return here(err)
		})
		v.wait()
	}
	if p.Disks != nil {
		offerDisks(v, p.Disks)
	}
	if p.Node != nil {
		if p.Node.Draining {
			v.offer("nodes", p.Node.Name, "undrain")
		} else {
			v.offer("nodes", p.Node.Name, "drain")
		}
		v.offer("nodes", p.Node.Name, "weight")
		v.offer("nodes", p.Node.Name, "log-level")
		if st := v.known(); st == nil || !onlyChecksums(st, p.Node.Name) {
			v.offer("nodes", p.Node.Name, "rebuild-index")
		}
		v.offer("nodes", p.Node.Name, "remove")
		v.offer("nodes", p.Node.Name, "remove-lost")
	}
	return p, missing
}

// picture is a figure over time as it is drawn.
type picture struct {
	Name      string // what it is; empty: Plain
	Plain     string // a later program's name for it
	Of        string
	Top       string // the end of the scale
	Highest   string // empty: nothing is known
	Path      string
	Wide      int
	Beginning time.Time
	End       time.Time
}

// figureRow is a line of the table of all figures.
type figureRow struct {
	At    time.Time
	Cells []string // empty: not known
}

// inParts is into how many parts a span is divided, for the pictures and for the table.
func inParts(span string) (drawn, told int) {
	if span == "week" {
		return 168, 28 // an hour, six hours
	}
	return 120, 12 // half a minute, five minutes
}

// Pictures draws figures.
func (v *view) Pictures(f *wire.NodeFigures) (out []picture) {
	drawn, _ := inParts(f.Span)
	for _, s := range f.Series {
		values := means(s.Values, drawn)
		top := highest(values)
		p := picture{Name: figureName(s.Name), Plain: s.Name, Of: s.Of, Path: steps(values, roof(top)),
			Wide: drawn * stepWide, Beginning: f.From, End: endOf(f, len(s.Values))}
		if p.Top = v.value(s.Unit, roof(top)); !math.IsNaN(top) {
			p.Highest = v.value(s.Unit, top)
		}
		out = append(out, p)
	}
	return out
}

// endOf is when the last of the steps is over.
func endOf(f *wire.NodeFigures, steps int) time.Time {
	return f.From.Add(time.Duration(f.Step) * time.Second * time.Duration(steps))
}

// FigureRows are the lines of the table, the newest first.
func (v *view) FigureRows(f *wire.NodeFigures) (out []figureRow) {
	_, told := inParts(f.Span)
	longest := 0
	columns := make([][]float64, len(f.Series))
	for i, s := range f.Series {
		columns[i], longest = means(s.Values, told), max(longest, len(s.Values))
	}
	for row := told - 1; row >= 0; row-- {
		r := figureRow{At: endOf(f, row*longest/told)}
		for i, s := range f.Series {
			text := ""
			if c := columns[i][row]; !math.IsNaN(c) {
				text = v.value(s.Unit, c)
			}
			r.Cells = append(r.Cells, text)
		}
		out = append(out, r)
	}
	return out
}

// value writes a figure; what its unit is stands in its name.
func (v *view) value(unit string, value float64) string {
	switch unit {
	case "bytes", "bytes/s":
		return v.Size(int64(min(value, 1<<62)))
	case "cores":
		return v.Tenths(value*100) + "\u00a0%"
	}
	return v.Tenths(value)
}

// figureName is the message that names a figure, empty for one that this program does not know.
func figureName(name string) string {
	return map[string]string{"cpu": "web.figure-cpu", "memory": "web.figure-memory", "outbox": "web.outbox",
		"crawl-uris": "web.figure-crawl-uris", "crawl-bytes": "web.figure-crawl-bytes",
		"raft-behind": "web.figure-raft-behind", "index-behind": "web.figure-index-behind",
		"connections": "web.figure-connections", "disk-free": "web.figure-disk-free"}[name]
}
