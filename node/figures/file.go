package figures

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/disk"
)

// The file (doc/format/figures.md): a line that says what it is, a line of JSON that names the figures, for each span
// the number of its points and the points, each with its step and a value a figure, and a checksum of all that.
const (
	magic   = "holdfast figures 1\n"
	maxFile = 16 << 20
	maxName = 4096
)

// named names a figure in the file.
type named struct {
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
}

// ErrDamaged reports a file that is not as it was written.
var ErrDamaged = errors.New("file of figures is damaged")

// encode writes the points of both spans.
func encode(of []named, spans ...[]point) ([]byte, error) {
	head, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("encode the names of figures: %w", err)
	}
	out := append(append([]byte(magic), head...), '\n')
	for _, span := range spans {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(span)))
		for _, p := range span {
			out = binary.LittleEndian.AppendUint64(out, uint64(p.slot))
			for _, v := range p.values {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
			}
		}
	}
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out)), nil
}

// decode reads what encode wrote. Bytes that it did not write are ErrDamaged.
func decode(text []byte) (of []named, hour, week []point, err error) {
	body, ok := bytes.CutPrefix(text, []byte(magic))
	if !ok || len(body) < 4 {
		return nil, nil, nil, fmt.Errorf("%w: it begins otherwise", ErrDamaged)
	}
	end := len(text) - 4
	if crc32.ChecksumIEEE(text[:end]) != binary.LittleEndian.Uint32(text[end:]) {
		return nil, nil, nil, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	head, body, ok := bytes.Cut(body[:len(body)-4], []byte{'\n'})
	if !ok || json.Unmarshal(head, &of) != nil || len(of) > maxName {
		return nil, nil, nil, fmt.Errorf("%w: the names of its figures", ErrDamaged)
	}
	for _, span := range []*[]point{&hour, &week} {
		if *span, body, err = decodeSpan(body, len(of)); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(body) > 0 {
		return nil, nil, nil, fmt.Errorf("%w: there is more than its points", ErrDamaged)
	}
	return of, hour, week, nil
}

func decodeSpan(body []byte, figures int) ([]point, []byte, error) {
	if len(body) < 4 {
		return nil, nil, fmt.Errorf("%w: it is too short", ErrDamaged)
	}
	count, size := int(binary.LittleEndian.Uint32(body)), 8+4*figures
	if body = body[4:]; count > len(body)/size {
		return nil, nil, fmt.Errorf("%w: it is too short", ErrDamaged)
	}
	out := make([]point, count)
	for i := range out {
		p := point{slot: int64(binary.LittleEndian.Uint64(body)), values: make([]float32, figures)}
		for j := range p.values {
			p.values[j] = math.Float32frombits(binary.LittleEndian.Uint32(body[8+4*j:]))
		}
		if out[i] = p; i > 0 && p.slot <= out[i-1].slot {
			return nil, nil, fmt.Errorf("%w: its points are not in order", ErrDamaged)
		}
		body = body[size:]
	}
	return out, body, nil
}

// recall takes over what an earlier run left. Figures that the node no longer has are dropped; what is later than now
// was of a clock that ran ahead.
func (f *Figures) recall() {
	text, err := readFile(f.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var of []named
	var hour, week []point
	if err == nil {
		of, hour, week, err = decode(text)
	}
	if err != nil {
		aside := f.cfg.Path + ".damaged"
		f.cfg.Log.Warn("figures of an earlier run cannot be read; the file is set aside", "file", f.cfg.Path,
			"aside", aside, "error", err)
		if err := f.cfg.Disk.Rename(f.cfg.Path, aside); err != nil {
			f.cfg.Log.Warn("a damaged file of figures cannot be set aside", "file", f.cfg.Path, "error", err)
		}
		return
	}
	place := map[named]int{}
	for i, n := range of {
		place[n] = i
	}
	now := time.Now()
	take := func(to *points, all []point) {
		last := to.span.slot(now)
		for _, p := range all {
			if p.slot > last || p.slot <= last-int64(to.span.Points) {
				continue
			}
			values := make([]float32, len(f.cfg.Sources))
			for i, s := range f.cfg.Sources {
				values[i] = unknown()
				if at, ok := place[named{s.Name, s.Of}]; ok {
					values[i] = p.values[at]
				}
			}
			to.add(p.slot, values)
		}
	}
	take(&f.hour, hour)
	take(&f.week, week)
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%w: it is too large", ErrDamaged)
	}
	return text, err
}

// write writes the file. The first of several failures is said, and that it is over.
func (f *Figures) write() {
	f.mu.Lock()
	of := make([]named, len(f.cfg.Sources))
	for i, s := range f.cfg.Sources {
		of[i] = named{s.Name, s.Of}
	}
	hour, week := append([]point(nil), f.hour.all...), append([]point(nil), f.week.all...) // points do not change
	f.mu.Unlock()
	text, err := encode(of, hour, week)
	if err == nil {
		err = f.room()
	}
	if err == nil {
		err = f.cfg.Disk.WriteFile(f.cfg.Path, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	switch {
	case err != nil && !f.said:
		f.cfg.Log.Warn("the node's figures cannot be written; a restart loses them", "file", f.cfg.Path, "error", err)
	case err == nil && f.said:
		f.cfg.Log.Info("the node's figures are written again", "file", f.cfg.Path)
	}
	f.said = err != nil
}

// room refuses to write on a disk that is nearly full.
func (f *Figures) room() error {
	free, _, err := f.cfg.Disk.Free(filepath.Dir(f.cfg.Path))
	if err == nil && free < f.cfg.Least {
		err = fmt.Errorf("%w: %d bytes are free", disk.ErrFull, free)
	}
	return err
}
