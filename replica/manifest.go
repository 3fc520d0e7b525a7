package replica

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// ManifestName is the name of the manifest in each shard's folder; no file of the archive may bear it.
const ManifestName = "manifest-sha256.txt"

// maxLine bounds a manifest's line: digest, two spaces, a name and room for a size.
const maxLine = 512

// Held describes a held file: its size, and the digest that its bytes had when they came.
type Held struct {
	Name   catalog.FileName `json:"name"`
	Size   int64            `json:"size"`
	SHA256 catalog.Digest   `json:"sha256"`
}

// line is one entry of a manifest. Size is -1 where the manifest does not tell it.
type line struct {
	digest catalog.Digest
	size   int64
}

// manifest is the content of a manifest file, and whether the file itself is in order.
type manifest struct {
	lines   map[catalog.FileName]line
	faults  int  // lines that say nothing: torn, garbled, or repeated
	present bool // the file is there
}

// readManifest reads the manifest at path; an absent one is empty. Lines that make no sense are counted.
func readManifest(path string) (manifest, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{lines: map[catalog.FileName]line{}}, nil
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	defer f.Close()
	m, err := parseManifest(f)
	if err != nil {
		return manifest{}, fmt.Errorf("read manifest %s: %w", path, err)
	}
	m.present = true
	return m, nil
}

// ReadManifest returns what the manifest at path lists, and how many of its lines say nothing, such as torn ones.
// Size is -1 where the manifest does not tell it. One that is not there lists nothing.
func ReadManifest(path string) (listed map[catalog.FileName]Held, faults int, err error) {
	m, err := readManifest(path)
	listed = make(map[catalog.FileName]Held, len(m.lines))
	for name, l := range m.lines {
		listed[name] = Held{Name: name, Size: l.size, SHA256: l.digest}
	}
	return listed, m.faults, err
}

// parseManifest reads lines as sha256sum writes them: 64 hexadecimal digits, two spaces (or a space and a
// star), the name. A line "# size <bytes>  <name>" before it tells the size; other comments are passed over.
// A line without an end is torn, and counts as a fault.
func parseManifest(r io.Reader) (manifest, error) {
	m := manifest{lines: make(map[catalog.FileName]line)}
	in := bufio.NewReaderSize(r, maxLine)
	sizes := make(map[catalog.FileName]int64)
	for {
		text, whole, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		switch {
		case !whole:
			m.faults++
		case bytes.HasPrefix(text, []byte("#")):
			if name, size, ok := parseSize(string(text)); ok {
				clear(sizes)
				sizes[name] = size
			}
		default:
			m.add(string(text), sizes)
		}
	}
}

// readLine returns the next line without its end; whole is false for one that is too long or has no end.
func readLine(in *bufio.Reader) (text []byte, whole bool, err error) {
	text, err = in.ReadSlice('\n')
	if err == nil {
		return text[:len(text)-1], true, nil
	}
	if errors.Is(err, io.EOF) && len(text) > 0 {
		return text, false, nil
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if err == nil || errors.Is(err, io.EOF) && len(text) > 0 {
		return nil, false, nil
	}
	return nil, false, err
}

func (m *manifest) add(text string, sizes map[catalog.FileName]int64) {
	if len(text) < 66 || text[64] != ' ' || text[65] != ' ' && text[65] != '*' {
		m.faults++
		return
	}
	var l line
	name := catalog.FileName(text[66:])
	if l.digest.UnmarshalText([]byte(text[:64])) != nil || checkName(name) != nil {
		m.faults++
		return
	}
	l.size = -1
	if size, ok := sizes[name]; ok {
		l.size = size
	}
	if _, again := m.lines[name]; again {
		m.faults++
	}
	m.lines[name] = l
}

func parseSize(text string) (catalog.FileName, int64, bool) {
	rest, ok := strings.CutPrefix(text, "# size ")
	if !ok {
		return "", 0, false
	}
	number, name, ok := strings.Cut(rest, "  ")
	size, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || size < 0 {
		return "", 0, false
	}
	return catalog.FileName(name), size, true
}

// appendLine returns the entry as a manifest's line, without the last newline.
func appendLine(to []byte, name catalog.FileName, l line) []byte {
	if l.size >= 0 {
		to = fmt.Appendf(to, "# size %d  %s\n", l.size, name)
	}
	return fmt.Appendf(to, "%s  %s", l.digest, name)
}

// names returns the manifest's names in order.
func (m *manifest) names() []catalog.FileName {
	names := make([]catalog.FileName, 0, len(m.lines))
	for name := range m.lines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// writeManifest replaces the manifest at path durably. One without lines is removed: sha256sum -c
// refuses an empty list.
func writeManifest(d disk.Disk, path string, m manifest) error {
	if len(m.lines) == 0 {
		if !m.present {
			return nil
		}
		return d.Remove(path)
	}
	return d.WriteFile(path, func(w io.Writer) error {
		var text []byte
		for _, name := range m.names() {
			text = append(appendLine(text[:0], name, m.lines[name]), '\n')
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// addLine puts an entry into the manifest at path, durably. The first one comes with the file, so that no
// empty manifest is ever seen.
func addLine(d disk.Disk, path string, name catalog.FileName, l line) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return d.Append(path, appendLine(nil, name, l))
	}
	return writeManifest(d, path, manifest{lines: map[catalog.FileName]line{name: l}})
}

// checkName says what is wrong with a name that comes from disk or from elsewhere.
func checkName(name catalog.FileName) error {
	if err := name.Check(); err != nil {
		return err
	}
	if name == ManifestName {
		return fmt.Errorf("file name %q is reserved for the manifest", string(name))
	}
	return nil
}
