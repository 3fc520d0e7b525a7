package archive

import (
	"slices"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/internal/disk"
	"holdfast/replica"
)

// Space is what this node's disks for files have, and have left.
type Space struct {
	Disk    disk.Disk
	Folders []string       // one on each of the disks
	Reserve uint64         // bytes that are left free on each
	Own     *replica.Disks // nil: none has been taken out yet
	Mounted func() error   // why files cannot be read, if so
}

// Look returns what each disk has, which move between them goes on, and what a person should know of them. A disk that
// was taken out is left out.
func (s Space) Look() (disks []api.Disk, move *api.DiskMove, alerts []alert.Alert) {
	for _, path := range s.Folders {
		if s.Own.TakenAway(path) {
			continue
		}
		if s.Own.Mounted(path) != nil {
			continue // its mount point's disk is another one; that it is gone is said elsewhere
		}
		free, total, err := s.Disk.Free(path)
		if err != nil && !s.Own.Takes(path) && s.Mounted() == nil {
			continue // it was emptied, and taken away
		}
		if err != nil {
			alerts = append(alerts, alert.New(alert.DiskUnreadable, path, "reason", err.Error()))
			continue
		}
		disks = append(disks, api.Disk{Path: path, Free: int64(free), Total: int64(total)})
		if free < s.Reserve {
			alerts = append(alerts, alert.New(alert.DiskLow, path, "bytes", alert.Number(free)))
		}
	}
	if report, err := s.Own.Report(); err == nil {
		alerts = append(alerts, Ailing(report)...)
		move = Shown(report).Move
	}
	return disks, move, alerts
}

// Of returns the room on the disk of one folder; gone is true of a disk that was taken out.
func (s Space) Of(folder string) (free, size uint64, gone bool, err error) {
	if s.Own.TakenAway(folder) {
		return 0, 0, true, nil
	}
	if err := s.Own.Mounted(folder); err != nil { // else this is the room of the disk below
		return 0, 0, false, err
	}
	free, size, err = s.Disk.Free(folder)
	return free, size, false, err
}

// All returns the room on all disks that take files, above the reserve, and their sizes.
func (s Space) All() (free, total uint64) {
	return s.Disk.Room(slices.DeleteFunc(slices.Clone(s.Folders), func(path string) bool {
		return s.Own != nil && !s.Own.Takes(path)
	}), s.Reserve)
}
