// Package metadata reads what the metadata files of jobs say, from whichever copy in the archive is good, and makes of
// it what is asked of sets of jobs: indexes, and lists of documents.
package metadata

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/catalog"
	"holdfast/index/jobset"
	"holdfast/warc"
)

// Where in a metadata file something stands, behind the organization.
const (
	CDXPath       = "/crawl/index/cdx"
	DocumentsPath = "/crawl/index/documents"
	CrawlLogPath  = "/crawl/logs/crawl.log"
)

// Name is the name of the metadata file of an attempt of a job.
func Name(job uint64, attempt int) catalog.FileName {
	return catalog.FileName(fmt.Sprintf("%d-metadata-%d.warc.gz", job, attempt))
}

// PathOf is what a record of a metadata file is, such as CDXPath; "" for records of other files.
func PathOf(rec *warc.Record) string {
	rest, ours := strings.CutPrefix(rec.TargetURI(), "metadata://")
	if rec.Type != warc.TypeResource || !ours {
		return ""
	}
	path, _, _ := strings.Cut(rest, "?")
	if at := strings.IndexByte(path, '/'); at >= 0 {
		return path[at:]
	}
	return ""
}

// Agreement is the agreed state.
type Agreement interface {
	View(func(catalog.View) error) error
}

// Records reads the archive's files.
type Records interface {
	// Open reads of a file, by name, length bytes from offset; with length 0 to the file's end.
	Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error)
}

// Jobs knows the metadata files of jobs.
type Jobs interface {
	// Attempts returns the attempts of a job whose metadata files are in the archive, and none without that of its
	// present attempt.
	Attempts(job uint64) ([]int, error)
	// Lost returns the attempts before the present one whose metadata files were in the archive and are no more.
	Lost(job uint64) ([]int, error)
}

// Agreed is Jobs by what is agreed.
type Agreed struct{ Agreement }

// Attempts implements Jobs.
func (a Agreed) Attempts(id uint64) (attempts []int, err error) {
	err = a.View(func(v catalog.View) error {
		job, err := v.Job(id)
		if err != nil {
			return err
		}
		for n := 1; n <= job.Attempt; n++ {
			there, err := kept(v, Name(id, n))
			if err != nil {
				return err
			}
			if there {
				attempts = append(attempts, n)
			} else if n == job.Attempt {
				attempts = nil
			}
		}
		return nil
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	return attempts, err
}

// Lost implements Jobs.
func (a Agreed) Lost(id uint64) (attempts []int, err error) {
	err = a.View(func(v catalog.View) error {
		job, err := v.Job(id)
		if err != nil {
			return err
		}
		for n := 1; n < job.Attempt; n++ {
			f, err := v.File(Name(id, n))
			if errors.Is(err, catalog.ErrNotFound) {
				continue // the attempt wrote none, or its node has not brought it in yet
			}
			if err != nil {
				return err
			}
			if f.RemovedAt() != 0 || f.Lost != 0 {
				attempts = append(attempts, n)
			}
		}
		return nil
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	return attempts, err
}

// Files are the metadata files of jobs.
type Files struct {
	Reader // its folder is for sorting, too
	Jobs   Jobs
	Memory int // bytes for sorting
}

// kept reports whether the archive has the file's content.
func kept(v catalog.View, name catalog.FileName) (bool, error) {
	f, err := v.File(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	return err == nil && f.RemovedAt() == 0 && f.Lost == 0, err
}

// Edition is that of a jobset.Source: the attempts whose metadata files are in the archive.
func (f Files) Edition(job uint64) (string, error) {
	attempts, err := f.Jobs.Attempts(job)
	if err != nil {
		return "", err
	}
	if len(attempts) == 0 {
		return "", fmt.Errorf("job %d: %w", job, jobset.ErrNone)
	}
	texts := make([]string, len(attempts))
	for i, n := range attempts {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, "_"), nil
}

// Lines are those of a jobset.Source.
func (f Files) Lines(ctx context.Context, kind jobset.Kind, job uint64, take func([]byte) error) error {
	if kind == jobset.Full {
		return f.visits(ctx, job, func(v *visit) error {
			line, err := v.cdxj(job)
			if err != nil {
				return err
			}
			return take(line)
		})
	}
	return f.each(ctx, job, func(path string, block io.Reader) error {
		if path != CDXPath {
			return nil
		}
		return eachLine(block, take)
	})
}

// each gives the records of a job's metadata files.
func (f Files) each(ctx context.Context, job uint64, take func(path string, block io.Reader) error) error {
	attempts, err := f.Jobs.Attempts(job)
	if err != nil {
		return err
	}
	if len(attempts) == 0 {
		return fmt.Errorf("job %d: %w", job, jobset.ErrNone)
	}
	for _, n := range attempts {
		if err := f.eachOf(ctx, string(Name(job, n)), take); err != nil {
			return err
		}
	}
	return nil
}

func (f Files) eachOf(ctx context.Context, name string, take func(path string, block io.Reader) error) (err error) {
	file, err := f.Read(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Each(ctx, func(rec *warc.Record) error {
		if path := PathOf(rec); path != "" {
			return take(path, rec.Block)
		}
		return nil
	})
}

// longestLine is how long a line may be that is made use of.
const longestLine = 1 << 20

// eachLine gives the lines of a text, without their ends. Longer ones are left out.
func eachLine(text io.Reader, take func([]byte) error) error {
	in := bufio.NewReaderSize(text, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= longestLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if text := strings.TrimRight(string(line), "\r\n"); text != "" && len(line) <= longestLine {
			if err := take([]byte(text)); err != nil {
				return err
			}
		}
		if line = line[:0]; err != nil {
			return nil
		}
	}
}
