package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// reason is the field for why something is done, as the audit trail keeps it.
func reason(need bool) field {
	return field{Name: "reason", Label: "web.reason", Help: "web.reason-help", Need: need, Most: 500}
}

// askJob reads the job that an act is about.
func askJob(ctx context.Context, v *visit) (job wire.Job, err error) {
	id, err := v.id("id")
	if err != nil {
		return job, err
	}
	v.about = plain(id)
	return v.api.Jobs().Show(ctx, id)
}

func jobNext(job uint64) string { return way("jobs", job) }

// askJobWish is the form of what is wished of a job.
func askJobWish(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	f := &form{Effects: progressOf(job)}
	return f.add(reason(false)), err
}

// progressOf says in numbers what a job is doing.
func progressOf(job wire.Job) []said {
	if job.Progress == nil {
		return []said{{Key: "web.effect-job-silent"}}
	}
	return []said{{"web.effect-job-fetched", []any{"count", job.Progress.Done, "size", size(job.Progress.Bytes)}},
		{"web.effect-job-queued", []any{"count", job.Progress.Queued}}}
}

func wishJob(wish wire.Wish, note string) func(context.Context, *visit, *form) (outcome, error) {
	return func(ctx context.Context, v *visit, f *form) (outcome, error) {
		id, err := v.id("id")
		if err != nil {
			return outcome{}, err
		}
		_, err = v.api.Jobs().Wish(ctx, id, wish, f.text("reason"))
		return outcome{Next: jobNext(id), Notes: []said{{Key: note}}}, err
	}
}

func askNothingOfJob(ctx context.Context, v *visit) (*form, error) {
	_, err := askJob(ctx, v)
	return &form{}, err
}

func askStopJob(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	f := &form{Help: "web.stop-help", Effects: progressOf(job), Confirm: plain(job.ID), Grave: true}
	return f.add(reason(false), field{Name: "for", Label: "web.within", Help: "web.within-help"}), err
}

func stopJob(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("id")
	if err != nil {
		return outcome{}, err
	}
	within, err := f.duration("for")
	if err == nil {
		_, err = v.api.Jobs().Stop(ctx, id, f.text("reason"), within.Std())
	}
	return outcome{Next: jobNext(id), Notes: []said{{Key: "web.did-stop"}}}, err
}

// askFailedJob is the form of what is done with a job that failed.
func askFailedJob(help string, grave bool) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		job, err := askJob(ctx, v)
		f := &form{Help: help, Grave: grave}
		if job.Stats.Objects > 0 {
			f.Effects = []said{{"web.effect-job-brought",
				[]any{"count", job.Stats.Objects, "size", size(job.Stats.Bytes)}}}
		}
		if grave {
			f.Confirm = plain(job.ID)
		}
		return f, err
	}
}

func resubmitJob(ctx context.Context, v *visit, _ *form) (outcome, error) {
	id, err := v.id("id")
	if err != nil {
		return outcome{}, err
	}
	next, err := v.api.Jobs().Resubmit(ctx, id)
	return outcome{Next: jobNext(next.ID), Notes: []said{{"web.did-resubmit", []any{"job", plain(id)}}}}, err
}

func rejectJob(ctx context.Context, v *visit, _ *form) (outcome, error) {
	id, err := v.id("id")
	if err != nil {
		return outcome{}, err
	}
	_, err = v.api.Jobs().Reject(ctx, id)
	return outcome{Next: jobNext(id)}, err
}

// order lets the crawl of the job carry out an act, and says what came of it.
func order(ctx context.Context, v *visit, given act.Act, note func(harvest.Reply) said) (outcome, error) {
	id, err := v.id("id")
	if err != nil {
		return outcome{}, err
	}
	reply, err := v.api.Jobs().Act(ctx, id, given)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Next: way("jobs", id, "crawl"), Notes: []said{note(reply)}}, nil
}

