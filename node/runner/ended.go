package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/internal/disk"
	"holdfast/node/metadata"
	"holdfast/warc"
)

// EndedConfig holds what Ended needs.
type EndedConfig struct {
	Dir       string // of its own
	Disk      disk.Disk
	Agreement Agreement
	Records   crawler.Records
	Room      func() (int64, error) // for Dir
	Most      int64                 // bytes of files that nobody reads at the moment; 0: 8 GiB
	Log       *slog.Logger
}

// endedMost is how many bytes are kept unpacked if nothing else is said.
const endedMost = 8 << 30

// Ended gives the settings, reports and logs of jobs that have ended, on any node: it unpacks their metadata files into
// folders that look like those of crawls. Every byte is compared with its record's digest before the first one is
// given. Folders are removed, those used longest ago first, when there is too much.
type Ended struct {
	cfg EndedConfig

	mu      sync.Mutex
	begun   bool // what an earlier process left is removed
	folders map[string]*unpacked
	uses    int
}

// unpacked is the folder of a job's attempt.
type unpacked struct {
	ready chan struct{} // closed once the folder is there, or is not to be
	err   error
	bytes int64
	users int
	used  int // the higher, the later
}

// NewEnded returns an Ended. It removes what is in its folder at its first use.
func NewEnded(cfg EndedConfig) *Ended {
	cfg.Most = cmp.Or(cfg.Most, endedMost)
	return &Ended{cfg: cfg, folders: map[string]*unpacked{}}
}

// HasEnded reports whether nothing more happens to the attempts of a job.
func HasEnded(job *catalog.Job) bool {
	switch job.State {
	case catalog.JobDone, catalog.JobFailed, catalog.JobResubmitted, catalog.JobFailedRejected:
		return true
	}
	return false
}

// Use calls do with a folder that has what is in the metadata file of the job's last attempt: settings, reports and
// logs. The folder stays until do returns. fs.ErrNotExist: the job has not ended, or the archive has no such file.
func (e *Ended) Use(ctx context.Context, job *catalog.Job, do func(dir string) error) error {
	name := MetadataName(*job)
	if err := e.archived(job, name); err != nil {
		return err
	}
	for {
		key := fmt.Sprintf("%d-%d", job.ID, job.Attempt)
		one, first, err := e.enter(key)
		if err != nil {
			return err
		}
		dir := filepath.Join(e.cfg.Dir, key)
		if first {
			one.bytes, one.err = e.unpack(ctx, string(name), dir)
			e.made(key, one)
		}
		select {
		case <-one.ready:
		case <-ctx.Done():
			e.leave(one)
			return ctx.Err()
		}
		err = one.err
		if err == nil {
			err = do(dir)
		}
		e.leave(one)
		if !first && ctx.Err() == nil && errors.Is(one.err, context.Canceled) {
			continue // who began it did not wait
		}
		return err
	}
}

