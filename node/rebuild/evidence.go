package rebuild

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/ledger"
	"holdfast/replica"
)

// mostBytes bounds a file, as the catalog does.
const mostBytes = 1 << 50

// lying is bytes that lie under a file's name.
type lying struct {
	voter  string
	node   catalog.NodeID
	path   string
	size   int64
	at     catalog.Time // when they were written
	outbox bool
	own    bool // in the folder of the node on which the catalog is made
	flat   bool // in a folder that has no shards
}

// origin is what a ledger says of where a file comes from.
type origin struct {
	voter string
	ledger.Origin
}

// evidence is all that is known of a file.
type evidence struct {
	claims  []Claim
	bytes   []lying
	origins []origin
	entry   *catalog.Addition // of one that waits in an outbox
}

// found is what a file is, and what is to be said of it.
type found struct {
	files.FileRecall
	known    bool // it comes back
	absent   bool // no folder has right bytes of it, as far as was looked at
	dated    bool
	supposed bool
	unlisted bool // nothing but its bytes says what it is
}

// gather collects what is known of the files of a shard.
func (s *Survey) gather(n catalog.Shard, fates []catalog.FileName) (map[catalog.FileName]*evidence, error) {
	all := map[catalog.FileName]*evidence{}
	of := func(name catalog.FileName) *evidence {
		e := all[name]
		if e == nil {
			e = &evidence{}
			all[name] = e
		}
		return e
	}
	for _, f := range s.folders {
		for i := range f.homes {
			s.inHome(f, &f.homes[i], n, of)
		}
		s.inSums(f, n, of)
	}
	for _, w := range s.waiting[n] {
		s.inOutbox(&w, of)
	}
	for _, b := range s.books {
		entries, _, err := b.Shard(int(n))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			one := of(catalog.FileName(e.Name))
			one.claims = append(one.claims, Claim{Voter: b.Head.Replica, Kind: Ledger, Where: b.name,
				SHA256: catalog.Digest(e.SHA256), Size: e.Size})
			if e.Origin != (ledger.Origin{}) {
				one.origins = append(one.origins, origin{b.Head.Replica, e.Origin})
			}
		}
	}
	for _, name := range fates {
		of(name)
	}
	return all, nil
}

// inHome adds what lies in a shard's folder, and what its manifest lists.
func (s *Survey) inHome(f *folder, h *home, n catalog.Shard, of func(catalog.FileName) *evidence) {
	names, listed, dir := h.shard(n,
		func(what string, args ...any) { s.differs(h.folder(n), what, args...) },
		func(what string, args ...any) { s.unread(h.folder(n), what, args...) })
	facts := &f.facts
	if s.done {
		facts = &Folder{}
	}
	there := make(map[catalog.FileName]bool, len(names))
	for _, text := range names {
		name := catalog.FileName(text)
		there[name] = true
		info, err := os.Lstat(filepath.Join(dir, text))
		if err != nil {
			s.unread(text, "%v", err)
			continue
		}
		one := of(name)
		one.bytes = append(one.bytes, lying{voter: s.voter(f), node: f.node, path: filepath.Join(dir, text),
			size: info.Size(), at: catalog.At(info.ModTime()), flat: !h.sharded})
		facts.Files++
		facts.Bytes += info.Size()
		if _, isListed := listed[name]; !isListed {
			facts.Unlisted++
		}
		s.holds(f, h, n)
	}
	for name, held := range listed {
		if name.Shard() != n {
			continue
		}
		one := of(name)
		one.claims = append(one.claims, Claim{Voter: s.voter(f), Kind: Manifest, Where: dir,
			SHA256: held.SHA256,
			Size:   held.Size})
		facts.Listed++
		if !there[name] {
			facts.Missing++
			s.holds(f, h, n) // only the list may have been brought
			s.differs(string(name), "its line is in the manifest of %s, and it is not there", dir)
		}
	}
}

// folder is where files of the shard lie.
func (h *home) folder(n catalog.Shard) string {
	if h.sharded {
		return filepath.Join(h.dir, n.String())
	}
	return h.dir
}

