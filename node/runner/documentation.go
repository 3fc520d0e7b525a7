package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/warc"
)

// organization is the host part of the metadata records' URIs when the cluster's name cannot be one.
const organization = "holdfast"

// Document lets the attempt's metadata file enter the archive, <job>-metadata-<attempt>.warc.gz, with its settings,
// reports and logs under the URIs that NetarchiveSuite's tools read. The file is made once: made again it would have
// other bytes, which the archive refuses. It returns the number of files.
func (c *Runner) Document(ctx context.Context, r *Attempt) (int, error) {
	name := MetadataName(r.Job)
	path := filepath.Join(r.Dir, string(name))
	if !exists(path) {
		there, err := c.documented(ctx, name)
		if there || err != nil {
			return 1, err
		}
		if err := c.MakeDocument(r); err != nil {
			return 0, fmt.Errorf("write %s: %w", path, err)
		}
	}
	return 1, c.enter(ctx, r.Job, path, -1, catalog.Digest{}) // the file stays until the folder is tidied
}

// MetadataName is the name of the metadata file of the job's present attempt.
func MetadataName(job catalog.Job) catalog.FileName {
	return catalog.FileName(fmt.Sprintf("%d-metadata-%d.warc.gz", job.ID, job.Attempt))
}

// documented reports whether the archive or the outbox has the metadata file. It waits until it knows, because the
// agreed state here may be from before a restart.
func (c *Runner) documented(ctx context.Context, name catalog.FileName) (bool, error) {
	for !c.cfg.Archive.InOutbox(name) && !c.archived(name) {
		if err := c.cfg.Agreement.Linear(ctx); err == nil {
			return c.cfg.Archive.InOutbox(name) || c.archived(name), nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(retryPause):
		}
	}
	return true, nil
}

// MakeDocument makes the attempt's metadata file in its folder. The file is there only when it is whole.
func (c *Runner) MakeDocument(r *Attempt) error {
	path := filepath.Join(r.Dir, string(MetadataName(r.Job)))
	making := filepath.Join(r.Dir, "metadata")
	if err := c.cfg.Disk.RemoveAll(making); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = c.cfg.Name
	}
	info := []warc.Field{{Name: "software", Value: "Holdfast/" + c.cfg.Version}, {Name: "hostname", Value: host},
		{Name: "isPartOf", Value: strconv.FormatUint(r.Job.ID, 10)}}
	made := filepath.Join(making, filepath.Base(path))
	w, err := warc.NewFile(c.cfg.Disk, made, warc.FilesConfig{Info: info}, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(c.writeDocumentation(w, r), w.Close()); err != nil {
		return err
	}
	return errors.Join(c.cfg.Disk.Rename(made, path), c.cfg.Disk.RemoveAll(making))
}

func (c *Runner) writeDocumentation(w *warc.Files, r *Attempt) error {
	for _, folder := range []string{"settings", "reports", "logs"} {
		err := filepath.WalkDir(filepath.Join(r.Dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return c.writeDocument(w, r.Job, folder, path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeDocument writes one file as a resource record.
func (c *Runner) writeDocument(w *warc.Files, job catalog.Job, folder, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	part := map[string]string{"settings": "setup", "reports": "reports", "logs": "logs"}[folder]
	kind := "text/plain"
	if strings.HasSuffix(path, ".json") {
		kind = "application/json"
	}
	uri := fmt.Sprintf("metadata://%s/crawl/%s/%s?heritrixVersion=Holdfast&harvestid=%s&jobid=%d", organization, part,
		filepath.Base(path), fileWord(job.Harvest), job.ID)
	_, err = w.Write(warc.Draft{Type: warc.TypeResource, TargetURI: uri, ContentType: kind,
		Block: f, Size: stat.Size()})
	return err
}

// statsOf translates the figures of a crawl.
func statsOf(s crawler.Summary) catalog.JobStats {
	return catalog.JobStats{Objects: s.Counters.Succeeded, Bytes: s.Counters.Bytes, Failed: s.Counters.Failed,
		StopReason: s.Reason}
}
