package membership

import (
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
)

// pauses remembers when this node first saw a stamp of the catalog that lies in the future, so that the pause that
// begins with it has its full length, even if a wrong clock made the stamp.
type pauses struct {
	mu   sync.Mutex
	seen map[pauseKey]time.Time
}

type pauseKey struct {
	name  catalog.FileName
	tries int
	stamp catalog.Time
}

// pausesMost is how many stamps are remembered at most, pauseKept for how long: no pause is longer.
const (
	pausesMost = 100_000
	pauseKept  = 2 * time.Hour
)

func newPauses() *pauses { return &pauses{seen: map[pauseKey]time.Time{}} }

// since returns how long ago the stamp was first seen.
func (p *pauses) since(key pauseKey) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, there := p.seen[key]
	if there {
		return time.Since(first)
	}
	if len(p.seen) >= pausesMost {
		for key, at := range p.seen {
			if time.Since(at) > pauseKept {
				delete(p.seen, key)
			}
		}
		if len(p.seen) >= pausesMost { // then one that comes now rests for as long as there is no room to remember it
			return 0
		}
	}
	p.seen[key] = time.Now()
	return 0
}

// Duty is the time as this node's duties go by it.
func (c *Clocks) Duty() duty.Clock {
	now := c.Now()
	seen := func(name catalog.FileName, tries int, stamp catalog.Time) catalog.Time {
		return catalog.At(now.Add(-c.pauses.since(pauseKey{name, tries, stamp})))
	}
	return duty.Clock{Now: catalog.At(now), Seen: seen}
}