// holds counts the files of a shard that lie in a node's folder, or are listed there; the node on which the catalog is
// made has no id yet, if it is new.
func (s *Survey) holds(f *folder, h *home, n catalog.Shard) {
	if s.done || f.node == "" && f.own == "" || h != nil && !h.sharded {
		return
	}
	if s.held[f.node] == nil {
		s.held[f.node] = map[catalog.Shard]int64{}
	}
	s.held[f.node][n]++
}

// inSums adds what a checksum replica lists.
func (s *Survey) inSums(f *folder, n catalog.Shard, of func(catalog.FileName) *evidence) {
	if f.sums == "" {
		return
	}
	path := filepath.Join(f.sums, n.String(), replica.ManifestName)
	listed, faults, err := replica.ReadManifest(path)
	if err != nil {
		s.unread(path, "%v", err)
	}
	if faults > 0 {
		s.differs(path, "%d lines say nothing", faults)
	}
	for name, held := range listed {
		if name.Shard() != n {
			continue
		}
		one := of(name)
		one.claims = append(one.claims, Claim{Voter: s.voter(f), Kind: Checksums, Where: path,
			SHA256: held.SHA256,
			Size:   held.Size})
		if !s.done {
			f.facts.Listed++
			s.holds(f, nil, n)
		}
	}
}

// inOutbox adds a file that waits in an outbox.
func (s *Survey) inOutbox(w *waiting, of func(catalog.FileName) *evidence) {
	path := filepath.Join(w.in.outbox, string(w.name))
	info, err := os.Lstat(path)
	if err != nil {
		s.unread(string(w.name), "%v", err)
		return
	}
	if !s.done {
		w.in.facts.Waiting++
	}
	one := of(w.name)
	one.bytes = append(one.bytes, lying{voter: s.voter(w.in), node: w.in.node, path: path, size: info.Size(),
		at: catalog.At(info.ModTime()), outbox: true, own: w.in.own != ""})
	as, err := w.note()
	if err != nil {
		s.differs(string(w.name), "its entry in the outbox of %s cannot be read: %v", w.in.dir, err)
		return
	}
	one.claims = append(one.claims, Claim{Voter: s.voter(w.in), Kind: Note, Where: path, SHA256: as.SHA256,
		Size: as.Size})
	one.entry = &as
}

// decide says what a file is, by all that is known of it.
func (s *Survey) decide(ctx context.Context, name catalog.FileName, e *evidence) (*found, error) {
	f := &found{}
	f.Name = name
	fate, hasFate := s.told.fates[name]
	correct(s.told.corrected[name], e)
	if len(e.claims) == 0 && len(e.bytes) == 0 { // the trail alone knows of it
		return f, s.fateAlone(f, fate)
	}
	unlisted := len(e.claims) == 0
	if unlisted && !slices.ContainsFunc(e.bytes, func(one lying) bool { return !one.flat }) {
		s.differs(string(name), "nothing lists it; it is not taken in, and can be with holdfast file put")
		return f, nil
	}
	v := Decide(e.claims)
	if !v.Unanimous || v.Size < 0 && !agreeing(e.bytes) {
		if err := s.readAll(ctx, name, e); err != nil {
			return f, err
		}
		v = Decide(e.claims)
	}
	if v.Size < 0 && agreeing(e.bytes) {
		v.Size = e.bytes[0].size
	}
	if v.Why != "" && !s.done {
		s.report.Voted++
		s.differs(string(name), "%s", v.Why)
	}
	if v.SHA256.IsZero() || v.Size < 0 || v.Size > mostBytes {
		if v.Why == "" {
			s.differs(string(name), "its size is not known, and no bytes match SHA-256 %s", v.SHA256)
		}
		if !s.done {
			s.report.Undecided++
		}
		return f, nil
	}
	f.known, f.unlisted, f.SHA256, f.Size = true, unlisted, v.SHA256, v.Size
	if unlisted {
		s.differs(string(name), "no manifest or ledger lists it; it is taken as it lies")
	}
	s.lookAtBytes(f, e)
	s.origin(f, e)
	s.keeper(f, e)
	if hasFate {
		s.apply(f, fate)
	}
	return f, nil
}

