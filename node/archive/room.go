package archive

import (
	"context"
	"fmt"
	"io"
	"time"

	"holdfast/internal/disk"
)

// Room is what may be written beside the reserve.
type Room struct {
	Disk    disk.Disk
	Reserve int64
}

// Left returns how many bytes may still be written to the disk of a folder.
func (r Room) Left(dir string) (int64, error) {
	free, _, err := r.Disk.Free(dir)
	if err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return int64(free) - r.Reserve, nil
}

// roomPause is the pause between looks while something waits for room.
const roomPause = 5 * time.Second

// Wait waits until there is room on the disk of a folder. It reports false when ctx ends first.
func (r Room) Wait(ctx context.Context, dir string) bool {
	for {
		if left, err := r.Left(dir); err == nil && left > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(roomPause):
		}
	}
}

// roomEvery is after how many bytes a roomWriter looks again: others write to the disk too.
const roomEvery = 16 << 20

// roomWriter writes as long as there is room beside the reserve, and then answers disk.ErrFull.
type roomWriter struct {
	to    io.Writer
	free  func() (int64, error)
	since int // bytes since it looked last
}

// need answers disk.ErrFull if there is no room for that many bytes.
func (w *roomWriter) need(n int64) error {
	free, err := w.free()
	if err == nil && free < max(n, 0) {
		err = fmt.Errorf("%w: %d bytes are left above the reserve", disk.ErrFull, max(free, 0))
	}
	return err
}

func (w *roomWriter) Write(b []byte) (int, error) {
	if w.since += len(b); w.since > roomEvery {
		w.since = 0
		if err := w.need(int64(len(b))); err != nil {
			return 0, err
		}
	}
	return w.to.Write(b)
}
