package rebuild

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/ledger"
)

// origin says when a file entered, its collection, and which job made it: by the ledgers; else by the audit trail, by
// the entry beside a file in an outbox, by the metadata file of its job, by the name and the first record of the file
// itself, and by how old its bytes are.
func (s *Survey) origin(f *found, e *evidence) {
	if is := s.voted(f, e); is != (ledger.Origin{}) {
		f.Added, f.Collection = catalog.Time(is.Added), catalog.CollectionName(is.Collection)
		f.Job, f.Attempt, f.dated = is.Job, is.Attempt, true
		return
	}
	for _, one := range e.bytes {
		if f.Added == 0 || one.at < f.Added {
			f.Added = max(one.at, 1)
		}
	}
	if put, there := s.told.puts[f.Name]; there && put.sha256 == f.SHA256 {
		f.Added, f.Collection, f.dated = put.at, put.collection, true
	}
	if e.entry != nil && e.entry.SHA256 == f.SHA256 {
		f.Collection = cmp.Or(f.Collection, e.entry.Collection)
		f.Job, f.Attempt = e.entry.Job, e.entry.Attempt
	}
	if f.Job == 0 && !strings.HasPrefix(string(f.Name), "ledger-") {
		s.jobOf(f, e)
	}
	f.Added = cmp.Or(f.Added, s.cluster.Founded, 1)
	if f.Collection == "" && strings.HasPrefix(string(f.Name), "ledger-") {
		f.Collection = homeOfLedger(s, f.Name)
	}
	if agree.CheckName("collection", string(f.Collection)) != nil {
		f.Collection, f.supposed = s.cfg.Collections[0], true
	}
}

// voted returns what most ledgers say of where the file comes from.
func (s *Survey) voted(f *found, e *evidence) ledger.Origin {
	var all []ledger.Origin
	for _, o := range e.origins {
		if !slices.Contains(all, o.Origin) {
			all = append(all, o.Origin)
		}
	}
	if len(all) == 0 {
		return ledger.Origin{}
	}
	slices.SortFunc(all, func(a, b ledger.Origin) int {
		return cmp.Or(cmp.Compare(a.Added, b.Added), cmp.Compare(a.Collection, b.Collection),
			cmp.Compare(a.Job, b.Job))
	})
	best := most(all, func(is ledger.Origin) (n int) {
		for _, o := range e.origins {
			if o.Origin == is {
				n++
			}
		}
		return n
	})
	if len(all) > 1 {
		s.differs(string(f.Name), "ledgers differ in where it comes from:%s and%s; the first is taken", best[0],
			all[slices.IndexFunc(all, func(o ledger.Origin) bool { return o != best[0] })])
	}
	return best[0]
}

// jobOf says which job made a file, by its name and its first record.
func (s *Survey) jobOf(f *found, e *evidence) {
	id := jobOfName(string(f.Name))
	if s.documented[id] == nil {
		for _, one := range e.bytes {
			if !strings.Contains(string(f.Name), "arc") { // neither WARC nor ARC
				break
			}
			if inFile := jobInFile(one.path); inFile != 0 {
				id = inFile
				break
			}
		}
	}
	if id == 0 {
		return
	}
	d := s.documented[id]
	if d == nil {
		return // a name alone does not make it the job's
	}
	f.Job, f.Collection = id, cmp.Or(f.Collection, d.job.Collection)
	if of := metadataName(string(f.Name)); of.job == id {
		f.Attempt = of.attempt
	} else if len(d.attempts) == 1 {
		f.Attempt = d.attempts[0]
	}
}

// homeOfLedger returns the collection that the files of a replica's ledgers belong to, as the nodes choose it: of those
// that the replica holds, the one that most replicas hold.
func homeOfLedger(s *Survey, name catalog.FileName) catalog.CollectionName {
	for _, r := range s.cfg.Replicas {
		if !strings.HasPrefix(string(name), "ledger-"+string(r.Name)+"-") {
			continue
		}
		var all []catalog.CollectionName
		for _, c := range s.cfg.Collections {
			if r.Holds(c) {
				all = append(all, c)
			}
		}
		if len(all) == 0 {
			return ""
		}
		slices.SortFunc(all, func(a, b catalog.CollectionName) int {
			return cmp.Or(cmp.Compare(s.told.collections[a], s.told.collections[b]), cmp.Compare(a, b))
		})
		return most(all, func(c catalog.CollectionName) (n int) {
			for _, r := range s.cfg.Replicas {
				if r.Kind == catalog.Bitarchive && r.Holds(c) {
					n++
				}
			}
			return n
		})[0]
	}
	return ""
}

// count adds a file to the report.
func (s *Survey) count(f *found) {
	s.passed.files++
	made := cmp.Or(f.Job, jobOfName(string(f.Name)))
	s.lastJob = max(s.lastJob, made)
	if !f.known {
		return
	}
	s.homes[f.Collection] = true
	switch d := s.documented[made]; {
	case made != 0 && d == nil:
		s.unknown[made] = true
	case d != nil && f.Job == made && f.Attempt == d.job.Attempt:
		d.files++
	}
	r := &s.report
	switch {
	case f.Removed != 0:
		r.Removed++
		return
	case f.Lost != 0:
		r.Lost++
		return
	case f.Hidden != 0:
		r.Hidden++
	default:
		r.Files++
		r.Bytes += f.Size
	}
	if f.absent {
		r.Absent++
		s.differs(string(f.Name), "no folder has its bytes")
	}
	if f.unlisted {
		r.Unlisted++
	}
	if f.dated {
		r.Dated++
	}
	if f.supposed {
		r.Supposed++
	}
}
