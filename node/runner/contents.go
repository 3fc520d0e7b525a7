package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/internal/disk"
	"holdfast/internal/sorter"
	"holdfast/warc"
)

// content is what was found in one WARC file of an attempt.
type content struct {
	name           string
	size           int64
	opened, closed time.Time // opened is zero when the file does not say it
	cdx            string    // the path of its lines, in order
}

// sortRoom is the memory for putting the lines of one file in order.
const sortRoom = 8 << 20

// survey reads the attempt's WARC files, writes their CDX lines into a folder, and logs what cannot be read in them.
// seen gets each record.
func survey(d disk.Disk, r *Attempt, into string, seen *documents, log *slog.Logger) (all []content, err error) {
	entries, err := os.ReadDir(filepath.Join(r.Dir, "warcs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the files of job %d: %w", r.Job.ID, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.Contains(e.Name(), ".warc") {
			continue
		}
		if strings.HasSuffix(e.Name(), ".open") {
			log.Error("file was not finished", "file", e.Name())
			continue
		}
		one, err := surveyFile(d, filepath.Join(r.Dir, "warcs", e.Name()), into, seen, log)
		if err != nil {
			return nil, fmt.Errorf("make the CDX of %s: %w", e.Name(), err)
		}
		all = append(all, one)
	}
	return all, nil
}

func surveyFile(d disk.Disk, path, into string, seen *documents, log *slog.Logger) (one content, err error) {
	one.name = filepath.Base(path)
	one.cdx = filepath.Join(into, one.name+".cdx")
	file, err := os.Open(path)
	if err != nil {
		return one, err
	}
	defer func() { _ = file.Close() }()
	stat, err := file.Stat()
	if err != nil {
		return one, err
	}
	one.size, one.closed = stat.Size(), stat.ModTime()
	sorted := sorter.New(into, sortRoom)
	defer func() { err = errors.Join(err, sorted.Close()) }()
	one.opened, err = linesOf(file, one.name, log, seen, func(line string) error { return sorted.Add(nil, line) })
	if err == nil {
		err = seen.end()
	}
	if err != nil {
		return one, err
	}
	return one, d.WriteFile(one.cdx, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for line, err := range sorted.Sorted() {
			if err != nil {
				return err
			}
			_, _ = out.Write(line)
			_ = out.WriteByte('\n')
		}
		return out.Flush()
	})
}

// linesOf gives the CDX lines of a WARC file, and returns when the file was begun.
func linesOf(file io.Reader, name string, log *slog.Logger, seen *documents,
	take func(string) error) (opened time.Time, err error) {
	tell := func(err error) error {
		if damage := (*warc.Error)(nil); !errors.As(err, &damage) {
			return err
		}
		log.Error("damage in a file of the job", "file", name, "error", err)
		return nil
	}
	records, err := warc.NewReader(file, name)
	if err != nil {
		return opened, tell(err)
	}
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			return opened, nil
		}
		line := ""
		if err == nil {
			if date, bad := rec.Date(); opened.IsZero() && bad == nil {
				opened = date
			}
			if err = seen.see(rec, name); err != nil {
				return opened, err
			}
			line, err = cdxLine(rec, name)
		}
		switch {
		case err != nil:
			err = tell(err)
		case line != "":
			err = take(line)
		}
		if err != nil {
			return opened, err
		}
	}
}

// cdxLine is the line of a record that holds what a URL stood for, as NetarchiveSuite writes it: URL, IP address, date,
// media type, length of the record's block, file and offset. Other records have none.
func cdxLine(rec *warc.Record, file string) (string, error) {
	switch rec.Type {
	case warc.TypeResponse, warc.TypeResource, warc.TypeRevisit:
	default:
		_, err := rec.Position()
		return "", err
	}
	kind := mediaType(rec.ContentType())
	if rec.IsHTTP() {
		kind = ""
		if head, err := rec.HTTP(); err == nil {
			kind = head.MIME()
		}
	}
	date := ""
	if at, err := rec.Date(); err == nil {
		date = cdx.Timestamp(at)
	}
	at, err := rec.Position()
	if err != nil && !errors.Is(err, warc.ErrTrailer) {
		return "", err
	}
	fields := []string{rec.TargetURI(), rec.Header.Get("WARC-IP-Address"), date, kind, rec.Header.Get("Content-Length"),
		file, fmt.Sprint(at.Offset)}
	for i, f := range fields {
		if fields[i] = strings.Map(printable, f); fields[i] == "" {
			fields[i] = "-"
		}
	}
	return strings.Join(fields, " "), nil
}

// printable drops what would end a field or a line.
func printable(r rune) rune {
	if r <= ' ' || r == 0x7f {
		return -1
	}
	return r
}

// mediaType is a content type in lower case, without parameters.
func mediaType(text string) string {
	text, _, _ = strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(text))
}

// archiveFiles is the report on the attempt's WARC files, in Heritrix's form.
func archiveFiles(all []content) string {
	var b strings.Builder
	b.WriteString("[ARCHIVEFILE] [Opened] [Closed] [Size]\n")
	when := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s %s %d\n", f.name, when(f.opened), when(f.closed), f.size)
	}
	return b.String()
}
