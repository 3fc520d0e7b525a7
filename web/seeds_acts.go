package web

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest/schedule"
)

// askBulk is the form of seeds for an event harvest.
func askBulk(ctx context.Context, v *visit) (*form, error) {
	_, err := askOfHarvest(ctx, v)
	return bulkFields(&form{Help: "web.bulk-help"}), err
}

func bulkFields(f *form) *form {
	return f.add(field{Name: "urls", Label: "web.urls", Kind: code, Need: true, Help: "web.urls-help"},
		field{Name: "template", Label: "web.template", Help: "web.bulk-template-help", Most: 64},
		field{Name: "objects", Label: "web.most-objects-each", Kind: number, Help: "web.bulk-limit-help"},
		field{Name: "bytes", Label: "web.most-bytes-each", Kind: number, Help: "web.bulk-limit-help"})
}

func bulk(ctx context.Context, v *visit, f *form) (outcome, error) {
	id, err := v.id("number")
	if err != nil {
		return outcome{}, err
	}
	came, err := seedHarvest(ctx, v, f, id)
	return outcome{Next: way("harvests", id, "preview"), Notes: cameOf(came), Lines: badOf(came)}, err
}

func seedHarvest(ctx context.Context, v *visit, f *form, id uint64) (wire.HarvestSeeds, error) {
	o := client.SeedsOptions{Template: f.text("template"), Objects: f.text("objects"), Bytes: f.text("bytes")}
	return v.api.Harvests().AddSeeds(ctx, id, o, strings.NewReader(f.whole("urls")))
}

// cameOf says what became of seeds.
func cameOf(s wire.HarvestSeeds) []said {
	out := []said{{"web.came-seeds", []any{"count", s.Seeds}}, {"web.came-domains", []any{"count", s.Domains}}}
	if s.Known > 0 {
		out = append(out, said{"web.came-known", []any{"count", s.Known}})
	}
	if s.Bad > 0 {
		out = append(out, said{"web.came-bad", []any{"count", s.Bad}})
	}
	if s.Reason != "" {
		out = append(out, said{"web.came-cut", []any{"reason", s.Reason}})
	}
	return out
}

// shownBad is how many bad lines are shown.
const shownBad = 200

func badOf(s wire.HarvestSeeds) (out []string) {
	for _, one := range s.BadLines[:min(len(s.BadLines), shownBad)] {
		out = append(out, fmt.Sprintf("%d: %s", one.Line, one.Reason))
	}
	return out
}

// onceSchedule is the name of the schedule by which what is archived now runs once.
const onceSchedule = "once"

// askNow is the form of what is archived now.
func askNow(_ context.Context, v *visit) (*form, error) {
	f := &form{Help: "web.now-help", Send: "web.now-preview"}
	f.add(field{Name: "name", Label: "web.name", Need: true, Most: 200,
		Value: "Archive now, " + v.now.In(v.zone).Format("2006-01-02 15:04:05")})
	f = bulkFields(f)
	f.field("urls").Value = v.query.Get("urls")
	return f, nil
}

// archiveNow makes an event harvest of the addresses, which runs once when it is activated, and leads to its preview.
// Nothing is fetched yet. A harvest that gets no seed is taken away again.
func archiveNow(ctx context.Context, v *visit, f *form) (outcome, error) {
	if err := hasOnce(ctx, v); err != nil {
		return outcome{}, err
	}
	made, err := v.api.Harvests().Create(ctx, wire.HarvestRequest{Name: f.text("name"), Kind: "event",
		Schedule: onceSchedule})
	if err != nil {
		return outcome{}, err
	}
	came, err := seedHarvest(ctx, v, f, made.Number)
	if err == nil && came.Seeds+came.Known == 0 {
		reasons := append(badOf(came), came.Reason)
		err = &formError{"urls", "web.no-seed", strings.Trim(strings.Join(reasons, "; "), "; ")}
	}
	if err != nil {
		if failed := v.api.Harvests().Delete(ctx, made.Number, "it got no seeds"); failed != nil {
			err = &formError{"", "web.harvest-left", fmt.Sprintf("%d: %v; %v", made.Number, err, failed)}
		}
		return outcome{}, err
	}
	return outcome{Next: way("harvests", made.Number, "preview"), Notes: cameOf(came), Lines: badOf(came)}, nil
}

// hasOnce makes sure that there is a schedule that runs once.
func hasOnce(ctx context.Context, v *visit) error {
	found, err := v.api.Schedules().Show(ctx, onceSchedule, 0)
	if err == nil {
		s, failed := schedule.Parse(found.Schedule)
		if failed != nil || s.Unit != schedule.Once || s.From != "" {
			return &formError{"", "web.once-taken", ""}
		}
		return nil
	}
	if !errors.Is(err, wire.ErrNotFound) {
		return err
	}
	_, err = v.api.Schedules().Create(ctx, wire.ScheduleRequest{Name: onceSchedule,
		Schedule: []byte(`{"unit":"once"}`), Comment: "made for what is archived now"})
	return err
}
