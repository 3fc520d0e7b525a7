package web

import (
	"crypto/rand"
	"sync"
	"time"
)

// Bounds of what is remembered of acts.
const (
	maxDoers = 512              // people of whom it is remembered
	maxDone  = 64               // acts of each
	doneTime = 30 * time.Minute // for which the outcome is shown
	maxKey   = 64               // bytes
)

// newKey returns a key that no other form has.
func newKey() string { return rand.Text() }

// once remembers, in bounded memory, what was done by which form, so that a button that is pressed twice acts once. It
// knows only what was sent to this node since it started.
type once struct {
	now    func() time.Time
	mu     sync.Mutex
	doers  map[string][]*deed // by person, the oldest first
	recent []string           // people, who acted longest ago first
}

// deed is an act by one form.
type deed struct {
	key, path string
	begun     time.Time
	ended     chan struct{} // closed when the outcome is known
	out       *outcome      // nil: it was not done
}

func newOnce(now func() time.Time) *once { return &once{now: now, doers: map[string][]*deed{}} }

// begin returns an act by this form and whether the caller is the one to do it, and to call end. If it was done before,
// its outcome is there; begin waits for it if need be. It returns nil for what is no key.
func (o *once) begin(person, path, key string) (d *deed, mine bool) {
	if key == "" || len(key) > maxKey {
		return nil, true
	}
	for {
		o.mu.Lock()
		d = o.find(person, path, key)
		if d == nil {
			d = &deed{key: key, path: path, begun: o.now(), ended: make(chan struct{})}
			o.add(person, d)
			o.mu.Unlock()
			return d, true
		}
		o.mu.Unlock()
		<-d.ended // an act has a limit of time
		if d.out != nil {
			return d, false
		}
	}
}

// end notes what became of an act; without an outcome its form may be sent again.
func (o *once) end(person string, d *deed, out *outcome) {
	if d == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if d.out = out; out == nil {
		o.drop(person, d)
	}
	close(d.ended)
}

// told returns the outcome of an act that a person did lately, nil if it is not known.
func (o *once) told(person, key string) *outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.doers[person] {
		if d.key == key && o.now().Sub(d.begun) < doneTime {
			return d.out
		}
	}
	return nil
}

func (o *once) find(person, path, key string) *deed {
	for _, d := range o.doers[person] {
		if d.key == key && d.path == path {
			return d
		}
	}
	return nil
}

func (o *once) add(person string, d *deed) {
	all := append(o.doers[person], d)
	if len(all) > maxDone {
		all = all[1:]
	}
	o.doers[person] = all
	for i, other := range o.recent {
		if other == person {
			o.recent = append(o.recent[:i], o.recent[i+1:]...)
			break
		}
	}
	if o.recent = append(o.recent, person); len(o.recent) > maxDoers {
		delete(o.doers, o.recent[0])
		o.recent = o.recent[1:]
	}
}

func (o *once) drop(person string, gone *deed) {
	var left []*deed
	for _, d := range o.doers[person] {
		if d != gone {
			left = append(left, d)
		}
	}
	o.doers[person] = left
}
