package archive

import (
	"errors"
	"fmt"
	"log/slog"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// Disks are this node's disks for files, for the API.
type Disks struct {
	Own *replica.Disks
	Log *slog.Logger
}

// Show returns the state of the disks.
func (d Disks) Show() (api.Disks, error) {
	report, err := d.Own.Report()
	return Shown(report), err
}

// Wish carries out a wish for a disk, or for all disks.
func (d Disks) Wish(wish api.DiskWish, actor string) (api.Disks, error) {
	var report replica.DiskReport
	var err error
	switch own := d.Own; wish.Wish {
	case "drain":
		report, err = own.Drain(wish.Path)
	case "undrain":
		report, err = own.Undrain(wish.Path)
	case "pause":
		report, err = own.Pause()
	case "resume":
		report, err = own.Resume()
	}
	switch {
	case errors.Is(err, replica.ErrNoDisk):
		return api.Disks{}, fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, replica.ErrLastDisk):
		return api.Disks{}, fmt.Errorf("%w: %w", &catalog.Refusal{Code: catalog.Conflict, Message: err.Error()}, err)
	case err == nil:
		d.Log.Info("asked of the disks", "wish", wish.Wish, "disk", wish.Path, "by", actor)
	}
	return Shown(report), err
}

// Shown is a report as the API has it.
func Shown(r replica.DiskReport) api.Disks {
	out := api.Disks{Disks: make([]api.DiskState, len(r.Disks)), Paused: r.Paused, Balancing: r.Balancing,
		Moved: r.Moved, Fault: r.Fault}
	for i, d := range r.Disks {
		out.Disks[i] = api.DiskState(d)
	}
	if m := r.Move; m != nil {
		out.Move = &api.DiskMove{Shard: m.Shard.String(), From: m.From, To: m.To, Files: m.Files,
			TotalFiles: m.TotalFiles,
			Bytes:      m.Bytes, TotalBytes: m.TotalBytes, Began: m.Began}
	}
	return out
}

// Ailing says what an operator should look at.
func Ailing(r replica.DiskReport) (all []alert.Alert) {
	if r.Fault != "" {
		all = append(all, alert.New(alert.DisksUnknown, "", "reason", r.Fault))
	}
	for _, d := range r.Disks {
		switch {
		case d.Why == "", d.State == replica.DiskGone && d.Why != replica.DiskTakenAway: // which the store tells
		case d.State == replica.DiskDraining:
			all = append(all, alert.New(alert.DiskNotEmptied, d.Path, "reason", d.Why))
		default:
			all = append(all, alert.New(alert.DiskAiling, d.Path, "reason", d.Why))
		}
	}
	return all
}
