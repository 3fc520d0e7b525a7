package rebuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
)

// errChanged reports folders that are not what they were when they were looked through.
var errChanged = errors.New("the folders have changed since they were looked through: run it again")

const (
	shardsAtOnce = 512
	eventsAtOnce = 400
	bytesAtOnce  = 256 << 10 // of a command's text
	keysAtOnce   = 800       // that a command writes, about
)

// Kept reports whether the member stays one.
func (s *Survey) Kept(id catalog.NodeID) bool {
	return slices.ContainsFunc(s.keep(""), func(m catalog.Member) bool { return m.ID == id })
}

// Commands names the commands that make the catalog, for a node on which it is made, which becomes a member. They are
// carried out one after the other on an empty state. Folders that have changed since Look are an error.
func (s *Survey) Commands(ctx context.Context, self catalog.Member, now catalog.Time) iter.Seq2[catalog.Command,
	error] {
	return func(yield func(catalog.Command, error) bool) {
		p := &plan{Survey: s, self: self, now: s.clock(now), yield: yield, heads: map[string]bool{},
			kept: map[catalog.NodeID]catalog.ReplicaName{self.ID: self.Replica}}
		for _, m := range s.keep(self.Name) {
			if m.ID != self.ID {
				p.kept[m.ID] = m.Replica
			}
		}
		for _, step := range []func(context.Context) error{p.begin, p.layout, p.trail, p.jobs, p.files,
			p.ledgers, p.end} {
			err := step(ctx)
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				yield(catalog.Command{}, err)
				return
			}
		}
	}
}

// clock is the time of the new catalog: no earlier than that of the one before.
func (s *Survey) clock(now catalog.Time) catalog.Time {
	for i := range s.events {
		now = max(now, s.events[i].At)
	}
	for _, b := range s.books {
		now = max(now, catalog.At(b.Head.Time))
	}
	return now
}

var errStopped = errors.New("nobody wants more commands")

// plan makes the commands.
type plan struct {
	*Survey
	self  catalog.Member
	now   catalog.Time
	yield func(catalog.Command, error) bool
	kept  map[catalog.NodeID]catalog.ReplicaName // the members
	heads map[string]bool                        // heads of ledgers that have come back as files, as they were used
}

// do names one command.
func (p *plan) do(kind catalog.Kind, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	c := catalog.Command{Version: 1, Kind: kind, At: p.now, Actor: string(p.self.ID), Body: text}
	if !p.yield(c, nil) {
		return errStopped
	}
	return nil
}

func (p *plan) begin(context.Context) error {
	c := p.cluster
	c.Level = catalog.Level
	b := catalog.Rebuilding{Cluster: c, Replicas: slices.Clone(p.cfg.Replicas), Members: []catalog.Member{p.self}}
	names := map[catalog.CollectionName]bool{}
	for _, name := range p.cfg.Collections {
		names[name] = true
	}
	for name := range p.homes {
		names[name] = true
	}
	for name := range p.told.collections {
		names[name] = true
	}
	for _, d := range p.documented {
		names[d.job.Collection] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		created := p.told.collections[name]
		if created == 0 {
			created = c.Founded
		}
		b.Collections = append(b.Collections, catalog.Collection{Name: name, Created: created})
	}
	for _, m := range p.keep(p.self.Name) {
		if m.ID != p.self.ID {
			b.Members = append(b.Members, m)
		}
	}
	return p.do(catalog.BeginRebuild, b)
}

