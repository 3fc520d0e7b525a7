package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/warc"
)

// organization is the host part of the metadata records' URIs when the cluster's name cannot be one.
const organization = "holdfast"

// documentation writes the attempt's metadata file, <job>-metadata-<attempt>.warc.gz, with its settings, reports and
// logs under the URIs that NetarchiveSuite's tools read, and lets it enter the archive. It returns the number of files.
func (c *crawls) documentation(ctx context.Context, r *crawling) (int, error) {
	name := fmt.Sprintf("%d-metadata-%d.warc.gz", r.job.ID, r.job.Attempt)
	path := filepath.Join(r.dir, name)
	if c.n.archived(catalog.FileName(name)) {
		return 1, nil
	}
	if err := c.n.disk.RemoveAll(path); err != nil {
		return 0, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = c.n.cfg.Name
	}
	info := []warc.Field{{Name: "software", Value: "Holdfast/" + Version()}, {Name: "hostname", Value: host},
		{Name: "isPartOf", Value: strconv.FormatUint(r.job.ID, 10)}}
	w, err := warc.NewFile(c.n.disk, path, warc.FilesConfig{Info: info}, nil)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(c.writeDocumentation(w, r), w.Close()); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	if err := c.enter(ctx, r.job, path, -1, catalog.Digest{}); err != nil {
		return 0, err
	}
	return 1, c.n.disk.Remove(path)
}

func (c *crawls) writeDocumentation(w *warc.Files, r *crawling) error {
	for _, folder := range []string{"settings", "reports", "logs"} {
		err := filepath.WalkDir(filepath.Join(r.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return c.writeDocument(w, r.job, folder, path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeDocument writes one file as a resource record.
func (c *crawls) writeDocument(w *warc.Files, job catalog.Job, folder, path string) error {
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
	_, err = w.Write(warc.Draft{Type: warc.TypeResource, TargetURI: uri, ContentType: kind, Block: f, Size: stat.Size()})
	return err
}

// statsOf translates what a crawl brought in.
func statsOf(s crawler.Summary) catalog.JobStats {
	return catalog.JobStats{Objects: s.Counters.Succeeded, Bytes: s.Counters.Bytes, Failed: s.Counters.Failed, StopReason: s.Reason}
}
