package jobs

import (
	"errors"
	"fmt"
	"strconv"

	"holdfast/catalog/agree"
)

// Search says which jobs are looked for. What is not given counts for nothing.
type Search struct {
	State       JobState
	Harvest     *uint64 // its number; 0: jobs made by hand
	Run         uint64  // of the harvest
	Channel     string
	Domain      string     // that the job crawls by a configuration or seed
	From, Until agree.Time // made at From or later, and before Until
}

// Matches are jobs that a search found, the newest first.
type Matches struct {
	Jobs []Job
	Next uint64 // look for more below this number; 0: there are none. There may be a next page behind an empty one
}

// Bounds of one page: how many steps over lists, and how many jobs that do not match are read.
const (
	searchSteps = 10_000
	searchHeads = 2000
	searchPage  = 200
)

// Search returns at most n jobs below the number, 0 being above all. It reads lists by key, and of jobs only those that
// it returns. Jobs from before level 4 are in no list until they have parts: while there are some, jobs are read one
// after the other, and a page ends after searchHeads of them. They are not found by a domain.
//
// From and Until are looked up by the numbers of jobs, which are in the order of their making, unless the catalog's
// clock was set back.
func (v View) Search(q Search, before uint64, n int) (Matches, error) {
	in := searching{v, &q}
	least, most, err := in.made()
	if err != nil {
		return Matches{}, err
	}
	if before == 0 || before > most {
		before = most
	}
	_, old, err := v.old()
	if err != nil {
		return Matches{}, err
	}
	lists := in.lists()
	if old || len(lists) == 0 {
		return in.searchHeads(least, before, n)
	}
	return in.searchLists(lists, least, before, n)
}

// searching is one search.
type searching struct {
	View
	q *Search
}

// made returns between which numbers the jobs of the search are.
func (v searching) made() (least, most uint64, err error) {
	last, _, err := agree.Get[uint64](v.Reader, keyCount)
	if least, most = 1, last+1; err == nil && v.q.From > 0 {
		least, err = v.firstSince(v.q.From, last)
	}
	if err == nil && v.q.Until > 0 {
		most, err = v.firstSince(v.q.Until, last)
	}
	return least, most, err
}

// firstSince returns the number above all jobs that were made before the time.
func (v searching) firstSince(at agree.Time, last uint64) (uint64, error) {
	low, high := uint64(1), last+1
	for low < high {
		middle := low + (high-low)/2
		next, err := agree.List[Job](v.Reader, PrefixJobs, behind(middle-1), 1)
		if err != nil {
			return 0, err
		}
		if len(next) == 0 || next[0].ID >= high || next[0].Created >= at {
			high = middle
		} else {
			low = next[0].ID + 1
		}
	}
	return low, nil
}

// searchHeads reads one job after the other.
func (v searching) searchHeads(least, before uint64, n int) (out Matches, err error) {
	window := uint64(searchPage)
	if len(v.lists()) == 0 {
		window = min(window, uint64(n)+1) // all match
	}
	for read := 0; before > least; {
		if read >= searchHeads {
			out.Next = before
			return out, nil
		}
		first := max(least, before-min(before, window))
		page, err := v.Jobs("", first-1, int(window))
		if err != nil {
			return out, err
		}
		for i := len(page) - 1; i >= 0; i-- {
			j := &page[i]
			if j.ID >= before {
				continue
			}
			read++
			match, err := v.matches(j)
			if err != nil {
				return out, err
			}
			if !match {
				continue
			}
			if len(out.Jobs) == n {
				out.Next = out.Jobs[n-1].ID
				return out, nil
			}
			out.Jobs = append(out.Jobs, *j)
		}
		before = first
		read++ // where many numbers were left out, pages are empty
	}
	return out, nil
}

// matches reports whether a job is one that is looked for.
func (v searching) matches(j *Job) (bool, error) {
	if v.q.State != "" && j.State != v.q.State || v.q.Harvest != nil &&
		(j.Number != *v.q.Harvest || v.q.Run != 0 && j.Run != v.q.Run) ||
		v.q.Channel != "" && j.Channel != v.q.Channel || j.Created < v.q.From || v.q.Until > 0 &&
		j.Created >= v.q.Until {
		return false, nil
	}
	if v.q.Domain == "" {
		return true, nil
	}
	if j.Parts == nil {
		return false, nil
	}
	return agree.Has(v.Reader, keyDomain(v.q.Domain, j.Parts.Of))
}

// lists returns the lists that have all jobs of the search.
func (v searching) lists() (out []lister) {
	if v.q.Domain != "" {
		out = append(out, &ofDomain{own: byKey{in: v.Reader, prefix: listedDomain(v.q.Domain)},
			again: byKey{in: v.Reader, prefix: listedAgain}, domain: v.q.Domain})
	}
	for _, one := range []struct {
		asked  bool
		prefix string
	}{
		{v.q.Harvest != nil && v.q.Run != 0, listedBy(v.q.number(), v.q.Run)},
		{v.q.Harvest != nil && v.q.Run == 0, listedOf(v.q.number())},
		{v.q.State != "", listedIn(v.q.State)},
		{v.q.Channel != "", listedChannel(v.q.Channel)},
	} {
		if one.asked {
			out = append(out, &byKey{in: v.Reader, prefix: one.prefix})
		}
	}
	return out
}

