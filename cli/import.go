package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/wacz"
	"holdfast/warc"
)

type importCmd struct {
	Paths      []string `arg:"" name:"path" help:"WARC, ARC and WACZ files, or folders of them."`
	Collection string   `help:"The collection that the files belong to. Default: the cluster's first."`
}

func (importCmd) Help() string {
	return "Files enter byte for byte. The digests of a WACZ are checked first; then its WARC files enter, each\n" +
		"under its name behind that of the WACZ, and its lists (pages, parts, signature) as records of one file\n" +
		"more. An import that was interrupted goes on when the command is given again: files that are in the\n" +
		"archive already, with the same bytes, are passed over; a name that the archive has with other bytes\n" +
		"is refused.\n" +
		"The originals can be deleted once holdfast file list shows the files as complete."
}

func (importCmd) exits() []string {
	return []string{"0   all are in the archive; copies are still being made",
		"1   something was refused or could not be read; the other files are in"}
}

// imported is what became of one file.
type imported struct {
	From   string `json:"from"`
	Name   string `json:"name,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Result string `json:"result" doc:"entered, there already, or refused"`
	Why    string `json:"why,omitempty"`
}

const (
	entered      = "entered"
	thereAlready = "there already"
	refusedFile  = "refused"
)

// importing is the state of an import.
type importing struct {
	importCmd
	a       *app
	archive *client.Client
	results []imported
	failed  int
}

func (c importCmd) Run(a *app) error {
	var files []string
	for _, path := range c.Paths {
		found, err := findImports(path)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return fmt.Errorf("no WARC, ARC or WACZ file in %s", strings.Join(c.Paths, ", "))
	}
	slices.Sort(files)
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		i := &importing{importCmd: c, a: a, archive: archive}
		var ended error
		for n, path := range slices.Compact(files) {
			if ended = i.one(ctx, path); ended != nil {
				ended = fmt.Errorf("%s: %w; %d more files were not looked at", path, ended, len(files)-n-1)
				break
			}
		}
		if err := i.show(); err != nil || ended != nil {
			return errors.Join(ended, err)
		}
		if i.failed > 0 {
			return fmt.Errorf("%d of %d files were refused", i.failed, len(i.results))
		}
		return nil
	})
}

// findImports lists what can be imported of a path. A file that is named is tried whatever its name.
func findImports(path string) (found []string, err error) {
	err = filepath.WalkDir(path, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file == path || isArchive(entry.Name()) || strings.HasSuffix(entry.Name(), ".wacz") {
			found = append(found, filepath.Clean(file))
		}
		return nil
	})
	return found, err
}

// one imports a file. An error ends the import: the archive cannot be reached, or the command was interrupted.
func (i *importing) one(ctx context.Context, path string) error {
	info, err := regular(path)
	switch {
	case err != nil:
	case strings.HasSuffix(path, ".wacz"):
		return i.wacz(ctx, path)
	default:
		err = archiveFile(path)
	}
	if err != nil {
		i.note(imported{From: path, Result: refusedFile, Why: err.Error()})
		return nil
	}
	return i.put(ctx, path, filepath.Base(path), info.Size(), func() (io.ReadCloser, error) { return os.Open(path) })
}

// regular refuses what is no file, which opening may wait for, or may never end.
func regular(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	return info, err
}

// archiveFile looks whether a file is what its name says.
func archiveFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = warc.NewReader(f, path)
	return err
}

// put puts one file. It returns only errors that end the import.
func (i *importing) put(ctx context.Context, from, name string, size int64, open func() (io.ReadCloser, error)) error {
	before, err := i.archive.Files().Show(ctx, name)
	known := err == nil && !gone(before)
	if err != nil && !errors.Is(err, wire.ErrNotFound) {
		return err
	}
	f, err := putBytes(ctx, i.a, i.archive, i.Collection, name, size, open)
	switch {
	case ctx.Err() != nil || errors.Is(err, wire.ErrUnavailable) || errors.Is(err, wire.ErrNoQuorum):
		return err
	case err != nil:
		i.note(imported{From: from, Name: name, Size: size, Result: refusedFile, Why: err.Error()})
	case known:
		i.note(imported{From: from, Name: name, Size: f.Size, Result: thereAlready})
	default:
		i.note(imported{From: from, Name: name, Size: f.Size, Result: entered})
	}
	return nil
}

func (i *importing) note(one imported) {
	i.results = append(i.results, one)
	if one.Result == refusedFile {
		i.failed++
	}
}

func (i *importing) show() error {
	return list(i.a, i.results, table.Row{"File", "Name in the archive", "Size", "Result"}, func(r imported) table.Row {
		result := r.Result
		if r.Why != "" {
			result += ": " + r.Why
		}
		return table.Row{r.From, r.Name, size(r.Size), result}
	})
}

// wacz imports the files of a WACZ, all of whose digests must be right.
func (i *importing) wacz(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		i.note(imported{From: path, Result: refusedFile, Why: err.Error()})
		return nil
	}
	defer f.Close()
	members, lists, err := i.checked(ctx, f, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		i.note(imported{From: path, Result: refusedFile, Why: err.Error()})
		return nil
	}
	base := strings.TrimSuffix(filepath.Base(path), ".wacz")
	for _, m := range members {
		if err := i.put(ctx, path+"/"+m.Path, base+"-"+m.Name, m.Size, m.Open); err != nil {
			return err
		}
	}
	return i.put(ctx, path+" (its lists)", base+"-wacz.warc.gz", int64(len(lists)), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(lists)), nil
	})
}

// checked reads all of a WACZ, and returns its archives and its lists as a WARC file.
func (i *importing) checked(ctx context.Context, f *os.File, path string) ([]wacz.Member, []byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	w, err := wacz.Open(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	members, err := w.Archives()
	if err != nil {
		return nil, nil, err
	}
	names := map[string]string{}
	for _, m := range members {
		if !isArchive(m.Name) {
			return nil, nil, fmt.Errorf("%s is no WARC file by its name", m.Path)
		}
		if other, there := names[m.Name]; there {
			return nil, nil, fmt.Errorf("%s and %s have one name", other, m.Path)
		}
		names[m.Name] = m.Path
	}
	progress := i.a.bars()
	defer progress.wait()
	bar := progress.bytes("check "+filepath.Base(path), info.Size())
	var done int64
	err = w.Check(ctx, func(n int) {
		done += int64(n)
		bar.set(done, info.Size())
	})
	bar.end(err == nil)
	if err != nil {
		return nil, nil, err
	}
	lists, err := listsAsWARC(w.Lists())
	return members, lists, err
}

// mostLists bounds the lists of a WACZ in memory, in bytes.
const mostLists = 256 << 20

// listsAsWARC writes the lists of a WACZ as metadata records, which are no captures. The same lists give the same
// bytes, so that an import that is repeated finds them there.
func listsAsWARC(lists []wacz.Member) ([]byte, error) {
	var out bytes.Buffer
	total := int64(0)
	for _, m := range lists {
		if total += m.Size; total > mostLists {
			return nil, fmt.Errorf("its lists have more than %d bytes", mostLists)
		}
		in, err := m.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(in, m.Size+1))
		in.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		sum := sha256.Sum256(append([]byte(m.Path+"\x00"), text...))
		z := gzip.NewWriter(&out)
		fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:%s>\r\nWARC-Date: %s\r\n"+
			"WARC-Target-URI: urn:wacz:%s\r\nWARC-Block-Digest: sha256:%x\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", uuidOf(sum), warc.FormatDate(dateOf(m)), m.Path,
			sha256.Sum256(text), len(text), text)
		if err := z.Close(); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// dateOf is when a list was written, as far as the ZIP file says.
func dateOf(m wacz.Member) time.Time {
	if m.Modified.Year() < 1996 { // before there were web archives: a ZIP file without times
		return time.Date(1996, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return m.Modified.UTC().Truncate(time.Second)
}

// uuidOf is a UUID made of a digest (RFC 9562, version 8).
func uuidOf(sum [32]byte) string {
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
