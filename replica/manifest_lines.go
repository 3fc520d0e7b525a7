package replica

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// A manifest's line is struck by setting its first byte to '#': it is a comment from then on, for sha256sum too. A line
// goes by the write of one byte so, however many others there are.
const struck = '#'

// A manifest is written again without its struck lines when these are more than rewriteAt, and more than the others.
const rewriteAt = 512

// window is how much of a manifest is looked at at once, and overlap what two looks share: more than the longest line
// that names a file.
const (
	window  = 256 << 10
	overlap = 2 * maxLine
)

// marks are lines that were found in a manifest, and how many lines it has in all.
type marks struct {
	at     []int64 // where the lines begin
	digest catalog.Digest
	size   int64 // as the comment before the last of them says; -1: none does
	live   int   // lines that are no comments
	dead   int   // lines that are struck
}

// findLines looks in the manifest at path for the lines of the names, without reading what the other lines say. digest
// and size are of the last line found. An absent manifest has none.
func findLines(path string, names map[catalog.FileName]bool) (marks, error) {
	m := marks{size: -1}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	defer f.Close()
	look := looker{marks: &m, names: names}
	for name := range names {
		look.one = []byte(name)
	}
	buf := make([]byte, window)
	kept, at := 0, int64(0) // bytes of the window that were seen before, and where the window begins
	for {
		n, err := io.ReadFull(f, buf[kept:])
		text := buf[:kept+n]
		look.window(text, at, kept)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return m, nil
		}
		if err != nil {
			return m, fmt.Errorf("read manifest %s: %w", path, err)
		}
		keep := min(overlap, len(text))
		copy(buf, text[len(text)-keep:])
		at, kept = at+int64(len(text)-keep), keep
	}
}

// looker looks for lines in windows of a manifest.
type looker struct {
	*marks
	names map[catalog.FileName]bool
	one   []byte // the only one of the names
}

func (l *looker) wanted(name []byte) bool {
	if len(l.names) == 1 {
		return bytes.Equal(name, l.one)
	}
	return l.names[catalog.FileName(name)]
}

// window looks at a part of the manifest that begins at the offset at. Lines that end within the first seen bytes were
// looked at before.
func (l *looker) window(text []byte, at int64, seen int) {
	l.count(text, at, seen)
	for from := 0; from < len(text); {
		i := bytes.IndexByte(text[from:], '\n')
		if i < 0 {
			return
		}
		end := from + i + 1
		if i > 66 && l.wanted(text[from+66:end-1]) {
			l.note(text, from, end, at, seen, catalog.FileName(text[from+66:end-1]))
		}
		from = end
	}
}

// count counts the lines that begin in the part and were not counted before.
func (l *looker) count(text []byte, at int64, seen int) {
	fresh := text[max(0, seen-1):]
	lines := bytes.Count(fresh, []byte("\n"))
	if seen > 0 && text[seen-1] == '\n' {
		lines--
	}
	comments, sizes := bytes.Count(fresh, []byte("\n#")), bytes.Count(text[max(0, seen-2):], []byte("\n# "))
	if at == 0 && seen == 0 && len(text) > 0 && text[0] == struck {
		comments++
		if len(text) > 1 && text[1] == ' ' {
			sizes++
		}
	}
	l.live += lines - comments
	l.dead += comments - sizes
}

// note takes a line that begins at the place start of the text, if it is one that a manifest has for the name.
func (l *looker) note(text []byte, start, end int, at int64, seen int, name catalog.FileName) {
	if end <= seen || start < 0 || start == 0 && at > 0 || start > 0 && text[start-1] != '\n' {
		return
	}
	if text[start+64] != ' ' || text[start+65] != ' ' && text[start+65] != '*' {
		return
	}
	var digest catalog.Digest
	if digest.UnmarshalText(text[start:start+64]) != nil {
		return
	}
	l.at, l.digest, l.size = append(l.at, at+int64(start)), digest, -1
	before := text[:max(0, start-1)]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if named, size, ok := parseSize(string(before)); ok && named == name {
		l.size = size
	}
}

// dropLine takes the entry of name out of the manifest at path, durably.
func dropLine(d disk.Disk, path string, name catalog.FileName) error {
	return dropLines(d, path, map[catalog.FileName]bool{name: true})
}

// dropLines takes the entries of the names out of the manifest at path, durably. After an error, or a crash, some may
// be out and others not.
func dropLines(d disk.Disk, path string, names map[catalog.FileName]bool) error {
	if len(names) == 0 {
		return nil
	}
	found, err := findLines(path, names)
	if err != nil || len(found.at) == 0 {
		return err
	}
	live, dead := found.live-len(found.at), found.dead+len(found.at)
	if live > 0 && (dead <= rewriteAt || dead <= live) {
		return d.Overwrite(path, found.at, struck)
	}
	m, err := readManifest(path)
	if err != nil {
		return err
	}
	for name := range names {
		delete(m.lines, name)
	}
	return writeManifest(d, path, m)
}