func (q *Search) number() uint64 {
	if q.Harvest == nil {
		return 0
	}
	return *q.Harvest
}

// searchLists returns the jobs that are in all lists.
func (v searching) searchLists(lists []lister, least, before uint64, n int) (out Matches, err error) {
	steps := searchSteps
	for {
		id, whole, err := inAll(lists, before, least, &steps)
		if err != nil {
			return out, err
		}
		if !whole {
			out.Next = id + 1
			return out, nil
		}
		if id == 0 {
			return out, nil
		}
		before = id
		j, there, err := agree.Get[Job](v.Reader, keyJob(id))
		if err == nil && there { // else it is not whole
			there, err = v.matches(&j)
		}
		if err != nil {
			return out, err
		}
		if !there {
			continue
		}
		if len(out.Jobs) == n {
			out.Next = out.Jobs[n-1].ID
			return out, nil
		}
		out.Jobs = append(out.Jobs, j)
	}
}

// inAll returns the highest number below the given one that is in all lists, 0 if there is none from least on. When
// there are no steps left, it returns a number above which there is none, and false.
func inAll(lists []lister, before, least uint64, steps *int) (id uint64, whole bool, err error) {
	id = before - 1
	for i, same := 0, 0; same < len(lists); i = (i + 1) % len(lists) {
		next, err := lists[i].below(id+1, steps)
		if err != nil {
			return 0, false, err
		}
		if *steps--; *steps < 0 && next >= least {
			return next, false, nil
		}
		if next < least || next == 0 {
			return 0, true, nil
		}
		if same++; next < id {
			id, same = next, 1
		}
	}
	return id, true, nil
}

// lister is a list of jobs.
type lister interface {
	// below returns the highest number in the list below another, 0 if there is none. When there are no steps left, it
	// may be a number that is not in the list, if there is none between.
	below(before uint64, steps *int) (uint64, error)
}

// byKey is a list of keys that end with what is left of the numbers. It reads ahead, the more the longer it is read
// without gaps.
type byKey struct {
	in     agree.Reader
	prefix string
	ahead  []entry
	last   uint64 // the lowest number that was read
	ended  bool
	many   int
}

type entry struct {
	id   uint64
	tail string // of the key, behind the number
}

// How many keys are read ahead.
const (
	aheadLeast = 4
	aheadMost  = 256
	digits     = 16 // of a number
)

func (l *byKey) below(before uint64, _ *int) (uint64, error) {
	e, err := l.next(before)
	return e.id, err
}

// next returns the first entry below a number.
func (l *byKey) next(before uint64) (entry, error) {
	for len(l.ahead) > 0 && l.ahead[0].id >= before {
		l.ahead = l.ahead[1:]
	}
	if len(l.ahead) > 0 {
		return l.ahead[0], nil
	}
	if l.ended || before <= 1 {
		return entry{}, nil
	}
	if l.last != before || l.many == 0 {
		l.many = aheadLeast
	} else {
		l.many = min(2*l.many, aheadMost)
	}
	return l.read(before)
}

var errListed = errors.New("a key of a list of jobs is damaged")

func (l *byKey) read(before uint64) (first entry, err error) {
	var damaged error
	l.ahead = make([]entry, 0, l.many)
	err = l.in.Scan([]byte(l.prefix), []byte(l.prefix+left(before-1)), func(key, _ []byte) bool {
		tail := string(key[len(l.prefix):])
		n, bad := uint64(0), error(errListed)
		if len(tail) >= digits {
			n, bad = strconv.ParseUint(tail[:digits], 16, 64)
		}
		if bad != nil || n >= lastNumber {
			damaged = fmt.Errorf("catalog key %q: %w", key, errListed)
			return false
		}
		l.ahead = append(l.ahead, entry{lastNumber - n, tail[digits:]})
		return len(l.ahead) < l.many
	})
	if err = errors.Join(err, damaged); err != nil {
		return first, err
	}
	l.ended = len(l.ahead) < l.many
	if len(l.ahead) == 0 {
		return first, nil
	}
	l.last = l.ahead[len(l.ahead)-1].id
	return l.ahead[0], nil
}

// ofDomain has the jobs whose parts are about a domain, and those that took over such parts.
type ofDomain struct {
	own, again byKey
	domain     string
}

func (l *ofDomain) below(before uint64, steps *int) (uint64, error) {
	own, err := l.own.next(before)
	for err == nil {
		var took entry
		took, err = l.again.next(before)
		if err != nil || took.id <= own.id {
			break
		}
		if *steps--; *steps < 0 {
			return took.id, nil
		}
		of, bad := strconv.ParseUint(took.tail[min(1, len(took.tail)):], 16, 64)
		if bad != nil {
			return 0, fmt.Errorf("catalog key %s%s%s: %w", listedAgain, left(took.id), took.tail, errListed)
		}
		there := false
		if there, err = agree.Has(l.again.in, keyDomain(l.domain, of)); there {
			return took.id, err
		}
		before = took.id
	}
	return own.id, err
}
