package node

import (
	"errors"
	"io"
	"path/filepath"
	"time"

	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/index"
	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/index/shelf"
	"holdfast/node/agreed"
	"holdfast/node/archive"
	"holdfast/node/batches"
	"holdfast/node/harvester"
	"holdfast/node/ingest"
	"holdfast/node/membership"
	"holdfast/node/metadata"
	"holdfast/node/runner"
	"holdfast/node/vault"
	"holdfast/raft"
	"holdfast/replica"
)

// openHarvests makes what makes jobs of harvests, and runs them here.
func (n *Node) openHarvests() error {
	secrets, err := n.vaultConfig()
	if err != nil {
		return err
	}
	n.vault = vault.New(secrets)
	n.openDerived()
	n.harvester = harvester.New(harvester.Config{Self: n.id, Dir: filepath.Join(n.cfg.Data, "incoming"),
		Agreement: n.raft, Now: dates(n.cfg.Dates, n.clocks), Zones: time.LoadLocation,
		Log: n.log.With("room", "harvester")})
	n.crawls = runner.New(runner.Config{Self: n.id, Name: n.cfg.Name, Version: Version(), Data: n.cfg.Data,
		Origin: runner.Origin{Organization: n.cfg.Organization, Address: n.cfg.Address(),
			Definition: definitions{n.harvester}.find},
		Slots: n.cfg.Limits.Crawls, Lease: time.Duration(n.cfg.Limits.Lease), Disk: n.disk, Log: n.log,
		Agreement: n.raft, Insist: n.agreed.Insist,
		Archive: archive.Entering{Kept: n.store, Replica: n.replica, Log: n.log},
		Silent:  func() time.Duration { silent, _ := n.raft.Heard(); return silent },
		Room:    func() (int64, error) { return n.room.Left(n.cfg.Data) },
		Able:    crawler.Able, Channels: n.cfg.Channels,
		Open: n.vault.Open, Stale: n.vault.Stale, Captures: n.captures, Records: archive.Records{Replica: n.replica},
		Documents: n.documents, Caller: carrier{n.peer}, Alive: n.alive, News: n.changed.C,
		Begin: beginJob(n.traces)})
	n.ingests = ingest.New(ingest.Config{Self: n.id, Dir: filepath.Join(n.cfg.Data, "ingest"), Disk: n.disk,
		Agree: agreed.Unseen{State: n.agreed},
		Room:  func() (int64, error) { return n.room.Left(n.cfg.Data) }, Now: time.Now,
		Log: n.log.With("room", "ingest")})
	return nil
}

// vaultConfig returns the settings of the node's vault.
func (n *Node) vaultConfig() (vault.Config, error) {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return vault.Config{}, err
	}
	key, err := n.cfg.SealKey(n.disk)
	if err != nil {
		return vault.Config{}, err
	}
	only := make([]catalog.NodeID, len(n.cfg.SecretsTo))
	for i, id := range n.cfg.SecretsTo {
		only[i] = catalog.NodeID(id)
	}
	return vault.Config{Self: n.id, Crawls: n.cfg.Limits.Crawls > 0, Only: only, Key: key,
		Proved: *membership.ProveKey(id, key),
		Agree:  n.raft, NoQuorum: raft.ErrNoQuorum, NotPurged: raft.ErrNotPurged,
		Alive: n.isAlive, Local: n.token.Access, Log: n.log.With("room", "vault")}, nil
}

// derivedAge is how long what is made of metadata files is kept without being used.
const derivedAge = 60 * 24 * time.Hour

