package domains

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func beginIngest(s *agree.State, b *IngestBeginning) (any, error) {
	if err := agree.CheckName("ingest", b.ID); err != nil {
		return nil, err
	}
	if err := hasCollection(s, b.Collection); err != nil {
		return nil, err
	}
	if _, err := cluster.Speaker(s, b.Node); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyIngest(b.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "there is an ingest %s already", b.ID)
	}
	if b.Size < 0 {
		return nil, agree.Refuse(agree.Invalid, "a list of %d bytes", b.Size)
	}
	running, err := agree.Tails(s, prefixReadingBy(b.Node), "", maxIngests)
	if err != nil {
		return nil, err
	}
	if len(running) >= maxIngests {
		return nil, agree.Refuse(agree.Conflict, "the node has %d ingests that run: no more", len(running))
	}
	i := &Ingest{ID: b.ID, Collection: b.Collection, Node: b.Node, By: s.Actor, Size: b.Size, SHA256: b.SHA256,
		State: IngestRunning, Began: s.At}
	s.Mark(keyReading(i.Node, i.ID))
	if err := s.Set(keyIngest(i.ID), i); err != nil {
		return nil, err
	}
	return i, s.Event(BeginIngest, i.ID, "collection=%s size=%d sha256=%s", i.Collection, i.Size, i.SHA256)
}

// reading returns an ingest that runs, for the node that reads the list.
func reading(s *agree.State, id string, node agree.NodeID) (*Ingest, error) {
	i, there, err := agree.Get[Ingest](s, keyIngest(id))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no ingest %q", agree.Clip(id, 64))
	}
	if err := s.SpeaksFor(node); err != nil {
		return nil, err
	}
	if i.Node != node {
		return nil, agree.Refuse(agree.Denied, "ingest %s is another node's", i.ID)
	}
	return &i, nil
}

// addIngested brings domains into the catalog. A chunk that was carried out changes nothing.
func addIngested(s *agree.State, b *IngestChunk) (any, error) {
	i, err := reading(s, b.ID, b.Node)
	if err != nil {
		return nil, err
	}
	if b.Seq <= i.Seq && b.Seq > 0 {
		return i, nil
	}
	if i.State != IngestRunning || b.Seq != i.Seq+1 {
		return nil, agree.Refuse(agree.Conflict, "ingest %s is %s, and has %d chunks", i.ID, i.State, i.Seq)
	}
	if len(b.Names) > MaxIngestNames || len(b.Bad) > MaxIngestBad || b.Line < i.Line || b.At < i.At || b.At > i.Size {
		return nil, agree.Refuse(agree.Invalid, "a chunk of %d names and %d bad lines, to line %d: at most %d and %d",
			len(b.Names), len(b.Bad), b.Line, MaxIngestNames, MaxIngestBad)
	}
	if err := hasCollection(s, i.Collection); err != nil {
		return nil, err
	}
	made := int64(0)
	for _, name := range b.Names {
		if err := name.Check(); err != nil {
			return nil, err
		}
		there, err := agree.Has(s, keyDomain(name))
		if err != nil {
			return nil, err
		}
		if there {
			i.Known++
			continue
		}
		made++
		if err := put(s, &Domain{Name: name, Collection: i.Collection, Index: s.Index, Created: s.At}); err != nil {
			return nil, err
		}
	}
	if err := count(s, i.Collection, made); err != nil {
		return nil, err
	}
	i.Seq, i.Line, i.At, i.Made = b.Seq, b.Line, b.At, i.Made+made
	if err := i.note(s, b.Bad); err != nil {
		return nil, err
	}
	return i, s.Set(keyIngest(i.ID), i)
}

// note keeps the bad lines of a chunk. With too many of them, the ingest ends.
func (i *Ingest) note(s *agree.State, bad []BadLine) error {
	if len(bad) == 0 {
		return nil
	}
	for j := range bad {
		bad[j].Reason = agree.ClipReason(bad[j].Reason)
	}
	if i.Bad += int64(len(bad)); i.Bad > MaxBadLines {
		i.end(s, IngestFailed, "more than 10000 lines are bad: this is no list of domains")
	}
	return s.Set(keyBad(i.ID, i.Seq), badLines{bad})
}

func (i *Ingest) end(s *agree.State, state IngestState, reason string) {
	i.State, i.Reason, i.Ended = state, agree.ClipReason(reason), s.At
	s.Delete(keyReading(i.Node, i.ID))
}

func endIngest(s *agree.State, b *IngestEnding) (any, error) {
	i, err := reading(s, b.ID, b.Node)
	if err != nil || i.State != IngestRunning {
		return i, err
	}
	if b.Seq != i.Seq {
		return nil, agree.Refuse(agree.Conflict, "ingest %s has %d chunks", i.ID, i.Seq)
	}
	if i.end(s, IngestDone, b.Reason); b.Failed {
		i.State = IngestFailed
	}
	return i, s.Set(keyIngest(i.ID), i)
}

// stopIngest stops an ingest, whether its node is there or not.
func stopIngest(s *agree.State, b *IngestStop) (any, error) {
	i, there, err := agree.Get[Ingest](s, keyIngest(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no ingest %q", agree.Clip(b.ID, 64))
	}
	if i.State != IngestRunning {
		return &i, nil
	}
	i.end(s, IngestStopped, b.Reason)
	if err := s.Set(keyIngest(i.ID), i); err != nil {
		return nil, err
	}
	return &i, s.Event(StopIngest, i.ID, "chunks=%d made=%d reason=%s", i.Seq, i.Made, i.Reason)
}
