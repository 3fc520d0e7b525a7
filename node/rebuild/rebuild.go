// Package rebuild makes the catalog of a cluster again out of what lies in the folders of its nodes, after every
// catalog was lost: manifests, signed ledgers with the audit trail, metadata files of jobs, and what waits in
// outboxes. It only reads. Where folders differ it votes; it names each difference, and what does not come back. No
// copy is believed: in the new catalog every replica owes a copy of every file, and a node that has the bytes where
// they belong reads them before they count.
package rebuild

import (
	"context"
	"maps"
	"slices"

	"holdfast/catalog"
	"holdfast/ledger"
)

// Config says what is looked into, and what the settings of the cluster say.
type Config struct {
	Dirs    []Dir
	Cluster string   // id; empty: what the folders say
	Name    string   // of the cluster, where no folder says it
	Others  []string // ids of other clusters, whose folders are taken in nevertheless
	Signers []ledger.Trusted

	Replicas    []catalog.Replica
	Collections []catalog.CollectionName // the first is for files of which nothing says the collection

	Whose    func(dir string) (Owner, bool, error) // whose folder it is; false: that of no node
	DomainOf func(seed string) string
	Told     func(shard int, files, bytes int64) // how far it is; may be nil
}

// Survey is what was found in the folders.
type Survey struct {
	cfg        Config
	cluster    catalog.Cluster
	members    map[catalog.NodeID]catalog.Member // that the folders name
	folders    []*folder
	waiting    map[catalog.Shard][]waiting
	shelf      *shelf
	books      []*book
	strange    []string // names of ledgers whose trail is another one
	events     []catalog.Event
	whole      bool // the trail has come back
	told       told
	documented map[uint64]*documented
	read       map[string]measured // what was read, by path
	held       map[catalog.NodeID]map[catalog.Shard]int64
	homes      map[catalog.CollectionName]bool // collections of files
	lastJob    uint64
	unknown    map[uint64]bool // jobs by names of files alone
	report     Report
	done       bool // the report is made
	passed     progress
}

// progress counts what was gone through.
type progress struct{ files, bytes int64 }

// measured is what was read of a file.
type measured struct {
	size int64
	sum  catalog.Digest
	err  error
}

// Look looks through all folders and returns what was found. It changes nothing. It needs memory for one shard, the
// audit trail, and the jobs.
func Look(ctx context.Context, cfg Config) (*Survey, error) {
	s := &Survey{cfg: cfg, members: map[catalog.NodeID]catalog.Member{}, waiting: map[catalog.Shard][]waiting{},
		shelf: newShelf(), documented: map[uint64]*documented{}, read: map[string]measured{},
		held: map[catalog.NodeID]map[catalog.Shard]int64{}, homes: map[catalog.CollectionName]bool{},
		unknown: map[uint64]bool{},
		report: Report{Differences: []Difference{}, Lacking: []string{}, Ledgers: []LedgerUsed{},
			Members: []string{}}}
	for _, step := range []func(context.Context) error{s.open, s.ledgers, s.trail, s.jobs, s.survey} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.finish()
	return s, nil
}

// Report returns what was found.
func (s *Survey) Report() Report { return s.report }

// survey goes through all shards once, for the report.
func (s *Survey) survey(ctx context.Context) error {
	return s.each(ctx, func(f *found) error {
		s.count(f)
		return nil
	})
}

// each decides about all files, shard by shard.
func (s *Survey) each(ctx context.Context, take func(*found) error) (err error) {
	for _, b := range s.books {
		if err := b.rewind(ctx, s.shelf); err != nil {
			return err
		}
		defer b.Drop()
	}
	fates := byShard(maps.Keys(s.told.fates))
	for n := range catalog.Shard(catalog.Shards) {
		all, err := s.gather(n, fates[n])
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := s.decide(ctx, name, all[name])
			if err != nil {
				return err
			}
			if err := take(f); err != nil {
				return err
			}
		}
		if s.cfg.Told != nil {
			s.cfg.Told(int(n)+1, s.passed.files, s.passed.bytes)
		}
	}
	for _, b := range s.books {
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}

