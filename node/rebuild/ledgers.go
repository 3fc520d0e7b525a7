package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
	"holdfast/ledger"
	"holdfast/replica"
)

// shelf is the files of ledgers, and metadata files of jobs, that lie in the folders: by name, where they are.
type shelf struct {
	paths map[string][]string
	sound map[string]string // the copy that matches its manifest, once it was looked for
}

func newShelf() *shelf { return &shelf{paths: map[string][]string{}, sound: map[string]string{}} }

func (s *shelf) add(name, path string) { s.paths[name] = append(s.paths[name], path) }

// choose returns where a file lies: the first copy whose bytes have the SHA-256; without one, whose bytes are as its
// manifest says; the first of all if there is none.
func (s *shelf) choose(ctx context.Context, name string, want *ledger.Digest) (string, error) {
	paths := s.paths[name]
	if len(paths) == 0 {
		return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if path := s.sound[name]; path != "" && want == nil {
		return path, nil
	}
	chosen := ""
	for _, path := range paths {
		_, sum, err := digest(ctx, path, nil)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			continue
		}
		if chosen == "" {
			chosen = path
		}
		if want != nil && ledger.Digest(sum) == *want || want == nil && listedSo(path, sum) {
			s.sound[name] = path
			return path, nil
		}
	}
	if want != nil {
		return "", fmt.Errorf("no copy of %s has SHA-256 %s", name, want)
	}
	return cmp.Or(chosen, paths[0]), nil
}

// listedSo reports whether the manifest beside the file says these bytes.
func listedSo(path string, sum catalog.Digest) bool {
	listed, _, err := replica.ReadManifest(filepath.Join(filepath.Dir(path), replica.ManifestName))
	return err == nil && listed[catalog.FileName(filepath.Base(path))].SHA256 == sum
}

// book is the ledger of a replica that is used.
type book struct {
	name string // of its head
	text []byte // of its head
	*ledger.Book
	signatures *ledger.Signatures
	signed     []string
}

// want returns the SHA-256 of the ledger's files that its head and pages name.
func (b *book) want(name string) *ledger.Digest {
	if name == b.Head.Trail.Name {
		return &b.Head.Trail.SHA256
	}
	for i, s := range b.Head.Sheets {
		if s.File.Name == name {
			return &b.Head.Sheets[i].SHA256
		}
	}
	for _, p := range b.Pages {
		for i := range p.Lists {
			if p.Lists[i].Name == name {
				return &p.Lists[i].SHA256
			}
		}
	}
	return nil
}

// open opens files of the ledger; b may be nil.
func (s *shelf) open(ctx context.Context, b *book) ledger.Open {
	return func(name string) (io.ReadCloser, error) {
		var want *ledger.Digest
		if b != nil {
			want = b.want(name)
		}
		path, err := s.choose(ctx, name, want)
		if err != nil {
			return nil, err
		}
		return openRegular(path)
	}
}

// heads returns the names of the heads of ledgers, the newest of each replica first.
func (s *shelf) heads() []string {
	var out []string
	for name := range s.paths {
		base, isText := strings.CutSuffix(name, ".txt")
		at := strings.LastIndexByte(base, '-')
		if isText && strings.HasPrefix(name, "ledger-") && at > 0 && len(base)-at-1 >= 6 &&
			strings.Trim(base[at+1:], "0123456789") == "" {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return out
}

// ledgers finds the newest ledger of each replica that is whole and signed by who may sign. Others are told.
func (s *Survey) ledgers(ctx context.Context) error {
	found := map[string]*book{}
	var newer []string // that are not used, of replicas whose ledger was not found yet
	for _, name := range byAge(s.shelf.heads()) {
		text, err := ledger.Slurp(name, s.shelf.open(ctx, nil))
		var h *ledger.Head
		if err == nil {
			h, err = ledger.ReadHead(name, text)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.differs(name, "it is no ledger that can be read: %v", err)
			continue
		}
		if h.ClusterID != s.cluster.ID && !slices.Contains(s.cfg.Others, h.ClusterID) {
			s.differs(name, "it is a ledger of another cluster, %s, and is not used", h.ClusterID)
			continue
		}
		if at := found[h.Replica]; at != nil {
			continue
		}
		b, err := s.openBook(ctx, name, text)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			newer = append(newer, name)
			s.differs(name, "the ledger is not used: %v", err)
			continue
		}
		found[h.Replica] = b
	}
	for _, b := range found {
		s.books = append(s.books, b)
	}
	slices.SortFunc(s.books, func(a, b *book) int { return cmp.Compare(a.Head.Replica, b.Head.Replica) })
	for _, b := range s.books {
		s.report.Ledgers = append(s.report.Ledgers, LedgerUsed{Name: b.name, Replica: b.Head.Replica,
			Time: b.Head.Time, Files: b.Head.Total.Files, Countersigned: len(b.signed)})
	}
	if len(newer) > 0 && len(s.trusted()) == 0 {
		s.lacks("ledgers: nobody says whose signatures count; name a list of ledger signers with --signers")
	}
	return nil
}

// byAge puts names of heads in order, by their times, the newest first.
func byAge(names []string) []string {
	at := func(name string) string {
		words := strings.Split(name, "-")
		return words[len(words)-2]
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(at(b), at(a)),
			cmp.Compare(b, a))
	})
	return names
}

