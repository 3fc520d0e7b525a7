package ledgers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/ledger"
)

// SignRequest asks a node at another place to countersign a ledger.
type SignRequest struct {
	Base       string   `json:"base"`
	Head       []byte   `json:"head"`
	Pages      [][]byte `json:"pages"`      // in the head's order
	Signatures []byte   `json:"signatures"` // of the pages and the head, by their holders
}

// SignReply is the signature of the head.
type SignReply struct {
	Signature []byte `json:"signature"`
}

// behindLimit is how long a node waits for its own catalog to come to the ledger's time.
const behindLimit = 30 * time.Second

// Sign compares the ledger with this node's own catalog, and signs its head if they agree. Nodes of the ledger's own
// place do not countersign.
func (l *Ledgers) Sign(ctx context.Context, from catalog.NodeID, r SignRequest) (SignReply, error) {
	w := witness{Ledgers: l, from: from}
	if err := w.read(r); err != nil {
		return SignReply{}, refusal("it is not whole: %v", err)
	}
	if err := w.awaitTime(ctx); err != nil {
		return SignReply{}, err
	}
	if err := w.compareLinks(r); err != nil {
		return SignReply{}, err
	}
	for shard := range catalog.Shard(catalog.Shards) {
		if err := ctx.Err(); err != nil {
			return SignReply{}, err
		}
		if err := w.compareShard(shard); err != nil {
			return SignReply{}, err
		}
	}
	return SignReply{ledger.Sign(l.cfg.Key, ledger.HeadName(w.head.Base), r.Head).Bytes}, nil
}

func refusal(format string, args ...any) error {
	return &catalog.Refusal{Code: catalog.Conflict, Message: fmt.Sprintf(format, args...)}
}

// witness compares a ledger of another place with this node's catalog.
type witness struct {
	*Ledgers
	from   catalog.NodeID
	head   *ledger.Head
	pages  []*ledger.Page
	layout []catalog.Placement
}

// read takes the ledger apart: head and pages have to belong together, and the pages have to be signed by their
// holders.
func (w *witness) read(r SignRequest) (err error) {
	if w.head, err = ledger.ReadHead(ledger.HeadName(r.Base), r.Head); err != nil {
		return err
	}
	if len(r.Pages) != len(w.head.Sheets) {
		return fmt.Errorf("the head names %d pages, %d came", len(w.head.Sheets), len(r.Pages))
	}
	texts := map[string][]byte{ledger.HeadName(r.Base): r.Head}
	var trusted []ledger.Trusted
	for i, s := range w.head.Sheets {
		if sha256.Sum256(r.Pages[i]) != s.SHA256 {
			return fmt.Errorf("%s is not the page that the head names", s.File.Name)
		}
		p, err := ledger.ReadPage(s.File.Name, r.Pages[i])
		if err != nil {
			return err
		}
		w.pages = append(w.pages, p)
		texts[s.File.Name] = r.Pages[i]
		trusted = append(trusted, ledger.Trusted{ID: s.Holder})
	}
	if err := w.head.Assemble(w.pages); err != nil {
		return err
	}
	signed, err := ledger.ParseSignatures(ledger.SignaturesName(r.Base), bytes.NewReader(r.Signatures))
	if err != nil {
		return err
	}
	if _, faults := signed.Judge(w.head, texts, trusted, 0); len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// awaitTime waits until this node's catalog has come to the time of all pages, and to the last event of the trail.
func (w *witness) awaitTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, behindLimit)
	defer cancel()
	for {
		var now catalog.Time
		late := false
		err := w.cfg.Agreement.View(func(v catalog.View) (err error) {
			if now, err = v.Clock(); err != nil || w.head.Span.Last == 0 {
				return err
			}
			last, err := v.Trail(w.head.Span.Last-1, 1)
			late = len(last) == 0
			return err
		})
		if err != nil {
			return err
		}
		for _, p := range w.pages {
			late = late || now < catalog.At(p.Time)
		}
		if !late && now >= catalog.At(w.head.Time) {
			return nil
		}
		select {
		case <-ctx.Done():
			return refusal("this node's catalog has not come to the ledger's time yet: nothing was compared")
		case <-time.After(pollEvery):
		}
	}
}

