package node

import (
	"path/filepath"
	"time"

	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/index/shelf"
	"holdfast/node/archive"
	"holdfast/node/metadata"
)

// jobIndexesOf returns them with what a node has.
func jobIndexesOf(n *Node) metadata.JobIndexes {
	dir := filepath.Join(n.cfg.Data, indexesFolder)
	agreed := metadata.Agreed{Agreement: n.raft}
	return metadata.JobIndexes{Lines: n.jobLines, Documents: n.documents, Extractor: metadata.Extractor{Jobs: agreed,
		Records: archive.Records{Replica: n.replica}, Indexes: n.jobLines, Dir: dir, Disk: n.disk, Memory: 32 << 20,
		Room:    func() (int64, error) { return n.room().Left(n.cfg.Data) },
		Version: Version()}}
}

// indexesFolder is the folder of indexes of jobs.
const indexesFolder = "indexes"

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
