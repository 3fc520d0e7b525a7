package jobs

import (
	"slices"

	"holdfast/catalog/agree"
)

// OpenJobsNow are the jobs that are open at a moment: NEW, SUBMITTED or STARTED. Jobs from before level 4 are not among
// them before they have parts.
type OpenJobsNow struct {
	parts map[uint64][]uint64 // by the job for which their parts were made
	of    []uint64            // the keys of parts, the highest first
}

// openStates are those of open jobs.
func openStates() []JobState { return []JobState{JobNew, JobSubmitted, JobStarted} }

// OpenNow reads which jobs are open, but for those that skip names; it may be nil. It reads their heads.
func (v View) OpenNow(skip func(*Job) bool) (*OpenJobsNow, error) {
	out := &OpenJobsNow{parts: map[uint64][]uint64{}}
	for _, state := range openStates() {
		for before := uint64(0); ; {
			in := searching{v, &Search{State: state}}
			page, err := in.searchLists(in.lists(), 1, orLast(before), searchPage)
			if err != nil {
				return nil, err
			}
			for i := range page.Jobs {
				j := &page.Jobs[i]
				if skip != nil && skip(j) {
					continue
				}
				if out.parts[j.Parts.Of] == nil {
					out.of = append(out.of, j.Parts.Of)
				}
				out.parts[j.Parts.Of] = append(out.parts[j.Parts.Of], j.ID)
			}
			if before = page.Next; before == 0 {
				break
			}
		}
	}
	slices.Sort(out.of)
	slices.Reverse(out.of)
	return out, nil
}

func orLast(before uint64) uint64 {
	if before == 0 {
		return lastNumber
	}
	return before
}

// Len returns how many they are.
func (o *OpenJobsNow) Len() (n int) {
	for _, jobs := range o.parts {
		n += len(jobs)
	}
	return n
}

// openFew is how many jobs of a domain OpenWith looks at.
const openFew = 8

// OpenWith reports whether an open job crawls the domain, but for those that skip names; it may be nil. It looks at the
// newest jobs of the domain alone; if none of them is open and there are more, it is not known.
func (v View) OpenWith(domain string, skip func(*Job) bool) (open, known bool, err error) {
	list := &byKey{in: v.Reader, prefix: listedDomain(domain)}
	for before, n := uint64(lastNumber), 0; n < openFew; n++ {
		e, err := list.next(before)
		if err != nil || e.id == 0 {
			return false, true, err
		}
		for id := e.id; id != 0; { // and those that took over
			j, there, err := agree.Get[Job](v.Reader, keyJob(id))
			if err != nil {
				return false, false, err
			}
			if there && slices.Contains(openStates(), j.State) && (skip == nil || !skip(&j)) {
				return true, true, nil
			}
			id = j.Next
		}
		before = e.id
	}
	return false, false, nil
}

// Parts returns the jobs for which the parts of them were made.
func (o *OpenJobsNow) Parts() []uint64 { return o.of }

// domainKeys is how many jobs of a domain are looked at before each open job is asked for its own key.
const domainKeys = 64

// Of returns which of them crawl the domain, in order. It reads keys of the domain alone, and as many as there are open
// jobs at most, however many jobs have crawled the domain.
func (o *OpenJobsNow) Of(r agree.Reader, domain string) (out []uint64, err error) {
	if len(o.of) == 0 || domain == "" {
		return nil, nil
	}
	list := &byKey{in: r, prefix: listedDomain(domain)}
	rest := o.of
	for before, n := o.of[0]+1, 0; n < domainKeys && len(rest) > 0; n++ {
		e, err := list.next(before)
		if err != nil {
			return nil, err
		}
		for len(rest) > 0 && rest[0] > e.id { // they have no key
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0] == e.id {
			out, rest = append(out, o.parts[e.id]...), rest[1:]
		}
		if before = e.id; e.id == 0 {
			break
		}
	}
	for _, of := range rest {
		there, err := agree.Has(r, keyDomain(domain, of))
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, o.parts[of]...)
		}
	}
	slices.Sort(out)
	return out, nil
}

// DomainsOfPart returns the domains of a part of a job, and whether there is a part with that number.
func (v View) DomainsOfPart(of uint64, n int) ([]string, bool, error) {
	value, err := v.Reader.Get([]byte(keyPart(of, n)))
	if err != nil || value == nil {
		return nil, false, err
	}
	p, err := decodePart(value)
	return p.Domains, true, err
}

// Overlap is a domain of an open job that other open jobs crawl, too.
type Overlap struct {
	Domain string
	Jobs   []uint64 // the others
}

// overlapsLooked is how many domains are looked at for one page.
const overlapsLooked = 2000

// Overlaps returns at most n domains of the job that other open jobs crawl, too, behind its first domains, and how many
// domains to leave out for the next page; 0: there are no more. There may be a next page behind an empty one. A job
// that is not open has none.
func (v View) Overlaps(j *Job, after, n int) (out []Overlap, next int, err error) {
	if j.Parts == nil || !slices.Contains(openStates(), j.State) {
		return nil, 0, nil
	}
	open, err := v.OpenNow(nil)
	if err != nil || open.Len() < 2 {
		return nil, 0, err
	}
	at, looked, last := 0, 0, ""
	for number := 1; number <= j.Parts.Count; number++ {
		p, err := v.part(j.Parts.Of, number)
		if err != nil {
			return nil, 0, err
		}
		for _, domain := range p.Domains {
			if at++; at <= after || domain == last { // it continues
				continue
			}
			if len(out) == n || looked == overlapsLooked {
				return out, at - 1, nil
			}
			looked++
			last = domain
			all, err := open.Of(v.Reader, domain)
			if err != nil {
				return nil, 0, err
			}
			if others := slices.DeleteFunc(all, func(id uint64) bool { return id == j.ID }); len(others) > 0 {
				out = append(out, Overlap{domain, others})
			}
		}
	}
	return out, 0, nil
}
