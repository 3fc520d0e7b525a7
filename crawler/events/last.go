package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// lastBytes is how much of the end of job.log is looked at; its lines are short.
const lastBytes = 256 << 10

// LastNumber is the highest number near the end of the job.log at path, 0 where there is no such log.
func LastNumber(path string) (uint64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read last event: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("read last event: %w", err)
	}
	from := max(0, info.Size()-lastBytes)
	data := make([]byte, info.Size()-from)
	if n, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read last event: %w", err)
	} else {
		data = data[:n]
	}
	last := uint64(0)
	for line := range bytes.Lines(data) {
		if e, err := Parse(line); err == nil {
			last = max(last, e.Number)
		}
	}
	return last, nil
}
