package web

import (
	"context"
	"errors"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// logPage is what the page of a node's log shows.
type logPage struct {
	Log *wire.NodeLog `json:"log"` // nil: it could not be read
}

// LogLevels are the levels of lines, the least first.
func (terms) LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogLevel marks the level of a line.
func (l terms) LogLevel(level string) mark {
	switch level {
	case "error":
		return mark{"bad", l.Text("web.log-error")}
	case "warn":
		return mark{"look", l.Text("web.log-warn")}
	case "info":
		return mark{"", l.Text("web.log-info")}
	case "debug":
		return mark{"quiet", l.Text("web.log-debug")}
	}
	return mark{"", level}
}

func showLog(ctx context.Context, v *visit) (any, error) {
	name := v.given["name"]
	v.about = name
	p := &logPage{}
	var missing error
	v.ask(ctx, "web.log", later, func(ctx context.Context) error {
		got, err := v.api.Nodes().Log(ctx, name, client.LogQuery{Level: v.query.Get("level"), Text: v.query.Get("text"),
			Room: v.query.Get("room"), After: v.query.Get("after"), Limit: onePage})
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Log, v.about = &got, got.Name
		}
		return err
	})
	v.wait()
	v.offer("nodes", name, "log-level")
	return p, missing
}

// Exact writes a time with its seconds, in the reader's zone.
func (v *view) Exact(t time.Time) string { return v.Moment(t.In(v.zone)) }

// Operates reports whether the reader is an operator, anywhere: only then links to what operators see are shown.
func (v *view) Operates() bool { return v.Who != nil && includes(v.Who.Role, wire.RoleOperator) }

func askLogLevel(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	got, err := v.api.Nodes().Log(ctx, v.given["name"], client.LogQuery{Limit: 1})
	f := &form{Effects: []said{{"web.log-level-help", []any{"level", got.Level.Usual}}}}
	return f.add(field{Name: "level", Label: "web.log-level", Kind: choose, Need: true, Value: got.Level.Now,
		Options: []option{{"debug", "web.log-debug"}, {"info", "web.log-info"}, {"warn", "web.log-warn"},
			{"error", "web.log-error"}}},
		field{Name: "for", Label: "web.log-for", Kind: choose, Need: true, Value: "15m",
			Options: []option{{"15m", "web.log-quarter"}, {"1h", "web.log-hour"}, {"8h", "web.log-shift"},
				{"24h", "web.log-day"}}}), err
}

func setLogLevel(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Nodes().SetLogLevel(ctx, v.given["name"], wire.LogLevelRequest{Level: f.text("level"),
		For: f.text("for")})
	return outcome{Next: way("nodes", v.given["name"], "log")}, err
}
