package duty

import (
	"cmp"
	"slices"
	"time"

	"holdfast/catalog"
)

const (
	// firstPause and longestPause bound the pause after failed tries, which doubles with each.
	firstPause   = 5 * time.Second
	longestPause = time.Hour
	// turn and turnPerMiB are how long a replica waits for each one that begins before it with a new file.
	turn        = 250 * time.Millisecond
	turnPerMiB  = 15 * time.Millisecond
	longestTurn = time.Minute
)

// Fetch is one file that a node owes a copy of.
type Fetch struct {
	File    catalog.File
	Sources []catalog.Holding // living nodes with good bytes, nearest first; empty for a record, and if there are none
	Record  bool              // of a checksum replica: the name, size and digest are recorded, no bytes are fetched
	Good    int               // verified copies of the bytes that the catalog counts, the source's aside
}

// Page is one page of Fetches.
type Page struct {
	Fetches []Fetch
	Next    catalog.Cursor // continue after this
	Done    bool           // nothing is left behind Next
	Wake    catalog.Time   // when the first file that waits for its turn or a pause is due; 0: none waits
	Stuck   int            // files looked at that no living node has good bytes of
}

// Clock is the time that a duty uses.
type Clock struct {
	Now catalog.Time
	// Seen returns when the node first saw a stamp of the file's copy that lies in the future: a clock that was wrong
	// has made it, and the pause that begins with it is counted from then. nil: such a stamp is taken for long past.
	Seen func(name catalog.FileName, tries int, stamp catalog.Time) catalog.Time
}

// began returns when a pause that the stamp begins has begun by this clock.
func (c Clock) began(name catalog.FileName, tries int, stamp catalog.Time) catalog.Time {
	switch {
	case stamp <= c.Now:
		return stamp
	case c.Seen == nil:
		return 0
	}
	return min(c.Seen(name, tries, stamp), c.Now)
}

// And returns both pages as one, without what the other lists a second time. The other's end is its end.
func (p Page) And(other Page) Page {
	listed := make(map[catalog.FileName]bool, len(p.Fetches))
	for i := range p.Fetches {
		listed[p.Fetches[i].File.Name] = true
	}
	for _, f := range other.Fetches {
		if !listed[f.File.Name] {
			p.Fetches = append(p.Fetches, f)
		}
	}
	if other.Wake != 0 {
		p.wait(other.Wake)
	}
	p.Next, p.Done, p.Stuck = other.Next, other.Done, p.Stuck+other.Stuck
	sortByNeed(p.Fetches)
	return p
}

// wait notes that something is due at the time.
func (p *Page) wait(at catalog.Time) {
	if p.Wake == 0 || at < p.Wake {
		p.Wake = at
	}
}

// holder is a node with the facts needed to judge distances.
type holder struct {
	self    catalog.Member
	replica catalog.Replica
	layout  []catalog.Placement
}

func holderOf(view catalog.View, self catalog.NodeID) (holder, error) {
	m, err := view.Member(self)
	if err != nil {
		return holder{}, err
	}
	r, err := view.Replica(m.Replica)
	if err != nil {
		return holder{}, err
	}
	layout, err := view.Layout(m.Replica)
	return holder{self: m, replica: r, layout: layout}, err
}

func (h *holder) holds(s catalog.Shard) bool { return h.layout[s].Holder == h.self.ID }

// Fetches looks at the next n files after the cursor of which node self, a holder of a bitarchive replica, owes a
// copy. It lists those whose turn it is, with the living nodes that have good bytes, nearest first: self (if it is
// the file's source), its replica, its place, other places. A file whose bytes are here already (because of a crash
// before the report) is listed like any other: it only needs to be verified and reported. A file that no living node
// has is listed without sources: the node may have bytes that are not counted.
func Fetches(view catalog.View, self catalog.NodeID, alive Alive, clock Clock, after catalog.Cursor,
	n int) (Page, error) {
	h, err := holderOf(view, self)
	if err != nil || h.replica.Kind != catalog.Bitarchive {
		return Page{Next: after, Done: true}, err
	}
	files, next, err := view.Owed(h.replica.Name, h.holds, after, n)
	page := Page{Next: next, Done: len(files) < n}
	for i := range files {
		if err != nil {
			break
		}
		err = h.consider(view, &page, &files[i], alive, clock)
	}
	return page, err
}