// archived returns fs.ErrNotExist unless the archive has the file.
func (e *Ended) archived(job *catalog.Job, name catalog.FileName) error {
	there := false
	if HasEnded(job) {
		err := e.cfg.Agreement.View(func(v catalog.View) error {
			f, err := v.File(name)
			there = err == nil && f.RemovedAt() == 0 && f.Lost == 0
			if errors.Is(err, catalog.ErrNotFound) {
				err = nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if !there {
		return fmt.Errorf("job %d has no metadata file in the archive: %w", job.ID, fs.ErrNotExist)
	}
	return nil
}

// enter takes part in the use of a folder. Who is the first makes it.
func (e *Ended) enter(key string) (one *unpacked, first bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.begun {
		if err := errors.Join(e.cfg.Disk.RemoveAll(e.cfg.Dir), e.cfg.Disk.MkdirAll(e.cfg.Dir)); err != nil {
			return nil, false, err
		}
		e.begun = true
	}
	if one = e.folders[key]; one == nil {
		one, first = &unpacked{ready: make(chan struct{})}, true
		e.folders[key] = one
	}
	one.users++
	return one, first, nil
}

// made ends the making of a folder. One that could not be made is not remembered.
func (e *Ended) made(key string, one *unpacked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one.err != nil {
		delete(e.folders, key)
	}
	close(one.ready)
}

// leave ends the use of a folder, and removes what is too much.
func (e *Ended) leave(one *unpacked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	one.users--
	e.uses++
	one.used = e.uses
	var idle []string
	total := int64(0)
	for key, f := range e.folders {
		if f.users == 0 {
			idle, total = append(idle, key), total+f.bytes
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return e.folders[a].used - e.folders[b].used })
	for _, key := range idle {
		if total <= e.cfg.Most {
			return
		}
		total -= e.folders[key].bytes
		delete(e.folders, key)
		if err := e.cfg.Disk.RemoveAll(filepath.Join(e.cfg.Dir, key)); err != nil {
			e.cfg.Log.Warn("logs of a job that are not needed cannot be removed", "folder", key, "error", err)
		}
	}
}

// What is wrong with a metadata file.
var (
	errNothing  = errors.New("no settings, reports or logs are in it")
	errUnproved = errors.New("a record has no digest that it could be compared with")
)

// unpack makes a folder of a metadata file.
func (e *Ended) unpack(ctx context.Context, name, dir string) (bytes int64, err error) {
	making := dir + ".making"
	if err := errors.Join(e.cfg.Disk.RemoveAll(making), e.cfg.Disk.MkdirAll(making)); err != nil {
		return 0, err
	}
	if bytes, err = e.records(ctx, name, making); err != nil {
		return 0, errors.Join(fmt.Errorf("unpack %s: %w", name, err), e.cfg.Disk.RemoveAll(making))
	}
	return bytes, e.cfg.Disk.Rename(making, dir)
}

// records writes the records of a metadata file to files.
func (e *Ended) records(ctx context.Context, name, into string) (bytes int64, err error) {
	reader := metadata.Reader{Records: e.cfg.Records, Dir: e.cfg.Dir, Room: e.cfg.Room, Log: e.cfg.Log}
	file, err := reader.Read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	found := 0
	err = file.Each(ctx, func(rec *warc.Record) error {
		folder, base := folderOf(rec.TargetURI())
		if rec.Type != warc.TypeResource || folder == "" {
			return nil
		}
		found++
		if rec.Header.Get("WARC-Block-Digest") == "" {
			return fmt.Errorf("%s/%s: %w", folder, base, errUnproved)
		}
		n, err := e.record(rec, filepath.Join(into, folder), base)
		if bytes += n; err != nil {
			err = fmt.Errorf("%s/%s: %w", folder, base, err)
		}
		return err
	})
	if err == nil && found == 0 {
		err = errNothing
	}
	return bytes, err
}

// folderOf returns where the file of a record lies in the folder of a crawl, "" if it is not from there.
func folderOf(uri string) (folder, base string) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "metadata" {
		return "", ""
	}
	part, base, _ := strings.Cut(strings.TrimPrefix(u.Path, "/crawl/"), "/")
	if base == "" || !filepath.IsLocal(base) || filepath.Base(base) != base {
		return "", ""
	}
	for _, f := range documentFolders() {
		if f.part == part {
			return f.name, base
		}
	}
	return "", ""
}

// record writes a record's block to a file.
func (e *Ended) record(rec *warc.Record, dir, base string) (n int64, err error) {
	size, err := strconv.ParseInt(rec.Header.Get("Content-Length"), 10, 64)
	if err != nil {
		return 0, err
	}
	if left, err := e.cfg.Room(); err != nil || left < size {
		return 0, errors.Join(err, fmt.Errorf("it has %d bytes, and the node has room for %d", size, left))
	}
	if err := e.cfg.Disk.MkdirAll(dir); err != nil {
		return 0, err
	}
	err = e.cfg.Disk.WriteFile(filepath.Join(dir, base), func(w io.Writer) (err error) {
		n, err = io.Copy(w, rec.Block)
		return err
	})
	return n, err
}

// Paper is a file of a job that has ended.
type Paper struct {
	Folder, Name string
	Type         string // media type
	Size         int64
}

// Papers lists what is in a folder that Use gives.
func Papers(dir string) (all []Paper, err error) {
	for _, folder := range documentFolders() {
		entries, err := os.ReadDir(filepath.Join(dir, folder.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			stat, err := entry.Info()
			if err != nil {
				return nil, err
			}
			all = append(all, Paper{Folder: folder.name, Name: entry.Name(), Type: kindOf(entry.Name()),
				Size: stat.Size()})
		}
	}
	return all, nil
}