// openDerived opens what is kept of what metadata files say: documents for jobs that continue others, and indexes.
func (n *Node) openDerived() {
	kept := func(name string, most int64) shelf.Config {
		return shelf.Config{Dir: filepath.Join(n.cfg.Data, name), Disk: n.disk, Most: most, Age: derivedAge,
			Room: func() (int64, error) { return n.room.Left(n.cfg.Data) }, Now: time.Now,
			Log: n.log.With("room", name)}
	}
	files := func(kept shelf.Config) metadata.Files {
		return metadata.Files{Reader: metadata.Reader{Records: archive.Records{Replica: n.replica}, Dir: kept.Dir,
			Room: kept.Room, Log: kept.Log}, Jobs: metadata.Agreed{Agreement: n.raft}, Memory: 32 << 20}
	}
	documents, indexes := kept("documents", 32<<30), kept("indexes", 16<<30)
	n.documents = dedup.NewCache(dedup.Config{Dir: documents.Dir, Disk: documents.Disk, Source: files(documents),
		Memory: 64 << 20, Most: documents.Most, Age: documents.Age, Room: documents.Room, Now: documents.Now,
		Log: documents.Log})
	lines := jobset.NewCache(jobset.Config{Config: indexes, Source: files(indexes), Memory: 32 << 20})
	n.jobIndexes = metadata.JobIndexes{Lines: lines, Documents: n.documents, Extractor: metadata.Extractor{
		Jobs: metadata.Agreed{Agreement: n.raft}, Records: archive.Records{Replica: n.replica}, Indexes: lines,
		Dir: indexes.Dir, Disk: n.disk, Memory: 32 << 20, Room: indexes.Room, Version: Version()}}
}

// openBatches opens what drives batches on this node, and works for those that others drive.
func (n *Node) openBatches() error {
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	near := batches.Nearest{Self: n.id, Place: n.cfg.Replica.Place, Alive: n.alive, Doubted: n.captures.Doubts.Has}
	n.batches = batch.New(batch.Config{Self: n.id, Dir: in("batches"), Work: in("batch-work"), Disk: n.disk,
		Room:     func() (int64, error) { return n.room.Left(n.cfg.Data) },
		Programs: batch.Programs(batch.Tools{Captures: index.Captures, Duplicate: metadata.Duplicate}),
		Catalog:  n.raft, Files: batchFiles{n.store.Open, n.replica}, Nodes: carrier{n.peer},
		Near: near.Order, Duties: batches.Claims{Self: n.id, View: n.raft.View}, Now: n.clocks.Now,
		Limits: batch.Limits{Files: n.cfg.Limits.BatchFiles, Pace: int64(n.cfg.Limits.BatchPace),
			Memory: int64(n.cfg.Limits.BatchMem)},
		Log: n.log.With("room", "batch")})
	return nil
}

// batchFiles are this node's files as programs read them.
type batchFiles struct {
	open func(catalog.FileName) (*replica.Bytes, error)
	doubting
}

// doubting is what a worker reports about what it reads, and asks about the disks that it reads from.
type doubting interface {
	Doubt(name catalog.FileName)
	Busy() bool
}

// Open opens a file in its shard or in the outbox.
func (f batchFiles) Open(name catalog.FileName) (io.ReadCloser, int64, error) {
	b, err := f.open(name)
	if errors.Is(err, replica.ErrNotHere) {
		return nil, 0, batch.ErrAbsent
	}
	if err != nil {
		return nil, 0, err
	}
	return b, b.Size, nil
}

// dates is the clock by which harvests come due.
func dates(of func(time.Time) time.Time, clocks *membership.Clocks) func() time.Time {
	if of == nil {
		return clocks.Now
	}
	return func() time.Time { return of(clocks.Now()) }
}

// definitions tells the runner what jobs of harvests were made from.
type definitions struct{ of *harvester.Harvester }

// find finds what a job was made from.
func (all definitions) find(job catalog.Job) (runner.Definition, error) {
	d, err := all.of.Definition(job)
	if err != nil {
		return runner.Definition{}, err
	}
	out := runner.Definition{Harvest: d.Harvest, Template: d.Template, Schedule: d.Schedule, Continues: d.Continues,
		Info: runner.HarvestInfo{
			HarvestName: d.Said.Name, HarvestComments: d.Said.Comments, ScheduleName: d.Said.Schedule,
			TemplateName: d.TemplateName, TemplateDescription: d.TemplateComment, Audience: d.Said.Audience}}
	if !d.TemplateMade.IsZero() {
		out.Info.TemplateUpdated = d.TemplateMade.UTC().Format(time.RFC3339)
	}
	for _, a := range d.Aliases {
		out.Aliases = append(out.Aliases, runner.Alias(a))
	}
	return out, nil
}