// consider lists one owed file, or notes why not.
func (h *holder) consider(view catalog.View, page *Page, f *catalog.File, alive Alive, clock Clock) error {
	c := f.Copy(h.replica.Name)
	if c == nil {
		return nil
	}
	sources, err := h.sources(view, f, alive)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		page.Stuck++ // listed nevertheless: this node may have bytes that are not counted
	}
	due := clock.began(f.Name, c.Tries, c.Since) + catalog.Time(Pause(c.Tries).Milliseconds())
	if c.Tries == 0 {
		due = 0
		if h.onlyFar(sources) {
			turn, err := h.turn(view, f)
			if err != nil {
				return err
			}
			due = clock.began(f.Name, 0, f.Added) + catalog.Time(turn.Milliseconds())
		}
	}
	if due > clock.Now {
		page.wait(due)
		return nil
	}
	page.Fetches = append(page.Fetches, Fetch{File: *f, Sources: sources, Good: verified(sources)})
	return nil
}

// verified counts the verified copies among the sources, beyond the bytes that the file came with.
func verified(sources []catalog.Holding) (n int) {
	for _, s := range sources {
		if !s.Source {
			n++
		}
	}
	return n
}

// Pause returns how long a copy rests after that many failed tries: 5 s, 10 s, 20 s, … up to an hour.
func Pause(tries int) time.Duration {
	if tries <= 0 {
		return 0
	}
	if tries > 10 {
		return longestPause
	}
	return min(firstPause<<(tries-1), longestPause)
}

// onlyFar reports whether the file's source, at another place, is all there is to fetch from.
func (h *holder) onlyFar(sources []catalog.Holding) bool {
	return !slices.ContainsFunc(sources, func(s catalog.Holding) bool {
		return !s.Source || s.Place == h.replica.Place
	})
}

// turn returns how long after a new file's entry the replica may begin to fetch it from its source: the replicas begin
// one after the other, in an order that differs per file, so that those behind find a copy nearer than the source.
func (h *holder) turn(view catalog.View, f *catalog.File) (time.Duration, error) {
	own := rank(string(f.Name), string(h.replica.Name))
	before := 0
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus || c.Replica == h.replica.Name || rank(string(f.Name), string(c.Replica)) >= own {
			continue
		}
		r, err := view.Replica(c.Replica)
		if err != nil {
			return 0, err
		}
		if r.Kind == catalog.Bitarchive && c.Tries == 0 {
			before++
		}
	}
	each := turn + time.Duration(f.Size>>20)*turnPerMiB
	return time.Duration(before) * min(each, longestTurn), nil
}

// sources returns the living nodes that have good bytes of the file, nearest first.
func (h *holder) sources(view catalog.View, f *catalog.File, alive Alive) ([]catalog.Holding, error) {
	all, err := view.CoveringFile(f)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s catalog.Holding) bool { return s.Node != h.self.ID && !alive(s.Node) })
	slices.SortStableFunc(all, func(a, b catalog.Holding) int {
		return cmp.Or(cmp.Compare(h.distance(a), h.distance(b)),
			cmp.Compare(rank(string(f.Name), string(a.Node)), rank(string(f.Name), string(b.Node))))
	})
	return all, nil
}

// distance puts nodes in order: this one, its replica, its place, other places; at the same distance a holder
// before a source, which has other work.
func (h *holder) distance(s catalog.Holding) int {
	d := 6
	switch {
	case s.Node == h.self.ID:
		d = 0
	case s.Replica == h.replica.Name:
		d = 2
	case s.Place == h.replica.Place && s.Place != "":
		d = 4
	}
	if s.Source {
		d++
	}
	return d
}

// ChecksumFetches looks at the next n files after the cursor of which node self, a holder of a checksum replica, owes
// a record. A file is recorded once a bitarchive replica has verified it, so that the record does not rest on its
// source alone.
func ChecksumFetches(view catalog.View, self catalog.NodeID, clock Clock, after catalog.Cursor, n int) (Page, error) {
	h, err := holderOf(view, self)
	if err != nil || h.replica.Kind != catalog.Checksum {
		return Page{Next: after, Done: true}, err
	}
	files, next, err := view.Owed(h.replica.Name, h.holds, after, n)
	page := Page{Next: next, Done: len(files) < n}
	for i := range files {
		if err != nil {
			break
		}
		err = h.considerRecord(view, &page, &files[i], clock)
	}
	return page, err
}

func (h *holder) considerRecord(view catalog.View, page *Page, f *catalog.File, clock Clock) error {
	c := f.Copy(h.replica.Name)
	if c == nil {
		return nil
	}
	holdings, err := view.CoveringFile(f)
	if err != nil {
		return err
	}
	if verified(holdings) == 0 {
		page.Stuck++
		return nil
	}
	due := clock.began(f.Name, c.Tries, c.Since) + catalog.Time(Pause(c.Tries).Milliseconds())
	if c.Tries > 0 && due > clock.Now {
		page.wait(due)
		return nil
	}
	page.Fetches = append(page.Fetches, Fetch{File: *f, Record: true, Good: verified(holdings)})
	return nil
}
