package replica

import (
	"context"
	"time"

	"holdfast/catalog"
)

// neededMost is how many of the copies that go before others are put in order at a time.
const neededMost = offeredMost

// pagesMost is how many pages of all that is owed are looked at in one go.
const pagesMost = 32

// walkRest is how many times as long as a step took a walk rests before its next one, when the step found nothing that
// can be made.
const walkRest = 40

// walkAgain is how long after the last step of a walk of several steps the next walk begins: what has become due, or
// has a source again, behind a step while the walk went on is found then.
const walkAgain = time.Minute

// scout looks at the owed copies, and offers to the workers those that can be made now, each class separately. It
// never waits for a worker, and looks at no more copies than they can make soon.
type scout struct {
	*puller
	queue  *queue
	cursor catalog.Cursor   // of the walk over all that is owed
	needs  catalog.FileName // of the walk over what goes before others

	walked time.Time     // when the shards that move here were looked at last
	took   time.Duration // how long that took
}

// look offers what can be copied now. It returns the earliest time at which a source is to be asked again for something
// that was passed over.
func (s *scout) look(ctx context.Context) (rested time.Time, err error) {
	for _, look := range []func(context.Context) (time.Time, error){s.lookNeeded, s.lookMoving, s.lookOwed} {
		at, err := look(ctx)
		if err != nil {
			return rested, err
		}
		rested = earlier(rested, at)
	}
	return rested, nil
}

// lookNeeded looks at a page of the copies that go before others, and at those that changed lately. Where the page has
// little that can be made, because its files have no living source, it continues behind it the next time: whatever is
// stuck, the rest has its turn. What it takes stays a small part of the time.
func (s *scout) lookNeeded(context.Context) (rested time.Time, err error) {
	began, first := time.Now(), s.needs == ""
	fetches, next, err := s.duties.Needed(s.needs, neededMost)
	if err != nil {
		return rested, err
	}
	ready := make([]Fetch, 0, len(fetches))
	for _, f := range fetches {
		can, at, err := s.can(&f)
		if err != nil {
			return rested, err
		}
		if rested = earlier(rested, at); can {
			ready = append(ready, f)
		}
	}
	if first {
		s.queue.replace(needed, ready)
	} else {
		s.queue.offer(needed, ready...)
	}
	if next != "" && len(ready) >= offeredMost {
		return rested, nil // what follows has its turn when these are made
	}
	switch s.needs = next; {
	case next != "":
		rested = earlier(rested, began.Add(walkRest*time.Since(began)))
	case !first:
		rested = earlier(rested, time.Now().Add(walkAgain))
	}
	return rested, nil
}

// lookMoving looks at the shards that move here, unless enough of them waits for a worker, or it has just done so.
func (s *scout) lookMoving(ctx context.Context) (rested time.Time, err error) {
	if s.queue.wants(moving) < offeredMost {
		return rested, nil
	}
	if soon := s.walked.Add(2 * s.took); time.Now().Before(soon) {
		return soon, nil
	}
	began := time.Now()
	rested, err = s.walkMoving(ctx, s.offerMoving)
	s.walked = time.Now()
	s.took = s.walked.Sub(began)
	return rested, err
}

// offerMoving offers a copy of a shard that moves here. It returns when to look again if none of its sources is ready.
func (s *scout) offerMoving(f Fetch) (time.Time, error) {
	can, rested, err := s.can(&f)
	if can {
		s.queue.offer(moving, f)
	}
	return rested, err
}

// lookOwed continues the walk over all owed copies until enough of them wait for a worker, or all were seen. After
// some pages it gives way to a look at more urgent copies.
func (s *scout) lookOwed(context.Context) (rested time.Time, err error) {
	began, first, found := time.Now(), s.cursor == (catalog.Cursor{}), 0
	for pages := 0; s.queue.wants(filling) >= page; pages++ {
		if pages == pagesMost {
			if found > 0 {
				return time.Now(), nil
			}
			return earlier(rested, began.Add(walkRest*time.Since(began))), nil
		}
		fetches, next, err := s.duties.Fetches(s.cursor, page)
		if err != nil {
			return rested, err
		}
		for _, f := range fetches {
			can, at, err := s.can(&f)
			if err != nil {
				return rested, err
			}
			if rested = earlier(rested, at); can {
				s.queue.offer(filling, f)
				found++
			}
		}
		if s.cursor = next; next != (catalog.Cursor{}) {
			continue
		}
		if !first {
			rested = earlier(rested, time.Now().Add(walkAgain))
		}
		return rested, nil
	}
	return rested, nil
}

// can reports whether the copy can be made now; if it waits for a source, also when the first is to be asked again. Any
// node with good bytes may read them for a record, so its sources are filled in.
func (s *scout) can(f *Fetch) (bool, time.Time, error) {
	if !s.pulls.free(f.File) {
		return false, time.Time{}, nil
	}
	if len(f.Sources) == 0 && s.sums != nil {
		var err error
		if f.Sources, err = s.peers.Sources(f.File); err != nil {
			return false, time.Time{}, err
		}
	}
	ready, earliest := s.sources.order(f.Sources)
	if len(ready) == 0 && !s.onDisk(f.File.Name) {
		return false, earliest, nil
	}
	return true, time.Time{}, nil
}
