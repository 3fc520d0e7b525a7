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
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/crawler"
	"holdfast/node/metadata"
	"holdfast/warc"
)

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
	return 1, c.intake().enter(ctx, r.Job, path, -1, catalog.Digest{}) // the file stays until the folder is tidied
}

// MetadataName is the name of the metadata file of the job's present attempt.
func MetadataName(job catalog.Job) catalog.FileName {
	return metadata.Name(job.ID, job.Attempt)
}

// documented reports whether the archive or the outbox has the metadata file. It waits until it knows, because the
// agreed state here may be from before a restart.
func (c *Runner) documented(ctx context.Context, name catalog.FileName) (bool, error) {
	for !c.cfg.Archive.InOutbox(name) && !c.intake().archived(name) {
		if err := c.cfg.Agreement.Linear(ctx); err == nil {
			return c.cfg.Archive.InOutbox(name) || c.intake().archived(name), nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(retryPause):
		}
	}
	return true, nil
}

// MakeDocument makes the attempt's metadata file in its folder. The file is there only when it is whole. The attempt's
// program log ends with it.
func (c *Runner) MakeDocument(r *Attempt) error {
	path := filepath.Join(r.Dir, string(MetadataName(r.Job)))
	making := filepath.Join(r.Dir, "metadata")
	if err := errors.Join(c.cfg.Disk.RemoveAll(making), c.cfg.Disk.MkdirAll(making)); err != nil {
		return err
	}
	log := slog.New(r.out.handler(c.log.Handler())).With("job", r.Job.ID, "attempt", r.Job.Attempt)
	files, list, err := c.cfg.survey(r, making, log)
	if err == nil {
		err = r.out.end()
	}
	if err != nil {
		return err
	}
	made := filepath.Join(making, filepath.Base(path))
	w, err := warc.NewFile(c.cfg.Disk, made, warc.FilesConfig{Info: c.cfg.documentInfo(r.Job),
		Format: warc.Format{Version: "1.0"}}, nil) // older tools of NetarchiveSuite know no other
	if err != nil {
		return err
	}
	d := document{to: w, job: r.Job, organization: cmp.Or(c.cfg.Origin.Organization, "holdfast")}
	if err := errors.Join(d.write(r.Dir, files, list), w.Close()); err != nil {
		return err
	}
	return errors.Join(c.cfg.Disk.Rename(made, path), c.cfg.Disk.RemoveAll(making))
}

// documentInfo is what a metadata file's warcinfo record says.
func (cfg *Config) documentInfo(job catalog.Job) []warc.Field {
	host, err := os.Hostname()
	if err != nil {
		host = cfg.Name
	}
	info := []warc.Field{{Name: "software", Value: "Holdfast/" + cfg.Version}, {Name: "hostname", Value: host},
		{Name: "isPartOf", Value: strconv.FormatUint(job.ID, 10)}}
	if address := cfg.Origin.Address; address != "" {
		info = append(info, warc.Field{Name: "ip", Value: address})
	}
	return info
}

// document is a metadata file that is being written.
type document struct {
	to           *warc.Files
	job          catalog.Job
	organization string
}

// documentFolders are the folders of a crawl that enter its metadata file, and the parts there.
func documentFolders() []struct{ name, part string } {
	return []struct{ name, part string }{{"settings", "setup"}, {"reports", "reports"}, {"logs", "logs"}}
}

// write writes the files of an attempt's folder, and what was found in its WARC files.
func (d *document) write(dir string, files []content, list string) error {
	for _, folder := range documentFolders() {
		err := filepath.WalkDir(filepath.Join(dir, folder.name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return d.file(path, d.uri(folder.part, filepath.Base(path)), kindOf(path))
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if folder.part == "reports" {
			report := archiveFiles(files)
			err := d.record(d.uri(folder.part, "archivefiles-report.txt"), "text/plain", strings.NewReader(report),
				int64(len(report)))
			if err != nil {
				return err
			}
		}
	}
	for _, f := range files {
		uri := fmt.Sprintf("metadata://%s%s?majorversion=2&minorversion=0&harvestid=%d&jobid=%d&filename=%s",
			d.organization, metadata.CDXPath, d.job.Number, d.job.ID, url.QueryEscape(f.name))
		if err := d.file(f.cdx, uri, "application/x-cdx"); err != nil {
			return err
		}
	}
	return d.file(list, fmt.Sprintf("metadata://%s%s?majorversion=1&minorversion=0&harvestid=%d&jobid=%d",
		d.organization, metadata.DocumentsPath, d.job.Number, d.job.ID), "application/x-ndjson")
}

// uri is that of the record of a file of the attempt's folder.
func (d *document) uri(part, name string) string {
	at := fmt.Sprintf("metadata://%s/crawl/%s/%s", d.organization, part, url.PathEscape(name))
	if part == "setup" && (name == aliasesFile || name == continuesFile) {
		return fmt.Sprintf("%s?majorversion=1&minorversion=0&harvestid=%d&harvestnum=%d&jobid=%d", at, d.job.Number,
			d.job.Run, d.job.ID)
	}
	return fmt.Sprintf("%s?heritrixVersion=Holdfast&harvestid=%d&jobid=%d", at, d.job.Number, d.job.ID)
}

func kindOf(path string) string {
	if strings.HasSuffix(path, ".json") {
		return "application/json"
	}
	return "text/plain"
}

// file writes one file as a record.
func (d *document) file(path, uri, kind string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	return d.record(uri, kind, f, stat.Size())
}

func (d *document) record(uri, kind string, block io.ReadSeeker, size int64) error {
	_, err := d.to.Write(warc.Draft{Type: warc.TypeResource, TargetURI: uri, ContentType: kind, Block: block,
		Size: size})
	return err
}

// statsOf translates the figures of a crawl. Who stopped it, and why, is not the reason that counts: that stands in the
// job's wish. Before level 4 a job counts all that came with success: names of hosts, robots.txt and logins, too.
func statsOf(s crawler.Summary, level int) catalog.JobStats {
	reason := "unfinished"
	switch {
	case s.StopLimits:
		reason = s.Reason
	case s.Counters.Queued == 0 && s.Reason == "completed":
		reason = s.Reason
	}
	came := s.Documents
	if level < jobs.LevelOfParts {
		came = crawler.Documents{Objects: s.Counters.Succeeded, Bytes: s.Counters.Bytes}
	}
	return catalog.JobStats{Objects: came.Objects, Bytes: came.Bytes, Failed: s.Counters.Failed, StopReason: reason}
}
