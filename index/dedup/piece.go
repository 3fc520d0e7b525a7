package dedup

import (
	"bufio"
	"encoding/json"
	"io"

	"holdfast/internal/sorter"
)

// Maker makes the piece of a job, in bounded memory. It is not safe for concurrent use, and must be closed.
type Maker struct {
	job    uint64
	sorted *sorter.Sorter
	key    []byte
}

// NewMaker begins a piece. Temporary files lie in the folder; about that many bytes of memory are used.
func NewMaker(job uint64, dir string, room int) *Maker {
	return &Maker{job: job, sorted: sorter.New(dir, room)}
}

// Add takes a document, in any order. One that could not be found again is refused.
func (m *Maker) Add(d Document) error {
	line, err := d.line()
	if err != nil {
		return err
	}
	m.key = d.appendKey(m.key[:0])
	return m.sorted.Add(m.key, line)
}

// Write writes the piece: lines of JSON, by URL, the latest document of a URL first. It may be called once.
func (m *Maker) Write(to io.Writer) error {
	out := bufio.NewWriter(to)
	if err := writeLine(out, pieceHead{pieceFormat, pieceVersion, m.job}); err != nil {
		return err
	}
	n := int64(0)
	for entry, err := range m.sorted.Sorted() {
		if err != nil {
			return err
		}
		_, _ = out.Write(entry[keyLength(entry):])
		_ = out.WriteByte('\n')
		n++
	}
	if err := writeLine(out, pieceEnd{&n}); err != nil {
		return err
	}
	return out.Flush()
}

// Close removes the temporary files.
func (m *Maker) Close() error { return m.sorted.Close() }

func writeLine(out *bufio.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, _ = out.Write(text)
	return out.WriteByte('\n')
}
