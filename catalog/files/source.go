package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// findSources records what nodes found wrong with the bytes that they keep as files' sources.
func findSources(s *state, b *Findings) (any, error) {
	return eachOf(s, b.Node, b.Files, func(item *Finding) FileName { return item.Name },
		func(m cluster.Member, item *Finding) error { return s.findSource(&m, item) })
}

// findSource ends the node's role as the file's source: nobody counts on its bytes any more, and a node that puts the
// file again becomes the source.
func (s *state) findSource(m *cluster.Member, b *Finding) error {
	if err := checkFinding(b); err != nil {
		return err
	}
	f, err := s.entry(b.Name)
	if err != nil {
		return err
	}
	if !b.wrong() || b.Found == f.SHA256 {
		return agree.Refuse(agree.Invalid, "what was found of %s agrees with the archive", f.Name)
	}
	if f.Removed != 0 || f.Released || f.Source != m.ID {
		return agree.Refuse(agree.Conflict, "the archive does not count on %s as the source of %s", m.Name, f.Name)
	}
	if !s.roomFor(&f, 6) {
		return agree.Refuse(agree.Conflict, "the command is full: report file %s again", f.Name)
	}
	old, now := edit(f)
	now.Released = true
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event(FindSources, string(f.Name), "node=%s filelist=%s checksum=%s found=%s", m.ID, b.FileList,
		b.Checksum, b.Found)
}

// takeSources makes a node the source of files in the place of others that cannot give their bytes.
func takeSources(s *state, b *Takeovers) (any, error) {
	return eachOf(s, b.Node, b.Files, func(item *Takeover) FileName { return item.Name },
		func(m cluster.Member, item *Takeover) error { return s.takeSource(&m, item) })
}

// takeSource compares what the node has seen with the entry: of two nodes that take over at the same time, only one
// succeeds.
func (s *state) takeSource(m *cluster.Member, b *Takeover) error {
	f, err := s.entry(b.Name)
	if err != nil {
		return err
	}
	switch {
	case f.SHA256 != b.SHA256:
		return agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	case f.Removed != 0:
		return agree.Refuse(agree.Conflict, "file %s was removed", f.Name)
	case f.Lost != 0:
		return agree.Refuse(agree.Conflict, "file %s is declared lost", f.Name)
	case f.Complete():
		return agree.Refuse(agree.Conflict, "file %s is complete, and needs no source", f.Name)
	case f.Released || f.Source != b.From:
		return agree.Refuse(agree.Conflict, "%s is not the source of file %s", agree.Clip(string(b.From), 60), f.Name)
	case f.Source == m.ID:
		return nil
	case !s.roomFor(&f, 6):
		return agree.Refuse(agree.Conflict, "the command is full: ask for file %s again", f.Name)
	}
	old, now := edit(f)
	now.Source = m.ID
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event(TakeSources, string(f.Name), "node=%s from=%s why=%s", m.ID, b.From, agree.ClipReason(b.Why))
}