// correct drops claims of a checksum that was decided to be another one.
func correct(all []correction, e *evidence) {
	for _, c := range all {
		for i := range e.claims {
			if e.claims[i].SHA256 == c.was && !c.now.IsZero() {
				e.claims[i].SHA256, e.claims[i].Size = c.now, -1
			}
		}
	}
}

// agreeing reports whether bytes of two voters have the same size, and none another one: then nothing was cut off on
// its way here.
func agreeing(all []lying) bool {
	if len(all) < 2 {
		return false
	}
	others := false
	for _, one := range all {
		if one.size != all[0].size {
			return false
		}
		others = others || one.voter != all[0].voter
	}
	return others
}

// readAll reads all bytes that lie under the name, and adds what they are.
func (s *Survey) readAll(ctx context.Context, name catalog.FileName, e *evidence) error {
	for i := range e.bytes {
		one := &e.bytes[i]
		m, known := s.read[one.path]
		if !known {
			m.size, m.sum, m.err = digest(ctx, one.path, func(n int64) { s.passed.bytes += n })
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.read[one.path] = m
			s.report.Read++
		}
		if m.err != nil {
			s.unread(string(name), "%s cannot be read: %v", one.path, m.err)
			continue
		}
		e.claims = append(e.claims, Claim{Voter: one.voter, Kind: Bytes, Where: one.path, SHA256: m.sum,
			Size: m.size})
	}
	return nil
}

// lookAtBytes compares sizes, and what was read, with what the file is.
func (s *Survey) lookAtBytes(f *found, e *evidence) {
	right := 0
	for _, one := range e.bytes {
		m, read := s.read[one.path]
		switch {
		case one.size != f.Size:
			s.differs(string(f.Name), "%s has %d bytes, the file has %d", one.path, one.size, f.Size)
		case read && (m.err != nil || m.sum != f.SHA256):
			s.differs(string(f.Name), "%s has other bytes than the file", one.path)
		default:
			right++
		}
	}
	f.absent = right == 0
}

// keeper says who keeps the bytes as the file's source: a node with them in its outbox. The node on which the catalog
// is made may have no id yet.
func (s *Survey) keeper(f *found, e *evidence) {
	for _, one := range e.bytes {
		if one.outbox && one.size == f.Size && (one.node != "" || one.own) && !f.Kept {
			f.Source, f.Kept = one.node, true
		}
	}
}

// fateAlone brings back a removed or lost file of which nothing but that is known.
func (s *Survey) fateAlone(f *found, fate fate) error {
	f.SHA256, f.absent = fate.sha256, true
	put, wasPut := s.told.puts[f.Name]
	if wasPut && put.sha256 == f.SHA256 && put.size >= 0 {
		f.Size = put.size
	}
	if f.SHA256.IsZero() {
		s.differs(string(f.Name), "it was removed or lost, and nothing says which bytes it had")
		return nil
	}
	f.known = true
	s.origin(f, &evidence{})
	s.apply(f, fate)
	if f.Hidden != 0 { // its bytes could be restored, were they here
		s.differs(string(f.Name), "it was removed and could be restored; its bytes are in none of the folders")
		if !wasPut {
			f.known = false
		}
	}
	return nil
}

// apply makes a file removed, or lost. What was removed for good, and of which bytes are here nevertheless, can be
// restored for some days again: the trail may end before somebody restored it. Nobody is given it in either case.
func (s *Survey) apply(f *found, fate fate) {
	if fate.removed+fate.hidden != 0 {
		f.RemovedBy, f.Reason = fate.by, fate.reason
	}
	same := fate.sha256.IsZero() || fate.sha256 == f.SHA256
	switch {
	case fate.hidden != 0:
		f.Hidden, f.Until = fate.hidden, fate.until
	case fate.removed != 0 && f.absent && same:
		f.Removed, f.Kept = fate.removed, false
	case fate.removed != 0:
		f.Hidden, f.Until = fate.removed, fate.removed+1
		s.differs(string(f.Name), "it was removed for good, and bytes of it are here: it can be restored "+
			"again for a time")
	}
	if !same {
		s.differs(string(f.Name), "the trail says it of SHA-256 %s", fate.sha256)
	}
	if fate.lost != 0 && f.absent && f.Removed == 0 {
		f.Lost, f.LostWhy, f.Kept = fate.lost, fate.lostWhy, false
	}
}
