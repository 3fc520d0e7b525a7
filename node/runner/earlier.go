package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/crawler"
	"holdfast/crawler/chain"
	"holdfast/harvest"
	"holdfast/index/dedup"
)

// survey reads the attempt's WARC files. list is the path of the list of what the job recorded.
func (cfg *Config) survey(r *Attempt, into string, log *slog.Logger) (files []content, list string, err error) {
	to := dedup.NewMaker(r.Job.ID, into, sortRoom)
	defer func() { err = errors.Join(err, to.Close()) }()
	seen := &documents{to: to, before: r.before, log: log}
	if files, err = survey(cfg.Disk, r, into, seen, log); err != nil {
		return nil, "", err
	}
	list = filepath.Join(into, "documents.jsonl")
	return files, list, cfg.Disk.WriteFile(list, func(w io.Writer) error { return to.Write(w) })
}

// lookBack opens what the attempt compares documents with. A job of a harvest that looks for what is archived already,
// or asks servers whether it has changed, is compared with the jobs that it continues, as far as there are lists of
// theirs; which they are stays the same for the whole attempt. Others are compared with all that is archived.
func (cfg *Config) lookBack(ctx context.Context, r *Attempt, from *made, log *slog.Logger) (chain.Earlier, error) {
	if cfg.Documents == nil || r.Job.Number == 0 {
		return crawler.Archived{Captures: cfg.Captures, Records: cfg.Records, Log: log}, nil
	}
	if !looksBack(&from.given) {
		return nil, nil
	}
	asked, err := continued(r.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		asked = from.Continues
	case err != nil:
		return nil, err
	}
	set, used, err := cfg.Documents.Open(ctx, asked)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		log.Warn("the job stores again what earlier jobs stored: their lists of documents cannot be used", "error", err)
		r.out.say("the lists of documents of earlier jobs cannot be used: %v", err)
		from.Continues = nil
		return nil, nil
	}
	r.before, from.Continues = set, used
	r.out.say("%d documents of %d of %d earlier jobs are not stored again", set.Len(), len(used), len(asked))
	return earlierJobs{set, cfg.kept}, nil
}

// looksBack reports whether the settings, or those of a sheet, have a use for what earlier jobs recorded.
func looksBack(s *harvest.Settings) bool {
	return deduplicates(s) || s.Conditional || slices.ContainsFunc(s.Sheets, func(sheet harvest.Sheet) bool {
		return string(sheet.Settings["conditional"]) == "true"
	})
}

// continued reads which jobs' documents the attempt is compared with. The error wraps fs.ErrNotExist before that is
// settled.
func continued(dir string) (ids []uint64, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "settings", continuesFile))
	for word := range strings.SplitSeq(string(text), ",") {
		if err != nil || word == "" {
			continue
		}
		var id uint64
		if id, err = strconv.ParseUint(word, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}
