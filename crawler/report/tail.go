package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Chunk is a part of a log: whole lines, but for a line longer than what was asked for, which comes in pieces.
type Chunk struct {
	Data []byte
	From int64 // where Data begins in the file
	Next int64 // where to read on
	Size int64 // of the file
}

// Tail reads a log at path from an offset on, at most limit bytes: to follow a log, ask again from Next. A negative offset
// counts from the end; a chunk begins with a whole line then. Where the log is shorter than that, as after a crash
// cut it, the chunk is empty and From and Next are its end.
func Tail(path string, from int64, limit int) (Chunk, error) {
	f, err := os.Open(path)
	if err != nil {
		return Chunk{}, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Chunk{}, fmt.Errorf("read log: %w", err)
	}
	c := Chunk{Size: info.Size()}
	whole := true // from is where a line begins
	switch {
	case from < 0:
		c.From = max(0, c.Size+from)
		whole = c.From == 0
	default:
		c.From = min(from, c.Size)
	}
	c.Next = c.From
	if limit <= 0 || c.From == c.Size {
		return c, nil
	}
	start := c.From
	if !whole {
		start-- // is the line's beginning there?
	}
	data := make([]byte, min(int64(limit)+c.From-start, c.Size-start))
	n, err := f.ReadAt(data, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return Chunk{}, fmt.Errorf("read log: %w", err)
	}
	data = data[:n]
	if !whole {
		i := bytes.IndexByte(data, '\n')
		if i < 0 { // in the middle of a line that is longer than limit
			data, i = nil, n-1
		} else {
			data = data[i+1:]
		}
		c.From = start + int64(i) + 1
	}
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		data = data[:i+1]
	} else if len(data) < limit {
		data = nil // a line that is still being written
	}
	c.Data, c.Next = data, c.From+int64(len(data))
	return c, nil
}

// LastLines reads the last n lines of a log at path, at most limit bytes of them, oldest first.
func LastLines(ctx context.Context, path string, n, limit int) (Chunk, error) {
	f, err := os.Open(path)
	if err != nil {
		return Chunk{}, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Chunk{}, fmt.Errorf("read log: %w", err)
	}
	r := backward{file: f, at: info.Size()}
	from := r.at
	for range n {
		if err := ctx.Err(); err != nil {
			return Chunk{}, err
		}
		line, at, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Chunk{}, fmt.Errorf("read log: %w", err)
		}
		if info.Size()-at > int64(limit) || len(line) == 0 {
			break
		}
		from = at
	}
	c := Chunk{Data: make([]byte, info.Size()-from), From: from, Next: info.Size(), Size: info.Size()}
	if k, err := f.ReadAt(c.Data, from); k < len(c.Data) {
		return Chunk{}, fmt.Errorf("read log: %w", cut(err))
	}
	return c, nil
}