// openBook opens a ledger, reads its lists to their ends, and judges its signatures.
func (s *Survey) openBook(ctx context.Context, name string, text []byte) (*book, error) {
	whole, err := ledger.OpenBook(name, s.shelf.open(ctx, nil))
	if err != nil {
		return nil, err
	}
	b := &book{name: name, text: text, Book: whole}
	file := ledger.SignaturesName(b.Head.Base)
	in, err := s.shelf.open(ctx, nil)(file)
	if err != nil {
		return nil, fmt.Errorf("it is not signed: %w", err)
	}
	b.signatures, err = ledger.ParseSignatures(file, in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	var faults []error
	if b.signed, faults = b.signatures.Judge(b.Head, b.Texts, s.trusted(), 0); len(faults) > 0 {
		return nil, faults[0]
	}
	for _, sheet := range b.Head.Sheets {
		if m, known := s.members[catalog.NodeID(sheet.Holder)]; known && string(m.Replica) != b.Head.Replica {
			return nil, fmt.Errorf("its holder %s is of replica %s", m.Name, m.Replica)
		}
	}
	if err := b.rewind(ctx, s.shelf); err != nil {
		return nil, err
	}
	for shard := range ledger.Shards {
		if _, _, err := b.Shard(shard); err != nil {
			b.Drop()
			return nil, err
		}
	}
	return b, b.Close()
}

// rewind opens the lists again, for a pass over all shards.
func (b *book) rewind(ctx context.Context, s *shelf) error { return b.OpenLists(s.open(ctx, b)) }

// trusted are the nodes whose signatures count: those on the given list, and the members that the folders name.
func (s *Survey) trusted() []ledger.Trusted {
	out := slices.Clone(s.cfg.Signers)
	for id, m := range s.members {
		if !slices.ContainsFunc(out, func(t ledger.Trusted) bool { return t.ID == string(id) }) {
			place := ""
			for _, r := range s.cfg.Replicas {
				if r.Name == m.Replica {
					place = r.Place
				}
			}
			out = append(out, ledger.Trusted{ID: string(id), Name: m.Name, Place: place})
		}
	}
	return out
}

// trail reads the trail that the newest ledger ends.
func (s *Survey) trail(ctx context.Context) error {
	known := map[catalog.Digest]catalog.Event{}
	bad := 0
	for name := range s.shelf.paths {
		if !strings.HasPrefix(name, "ledger-") || !strings.HasSuffix(name, "-trail.txt") {
			continue
		}
		for _, path := range s.shelf.paths[name] {
			in, err := openRegular(path)
			if err == nil {
				var n int
				n, err = readEvents(in, func(e catalog.Event) { known[e.Hash] = e })
				bad, err = bad+n, errors.Join(err, in.Close())
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				s.unread(name, "%s cannot be read: %v", path, err)
			}
		}
	}
	if bad > 0 {
		s.differs("trail", "%d events in the trails of ledgers do not match their hashes, and are left "+
			"out", bad)
	}
	var newest *ledger.Head
	for _, b := range s.books {
		if newest == nil || b.Head.Span.Last > newest.Span.Last ||
			b.Head.Span.Last == newest.Span.Last && b.Head.Time.After(newest.Time) {
			newest = b.Head
		}
	}
	if newest == nil {
		s.lacks("the audit trail, and with it removals, and the dates of files that no job made: no " +
			"ledger is in the " +
			"folders that could be used")
		s.told = fold(nil)
		return nil
	}
	events, whole := chain(known, catalog.Digest(newest.Span.Head))
	s.told, s.whole = fold(events), whole
	if whole {
		s.events = events
	} else {
		first := newest.Span.Last + 1
		if len(events) > 0 {
			first = events[0].Seq
		}
		s.lacks("the audit trail: events before number %d are in no ledger that is here, and a trail has "+
			"no gaps. What "+
			"the %d events behind say of files is used; ledgers begin again", first, len(events))
	}
	for _, b := range s.books { // another chain is of an epoch that was given up
		if h := b.Head.Span.Head; b.Head.Span.Last > 0 && whole {
			e, there := known[catalog.Digest(h)]
			if !there || e.Seq > uint64(len(events)) || events[e.Seq-1].Hash != e.Hash {
				s.differs(b.name, "its trail ends with an event that is not in the trail of %s: "+
					"one of them is of a "+
					"cluster that was recovered without the other. Its list is used, and it "+
					"is not recorded",
					ledger.HeadName(newest.Base))
				s.strange = append(s.strange, b.name)
			}
		}
	}
	return nil
}

// openRegular opens what lies in a foreign folder: a pipe or a device would never end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
