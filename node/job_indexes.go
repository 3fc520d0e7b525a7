package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/index/shelf"
	"holdfast/internal/disk"
	"holdfast/node/archive"
	"holdfast/node/metadata"
)

// jobIndexes make indexes of sets of jobs for the API.
type jobIndexes struct {
	lines     *jobset.Cache
	documents *dedup.Cache
	records   metadata.Extractor
}

// Records selects records of a job.
func (i jobIndexes) Records(ctx context.Context, job uint64, url, kind *regexp.Regexp) (api.JobIndex, error) {
	found, err := i.records.Open(ctx, job, metadata.Selection{URL: url, Type: kind})
	switch {
	case errors.Is(err, jobset.ErrNone):
		err = fmt.Errorf("%w: no metadata file of job %d can be read now", api.ErrNotFound, job)
	case errors.Is(err, disk.ErrFull):
		err = fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// jobIndexesOf returns them with what a node has.
func jobIndexesOf(n *Node) jobIndexes {
	dir := filepath.Join(n.cfg.Data, indexesFolder)
	agreed := metadata.Agreed{Agreement: n.raft}
	return jobIndexes{n.jobLines, n.documents, metadata.Extractor{Jobs: agreed,
		Records: archive.Records{Replica: n.replica}, Indexes: n.jobLines, Dir: dir, Disk: n.disk, Memory: 32 << 20,
		Room:    func() (int64, error) { return n.room().Left(n.cfg.Data) },
		Version: Version()}}
}

// indexesFolder is the folder of indexes of jobs.
const indexesFolder = "indexes"

// Open makes an index of those of the jobs whose metadata files are in the archive, or finds the one made before.
func (i jobIndexes) Open(ctx context.Context, kind wire.JobIndexKind, jobs []uint64) (index api.JobIndex,
	of wire.JobIndex, err error) {
	switch kind {
	case wire.JobIndexDocuments:
		index, of.Jobs, err = i.documents.Open(ctx, jobs)
	case wire.JobIndexFull:
		index, of.Jobs, err = i.lines.Open(ctx, jobset.Full, jobs)
	default:
		index, of.Jobs, err = i.lines.Open(ctx, jobset.CDX, jobs)
	}
	if errors.Is(err, disk.ErrFull) {
		err = fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	if err != nil {
		return nil, of, err
	}
	if kind != wire.JobIndexDocuments { // these are those of the last attempt
		for _, job := range of.Jobs {
			lost, err := i.records.Jobs.Lost(job)
			if err != nil {
				return nil, of, errors.Join(err, index.Close())
			}
			if len(lost) > 0 {
				of.Incomplete = append(of.Incomplete, job)
			}
		}
	}
	return index, of, nil
}

// derivedAge is how long what is made of metadata files is kept without being used.
const derivedAge = 60 * 24 * time.Hour

// openDerived opens what is kept of what metadata files say: documents for jobs that continue others, and indexes.
func openDerived(n *Node) {
	kept := func(name string, most int64) shelf.Config {
		return shelf.Config{Dir: filepath.Join(n.cfg.Data, name), Disk: n.disk, Most: most, Age: derivedAge,
			Room: func() (int64, error) { return n.room().Left(n.cfg.Data) }, Now: time.Now,
			Log: n.log.With("room", name)}
	}
	files := func(kept shelf.Config) metadata.Files {
		return metadata.Files{Reader: metadata.Reader{Records: archive.Records{Replica: n.replica}, Dir: kept.Dir,
			Room: kept.Room, Log: kept.Log}, Jobs: metadata.Agreed{Agreement: n.raft}, Memory: 32 << 20}
	}
	documents, indexes := kept("documents", 32<<30), kept(indexesFolder, 16<<30)
	n.documents = dedup.NewCache(dedup.Config{Dir: documents.Dir, Disk: documents.Disk, Source: files(documents),
		Memory: 64 << 20, Most: documents.Most, Age: documents.Age, Room: documents.Room, Now: documents.Now,
		Log: documents.Log})
	n.jobLines = jobset.NewCache(jobset.Config{Config: indexes, Source: files(indexes), Memory: 32 << 20})
}