func byShard(names func(yield func(catalog.FileName) bool)) map[catalog.Shard][]catalog.FileName {
	out := map[catalog.Shard][]catalog.FileName{}
	for name := range names {
		out[name.Shard()] = append(out[name.Shard()], name)
	}
	return out
}

// finish ends the report.
func (s *Survey) finish() {
	r := &s.report
	r.Cluster, r.Name, r.Epoch, r.Events = s.cluster.ID, s.cluster.Name, s.cluster.Epoch, int64(len(s.events))
	for _, f := range s.folders {
		r.Folders = append(r.Folders, f.facts)
	}
	for _, m := range s.keep("") {
		r.Members = append(r.Members, m.Name)
	}
	r.Jobs, r.UnknownJobs = int64(len(s.documented)), int64(len(s.unknown))
	for _, d := range s.documented {
		if !d.outcome {
			r.Unended++
		}
	}
	if r.Undecided > 0 {
		s.lacks("%d files about which the folders differ, and nothing decides: their bytes stay where "+
			"they are, and are "+
			"listed by holdfast file strays", r.Undecided)
	}
	if r.Absent > 0 {
		s.lacks("the bytes of %d files that ledgers or manifests list: they are in none of the folders",
			r.Absent)
	}
	if r.Unread > 0 {
		s.lacks("what could not be read: %d folders or files, as named above", r.Unread)
	}
	if r.Unlisted > 0 {
		s.lacks("what %d files have to be: no manifest or ledger lists them, and they are taken as they "+
			"lie", r.Unlisted)
	}
	for _, f := range s.folders {
		if f.facts.Files+f.facts.Listed+f.facts.Waiting == 0 {
			s.lacks("what lay in %s: there is nothing in it; is a disk not mounted?", f.dir)
		}
	}
	for _, b := range s.books {
		if b.Head.Time.After(r.Until) {
			r.Until = b.Head.Time
		}
	}
	if r.Supposed > 0 {
		s.lacks("the collection of %d files: nothing says it, and they are in %s now", r.Supposed,
			s.cfg.Collections[0])
	}
	if r.UnknownJobs > 0 {
		s.lacks("%d jobs of which there are files, and no metadata file that can be read", r.UnknownJobs)
	}
	if s.shut() {
		s.lacks("the access rules, if there were any: readers are shown nothing until the two rules that stand for " +
			"them are removed (holdfast access list)")
	}
	for _, what := range slices.Sorted(maps.Keys(s.told.counts)) {
		s.lacks("%s: %d by the audit trail", what, s.told.counts[what])
	}
	known := map[catalog.ReplicaName]bool{}
	for _, one := range s.cfg.Replicas {
		known[one.Name] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[id]; !known[m.Replica] {
			s.lacks("replica %s of node %s: it is not in cluster.toml", m.Replica, m.Name)
		}
	}
	s.done = true
}

// keep returns the members that stay members: those whose folders are here, of replicas that the settings have, but for
// those that have the name of another node now.
func (s *Survey) keep(not string) (out []catalog.Member) {
	for _, f := range s.folders {
		m, known := s.members[f.node]
		inSettings := slices.ContainsFunc(s.cfg.Replicas,
			func(r catalog.Replica) bool { return r.Name == m.Replica })
		twice := slices.ContainsFunc(out, func(o catalog.Member) bool {
			return o.ID == m.ID ||
				o.Name == m.Name
		})
		if known && inSettings && !twice && m.Name != not && len(m.Key) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// shut reports whether there may have been access rules, which are lost: the trail has some, or is not whole.
func (s *Survey) shut() bool { return !s.whole || s.told.counts[ruleCount] > 0 }