// compareLinks compares what the head says of the cluster, the ledger before and the trail with this node's catalog.
func (w *witness) compareLinks(r SignRequest) error {
	h := w.head
	err := w.cfg.Agreement.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil {
			return err
		}
		m, err := v.Member(w.from)
		if err != nil {
			return err
		}
		of, err := v.Replica(catalog.ReplicaName(h.Replica))
		if err != nil {
			return err
		}
		own, err := v.Member(w.cfg.Self)
		if err != nil {
			return err
		}
		mine, err := v.Replica(own.Replica)
		if err != nil {
			return err
		}
		newest, err := v.NewestLedger(of.Name)
		if err != nil {
			return err
		}
		if w.layout, err = v.Layout(of.Name); err != nil {
			return err
		}
		w.layout = append([]catalog.Placement(nil), w.layout...)
		switch {
		case string(c.ID) != h.ClusterID || of.Place != h.Place || m.Replica != of.Name:
			return refusal("it is no ledger of replica %s at %s that %s makes", h.Replica, h.Place, m.Name)
		case mine.Place == of.Place:
			return refusal("this node stands at %s, too", of.Place)
		case h.Serial != newest.Serial+1 || h.Span.First != newest.Last+1:
			return refusal("it is number %d from event %d on; the newest that this node knows is number %d up to "+
				"event %d",
				h.Serial, h.Span.First, newest.Serial, newest.Last)
		case h.Previous != nil && (h.Previous.Name != string(newest.Name) ||
			h.Previous.SHA256 != ledger.Digest(newest.SHA256)):
			return refusal("the ledger before is %s with SHA-256 %s, not %s with %s", newest.Name, newest.SHA256,
				h.Previous.Name, h.Previous.SHA256)
		}
		for _, p := range w.pages {
			if catalog.At(p.Time) < newest.Time {
				return refusal("the page of %s is older than the ledger before", p.Holder)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.compareTrail()
}

// compareTrail writes down the events that the ledger has from this node's own catalog.
func (w *witness) compareTrail() error {
	span, sum := w.head.Span, sha256.New()
	var last ledger.Digest
	err := eachEvent(w.cfg.Agreement, max(span.First, 2)-1, span.Last, func(e agree.Event) error {
		last = ledger.Digest(e.Hash)
		if e.Seq < span.First {
			if last != span.Before {
				return refusal("event %d has hash %s here, the ledger says %s", e.Seq, last, span.Before)
			}
			return nil
		}
		line, err := json.Marshal(e)
		sum.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if last != span.Head || ledger.Digest(sum.Sum(nil)) != w.head.Trail.SHA256 {
		return refusal("the trail's events %d to %d are others here: event %d has hash %s, the ledger says %s",
			span.First,
			span.Last, span.Last, last, span.Head)
	}
	return nil
}

// compareShard compares what the ledger says of one shard with this node's catalog at the page's time.
func (w *witness) compareShard(shard catalog.Shard) error {
	var row *ledger.Row
	at := catalog.At(w.head.Time)
	for _, p := range w.pages {
		if r := p.Row(int(shard)); r != nil {
			row, at = r, catalog.At(p.Time)
			if holder := w.layout[shard].Holder; string(holder) != p.Holder {
				return refusal("shard %s is held by %s, not by %s", shard, holder, p.Holder)
			}
		}
	}
	missing := map[string]bool{}
	said := ledger.Root{}
	if row != nil {
		said = row.Root
		for _, name := range row.Missing {
			missing[name] = true
		}
	}
	if same, err := w.sameRoot(shard, said, len(missing)); same || err != nil {
		return err
	}
	var held ledger.Root
	var edge []ledger.Entry
	err := eachHeld(w.cfg.Agreement, catalog.ReplicaName(w.head.Replica), shard, at, func(f *catalog.File) {
		if missing[string(f.Name)] {
			delete(missing, string(f.Name))
			return
		}
		if f.Copy(catalog.ReplicaName(w.head.Replica)).Since == at {
			edge = append(edge, entryOf(f))
			return
		}
		held.Add(entryOf(f))
	})
	if err != nil {
		return err
	}
	if !reaches(held, edge, said) || len(missing) > 0 {
		return refusal("shard %s: this node's catalog counts %d files of %d bytes at the ledger's time, the "+
			"ledger %d of %d, "+
			"or their root or missing files differ; if files of it change just now, the next ledger may agree", shard,
			held.Files, held.Bytes, said.Files, said.Bytes)
	}
	return nil
}

// mostEdge bounds the files of a shard whose copies were verified at the very time of a page.
const mostEdge = 10

// reaches reports whether the files said are those held and some of those at the edge: copies that were verified at
// the very
// time of the page. Commands of the same time may have been carried out before the holder looked, or behind.
func reaches(held ledger.Root, edge []ledger.Entry, said ledger.Root) bool {
	if len(edge) > mostEdge {
		return false
	}
	for some := range 1 << len(edge) {
		sum := held
		for i, e := range edge {
			if some&(1<<i) != 0 {
				sum.Add(e)
			}
		}
		if sum == said {
			return true
		}
	}
	return false
}

// sameRoot reports whether the ledger has all files that the replica is to hold in the shard, and all of their copies
// are
// good: then their entries need not be read.
func (w *witness) sameRoot(shard catalog.Shard, said ledger.Root, missing int) (same bool, err error) {
	err = w.cfg.Agreement.View(func(v catalog.View) error {
		root, err := v.Root(catalog.ReplicaName(w.head.Replica), shard)
		if err != nil || missing > 0 || said != (ledger.Root{Files: root.Files, Bytes: root.Bytes,
			Sum: ledger.Digest(root.Sum)}) {
			return err
		}
		doubt, err := v.Doubtful(catalog.ReplicaName(w.head.Replica), shard)
		same = !doubt
		return err
	})
	return same, err
}