// askQueues is the form that names queues by an expression. A link gives the name of one.
func askQueues(ctx context.Context, v *visit) (*form, error) {
	_, err := askJob(ctx, v)
	f := &form{Help: "web.queues-help"}
	given := v.query.Get("name")
	if given != "" {
		given = quoteMeta(given)
	}
	return f.add(field{Name: "queue", Label: "web.queue-pattern", Value: given, Need: true, Kind: line,
		Help: "web.queue-pattern-help"}, reason(false)), err
}

// quoteMeta writes a name as an expression that matches it alone.
func quoteMeta(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func freeze(ctx context.Context, v *visit, f *form) (outcome, error) {
	return order(ctx, v, act.Freeze{Queue: f.text("queue"), Reason: f.text("reason")}, func(r harvest.Reply) said {
		return said{"web.did-freeze", []any{"count", r.Count}}
	})
}

func thaw(ctx context.Context, v *visit, f *form) (outcome, error) {
	return order(ctx, v, act.Unfreeze{Queue: f.text("queue"), Reason: f.text("reason")}, func(r harvest.Reply) said {
		return said{"web.did-thaw", []any{"count", r.Count}}
	})
}

func askSeedsOfJob(ctx context.Context, v *visit) (*form, error) {
	_, err := askJob(ctx, v)
	f := &form{Help: "web.job-seeds-help"}
	return f.add(field{Name: "seeds", Label: "web.urls", Kind: code, Need: true, Help: "web.one-on-a-line"}), err
}

func addSeedsToJob(ctx context.Context, v *visit, f *form) (outcome, error) {
	seeds := f.lines("seeds")
	return order(ctx, v, act.Seeds{Seeds: seeds}, func(harvest.Reply) said {
		return said{"web.did-seeds", []any{"count", len(seeds)}}
	})
}

// askLive is the form of a setting that can change while a crawl runs. A link names it; without one it is chosen.
func askLive(ctx context.Context, v *visit) (*form, error) {
	job, err := askJob(ctx, v)
	f := &form{Help: "web.live-help"}
	var names []option
	for _, one := range harvest.Reference() {
		if one.Live {
			names = append(names, option{Value: one.Name})
		}
	}
	slices.SortFunc(names, func(a, b option) int { return strings.Compare(a.Value, b.Value) })
	name := v.query.Get("setting")
	if name == "" {
		name = v.query.Get("name")
	}
	f.add(field{Name: "setting", Label: "web.setting", Kind: choose, Options: names, Value: name, Need: true})
	value := field{Name: "value", Label: "web.value", Kind: area, Help: "web.live-value-help", Wire: "settings." + name}
	for _, one := range harvest.Reference() {
		if one.Name == name && one.Live {
			value.Text = one.Help
			if job.Settings != nil {
				value.Value = settingText(one, valuesOf(job.Settings.Settings)[name])
			}
		}
	}
	return f.add(value), err
}

func changeLive(ctx context.Context, v *visit, f *form) (outcome, error) {
	name := f.text("setting")
	patch, err := patchOf(name, f.text("value"))
	if err != nil {
		return outcome{}, &formError{"value", "", err.Error()}
	}
	return order(ctx, v, act.Change{Settings: patch}, func(harvest.Reply) said {
		return said{"web.did-set", []any{"setting", name}}
	})
}

func askCheckpoint(ctx context.Context, v *visit) (*form, error) {
	_, err := askJob(ctx, v)
	f := &form{Help: "web.checkpoint-help"}
	return f.add(field{Name: "name", Label: "web.name", Help: "web.checkpoint-name-help"}), err
}

func checkpoint(ctx context.Context, v *visit, f *form) (outcome, error) {
	return order(ctx, v, act.Checkpoint{Name: f.text("name")}, func(harvest.Reply) said {
		return said{Key: "web.did-checkpoint"}
	})
}

// valuesOf returns settings by name, as JSON.
func valuesOf(s harvest.Settings) map[string]json.RawMessage {
	text, err := json.Marshal(s)
	values := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(text, &values) != nil {
		return nil
	}
	return values
}
