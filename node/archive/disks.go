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
	case "add":
		report, err = own.Add(wish.Path)
	case "replace":
		report, err = own.Replace(wish.Path, wish.By)
	}
	if err == nil {
		d.Log.Info("asked of the disks", "wish", wish.Wish, "disk", wish.Path, "new", wish.By, "by", actor)
	}
	return Shown(report), explainDisks(err)
}

// explainDisks translates errors of wishes into the API's.
func explainDisks(err error) error {
	switch {
	case errors.Is(err, replica.ErrNoDisk):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, replica.ErrLastDisk), errors.Is(err, replica.ErrNewDisk),
		errors.Is(err, replica.ErrOnlyBytes):
		return fmt.Errorf("%w: %w", &catalog.Refusal{Code: catalog.Conflict, Message: err.Error()}, err)
	}
	return err
}

// Replacing says what it would do to replace a disk.
func (d Disks) Replacing(path, by string) (which string, effects []string, err error) {
	r, err := d.Own.Replacing(path, by)
	if err != nil {
		return "", nil, explainDisks(err)
	}
	effects = append(effects, fmt.Sprintf("from this node's next start, %s is none of its disks any more", path),
		fmt.Sprintf("its %d shards with %d files are made again on %s and the node's other disks, from other nodes",
			r.Shards, r.Files, by))
	if r.There {
		effects = append(effects, "the disk is there still; until the next start it is used as before")
	}
	if r.Sole > 0 {
		effects = append(effects, fmt.Sprintf("no other node has good bytes of %d of these files: they are lost, "+
			"unless the disk is found again", r.Sole))
	}
	return r.Mark, effects, nil
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

// notUsed reports whether a disk is not there and is not expected to be, or was never used.
func notUsed(why string) bool {
	return why == replica.DiskTakenAway || why == replica.DiskReplaced || why == replica.DiskAwaited
}

// Ailing says what an operator should look at.
func Ailing(r replica.DiskReport) (all []alert.Alert) {
	if r.Fault != "" {
		all = append(all, alert.New(alert.DisksUnknown, "", "reason", r.Fault))
	}
	for _, d := range r.Disks {
		switch {
		case d.Why == "", d.State == replica.DiskGone && !notUsed(d.Why): // which Health tells
		case d.State == replica.DiskDraining:
			all = append(all, alert.New(alert.DiskNotEmptied, d.Path, "reason", d.Why))
		default:
			all = append(all, alert.New(alert.DiskAiling, d.Path, "reason", d.Why))
		}
	}
	return all
}