// layout gives each shard to the node in whose folder most of its files lie.
func (p *plan) layout(context.Context) error {
	holders := map[catalog.NodeID][]catalog.Shard{}
	for _, r := range p.cfg.Replicas {
		for n := range catalog.Shard(catalog.Shards) {
			best, most := catalog.NodeID(""), int64(0)
			for _, id := range slices.Sorted(maps.Keys(p.kept)) {
				has := p.held[id][n]
				if id == p.self.ID {
					has += p.held[""][n]
				}
				if p.kept[id] == r.Name && has > most {
					best, most = id, has
				}
			}
			if best != "" {
				holders[best] = append(holders[best], n)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		for some := range slices.Chunk(holders[id], shardsAtOnce) {
			err := p.do(files.RecallShards, catalog.Assignment{Replica: p.kept[id], Shards: some,
				Node: id})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *plan) trail(context.Context) error {
	var some []catalog.Event
	size := 0
	flush := func() error {
		if len(some) == 0 {
			return nil
		}
		err := p.do(agree.RecallTrail, agree.TrailRecall{Events: some})
		some, size = nil, 0
		return err
	}
	for _, e := range p.events {
		if size += 600 + 2*len(e.Detail) + 2*len(e.Subject); len(some) == eventsAtOnce || size > bytesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
		some = append(some, e)
	}
	return flush()
}

func (p *plan) jobs(context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(p.documented)) {
		d := p.documented[id]
		for i, part := range d.parts {
			if err := p.do(jobs.RecallPart, jobs.JobAddition{ID: id, Number: i + 1,
				Part: part}); err != nil {
				return err
			}
		}
		job := d.job
		job.Stats.Files = d.files
		if err := p.do(jobs.RecallJob, job); err != nil {
			return err
		}
	}
	return nil
}

// files brings the files back, as many with each command as it may write keys for.
func (p *plan) files(ctx context.Context) error {
	most := min(agree.MaxItems, keysAtOnce/(8+4*len(p.cfg.Replicas)))
	var some []files.FileRecall
	var came, bytes int64
	err := p.each(ctx, func(f *found) error {
		if !f.known {
			return nil
		}
		if f.Removed == 0 && f.Lost == 0 && f.Hidden == 0 {
			came, bytes = came+1, bytes+f.Size
		}
		one := f.FileRecall
		one.Added = min(one.Added, p.now) // bytes may have been written by a clock that was ahead
		if f.Removed == 0 && f.Lost == 0 && p.isHead(f) {
			p.heads[string(f.Name)] = true
		}
		if !p.isMember(one.Source) {
			one.Kept = one.Kept && one.Source == "" // in its own outbox
			one.Source = p.self.ID
		}
		if some = append(some, one); len(some) < most {
			return nil
		}
		err := p.do(files.RecallFiles, files.FileRecalls{Files: some})
		some = nil
		return err
	})
	if err == nil && len(some) > 0 {
		err = p.do(files.RecallFiles, files.FileRecalls{Files: some})
	}
	if err == nil && (came != p.report.Files || bytes != p.report.Bytes) {
		err = fmt.Errorf("%w: %d files of %d bytes, there were %d of %d", errChanged, came, bytes,
			p.report.Files,
			p.report.Bytes)
	}
	return err
}

// isHead reports whether the file is the head of a ledger that is used, with the bytes that were.
func (p *plan) isHead(f *found) bool {
	return slices.ContainsFunc(p.books, func(b *book) bool {
		return b.name == string(f.Name) && digestOfText(b.text) == f.SHA256
	})
}

func (p *plan) isMember(id catalog.NodeID) bool { return p.kept[id] != "" }

// ledgers records the ledgers that were used, so that the next ones follow them. Without the trail they begin again.
func (p *plan) ledgers(context.Context) error {
	if !p.whole {
		return nil
	}
	for _, b := range p.books {
		h := b.Head
		if slices.Contains(p.strange, b.name) || !p.heads[b.name] || !slices.ContainsFunc(p.cfg.Replicas,
			func(r catalog.Replica) bool {
				return string(r.Name) == h.Replica && r.Kind == catalog.Bitarchive
			}) {
			continue
		}
		l := files.Ledger{Replica: catalog.ReplicaName(h.Replica), Serial: h.Serial,
			Name:   catalog.FileName(b.name),
			SHA256: digestOfText(b.text), Time: catalog.At(h.Time), Files: h.Total.Files,
			Bytes:   h.Total.Bytes,
			Missing: h.Missing, First: h.Span.First, Last: h.Span.Last, Recorded: catalog.At(h.Time)}
		if len(h.Sheets) > 0 {
			l.Node = catalog.NodeID(h.Sheets[0].Holder)
		}
		for _, id := range b.signed {
			l.Signed = append(l.Signed, catalog.NodeID(id))
		}
		if err := p.do(files.RecallLedger, l); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) end(context.Context) error {
	b := catalog.Rebuilt{Jobs: p.lastJob, Summary: p.report.summary(), Shut: p.shut()}
	for id, d := range p.documented {
		b.Jobs, b.Harvests = max(b.Jobs, id), max(b.Harvests, d.job.Number)
	}
	return p.do(catalog.EndRebuild, b)
}
