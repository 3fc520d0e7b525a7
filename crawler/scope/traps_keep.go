package scope

import (
	"encoding/json"
	"fmt"
	"time"
)

// keptTraps begins the names of what Changes returns: of a host, and of what was caught.
const (
	keptHosts  = "host/"
	keptCaught = "caught"
)

// maxChanges bounds how many hosts Changes returns at once.
const maxChanges = 2000

// keptHost is what a crawl that is opened again has to know of a host.
type keptHost struct {
	Patterns    map[uint64]keptPattern `json:"patterns,omitempty"`
	Folders     map[uint64]keptFolder  `json:"folders,omitempty"`
	Equivalents map[uint64][3]uint64   `json:"equivalents,omitempty"` // variant, size, text
	Sessions    [2]int                 `json:"sessions"`              // seen, equal
	Permuted    [2]int                 `json:"permuted"`
}

type keptPattern struct {
	Pages   [8]uint32 `json:"pages"` // seen, same, near, self, looked, idle, future, old
	Recent  [8]uint64 `json:"recent"`
	At      uint8     `json:"at,omitempty"`
	Size    int64     `json:"size"`
	Read    []uint64  `json:"read,omitempty"`
	Set     int       `json:"set,omitempty"`
	Caught  string    `json:"caught,omitempty"`
	Later   bool      `json:"later,omitempty"`
	Earlier bool      `json:"earlier,omitempty"`
}

type keptFolder struct {
	Digest uint64    `json:"digest"`
	Pages  [2]uint32 `json:"pages"` // seen, same
	Depths uint64    `json:"depths"`
}

// keptForm is a form of URIs that were rejected.
type keptForm struct {
	Host  string    `json:"host"`
	What  string    `json:"what"`
	Form  uint64    `json:"form"`
	URL   string    `json:"url"`
	Since time.Time `json:"since"`
	Pages int       `json:"pages"`
	Away  int64     `json:"away"`
}

// keptLedger is all such forms.
type keptLedger struct {
	Forms []keptForm `json:"forms"`
	Rest  int64      `json:"rest"`
}

// Changes returns, by names, what was learnt since the last call, for Recall; some of it if it is much.
func (t *Traps) Changes() (map[string][]byte, error) {
	changed := map[string][]byte{}
	hosts := map[string]*keptHost{}
	t.mu.Lock()
	for name, h := range t.hosts {
		if h.changed && len(hosts) < maxChanges {
			hosts[name], h.changed = h.kept(), false
		}
	}
	t.mu.Unlock()
	for name, h := range hosts {
		if err := encodeInto(changed, keptHosts+name, h); err != nil {
			return nil, err
		}
	}
	if caught := t.ledger.kept(); caught != nil {
		if err := encodeInto(changed, keptCaught, caught); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

func encodeInto(to map[string][]byte, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("keep what is known of traps: %s: %w", name, err)
	}
	to[name] = data
	return nil
}

// Recall takes back what Changes returned by that name.
func (t *Traps) Recall(name string, data []byte) error {
	var err error
	if name == keptCaught {
		var caught keptLedger
		if err = json.Unmarshal(data, &caught); err == nil {
			t.ledger.recall(&caught)
		}
	} else if len(name) > len(keptHosts) {
		var host keptHost
		if err = json.Unmarshal(data, &host); err == nil {
			t.recall(name[len(keptHosts):], &host)
		}
	}
	if err != nil {
		return fmt.Errorf("read what is known of traps: %s: %w", name, err)
	}
	return nil
}

func (t *Traps) recall(authority string, k *keptHost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.hosts) >= maxTrapHosts || t.entries >= maxTrapEntries {
		return
	}
	h := t.host(authority)
	for key, p := range k.Patterns {
		h.patterns[key] = p.pattern()
	}
	for key, f := range k.Folders {
		h.folders[key] = &trapFolder{digest: f.Digest, seen: f.Pages[0], same: f.Pages[1], depths: f.Depths}
	}
	for key, e := range k.Equivalents {
		h.equivalents[key] = equivalent{variant: e[0], size: int64(e[1]), text: e[2]}
	}
	h.sessions, h.permuted = pairs{k.Sessions[0], k.Sessions[1]}, pairs{k.Permuted[0], k.Permuted[1]}
	t.entries += h.size()
	t.armed.Store(true)
}

func (h *hostTraps) kept() *keptHost {
	k := &keptHost{Patterns: map[uint64]keptPattern{}, Folders: map[uint64]keptFolder{},
		Equivalents: map[uint64][3]uint64{}, Sessions: [2]int{h.sessions.seen, h.sessions.equal},
		Permuted: [2]int{h.permuted.seen, h.permuted.equal}}
	for key, n := range h.patterns {
		k.Patterns[key] = n.kept()
	}
	for key, f := range h.folders {
		k.Folders[key] = keptFolder{Digest: f.digest, Pages: [2]uint32{f.seen, f.same}, Depths: f.depths}
	}
	for key, e := range h.equivalents {
		k.Equivalents[key] = [3]uint64{e.variant, uint64(e.size), e.text}
	}
	return k
}

func (n *trapPattern) kept() keptPattern {
	k := keptPattern{Pages: [8]uint32{n.seen, n.same, n.near, n.self, n.looked, n.idle, n.future, n.old},
		Recent: n.recent, At: n.at, Size: n.size, Caught: n.caught, Later: n.later, Earlier: n.earlier}
	if n.read != nil {
		k.Read, k.Set = append(k.Read, n.read.bits[:]...), n.read.set
	}
	return k
}

func (k *keptPattern) pattern() *trapPattern {
	p := k.Pages
	n := &trapPattern{seen: p[0], same: p[1], near: p[2], self: p[3], looked: p[4], idle: p[5], future: p[6],
		old: p[7], recent: k.Recent, at: k.At, size: k.Size, caught: k.Caught, later: k.Later, earlier: k.Earlier}
	if len(k.Read) > 0 {
		n.read = &readBefore{set: k.Set}
		copy(n.read.bits[:], k.Read)
	}
	return n
}

// kept returns all forms that were rejected, nil if nothing changed since the last call.
func (l *ledger) kept() *keptLedger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.changed {
		return nil
	}
	l.changed = false
	k := &keptLedger{Rest: l.rest}
	for form, t := range l.forms {
		k.Forms = append(k.Forms, keptForm{Host: form.host, What: form.what, Form: form.form, URL: t.URL,
			Since: t.Since, Pages: t.Pages, Away: t.Away})
	}
	return k
}

func (l *ledger) recall(k *keptLedger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest, l.forms = k.Rest, map[trapForm]*Trap{}
	for _, f := range k.Forms {
		l.forms[trapForm{host: f.Host, what: f.What, form: f.Form}] = &Trap{Host: f.Host, What: f.What, URL: f.URL,
			Since: f.Since, Pages: f.Pages, Away: f.Away}
	}
}
