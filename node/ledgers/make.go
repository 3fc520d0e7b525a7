package ledgers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
	"holdfast/ledger"
	"holdfast/node/wire"
)

// draft is a ledger that is being made on this node.
type draft struct {
	*Ledgers
	dir        string
	head       ledger.Head
	newest     files.Ledger
	replica    catalog.Replica
	collection catalog.CollectionName
	members    []catalog.Member
	places     map[catalog.ReplicaName]string
	pages      []*ledger.Page
	texts      [][]byte
	signatures ledger.Signatures
	signed     []catalog.NodeID
}

// make makes a ledger of this node's replica: it counts when the catalog has recorded it, and nothing counts before.
func (l *Ledgers) make(ctx context.Context, by string) (files.Ledger, error) {
	d, holders, err := l.draft(ctx)
	if err != nil {
		return files.Ledger{}, err
	}
	defer l.forget(d)
	if err := d.gather(ctx, holders); err != nil {
		return files.Ledger{}, err
	}
	l.at("trail")
	if err := d.writeTrail(); err != nil {
		return files.Ledger{}, err
	}
	if err := d.finish(ctx); err != nil {
		return files.Ledger{}, err
	}
	l.at("into the archive")
	if err := d.store(ctx, holders); err != nil {
		return files.Ledger{}, err
	}
	record := d.record(by)
	result, err := l.cfg.Agreement.Propose(ctx, files.RecordLedger, record, string(l.cfg.Self))
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	if err != nil {
		return files.Ledger{}, fmt.Errorf("record ledger %s: %w", d.head.Base, err)
	}
	return record, nil
}

// forget drops what is left of a ledger that is made, or came to nothing.
func (l *Ledgers) forget(d *draft) {
	l.mu.Lock()
	if l.page != nil && l.page.base == d.head.Base {
		l.page.cancel()
		l.page = nil
	}
	l.mu.Unlock()
	if err := l.cfg.Disk.RemoveAll(d.dir); err != nil {
		l.cfg.Log.Warn("what is left of a ledger could not be removed", "path", d.dir, "error", err)
	}
}

// draft begins a ledger, and names the holders whose pages it needs.
func (l *Ledgers) draft(ctx context.Context) (*draft, []catalog.NodeID, error) {
	if err := l.able(); err != nil {
		return nil, nil, err
	}
	d := &draft{Ledgers: l, places: map[catalog.ReplicaName]string{}}
	var holders []catalog.NodeID
	err := l.cfg.Agreement.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil {
			return err
		}
		if d.newest, err = v.NewestLedger(l.cfg.Replica); err != nil {
			return err
		}
		if d.replica, err = v.Replica(l.cfg.Replica); err != nil {
			return err
		}
		if d.members, err = v.Members(); err != nil {
			return err
		}
		replicas, err := v.Replicas()
		for _, r := range replicas {
			d.places[r.Name] = r.Place
		}
		if err != nil {
			return err
		}
		if d.collection, err = homeOf(v, &d.replica, replicas); err != nil {
			return err
		}
		d.head = ledger.Head{ClusterID: string(c.ID), Replica: string(d.replica.Name), Place: d.replica.Place,
			Serial: d.newest.Serial + 1}
		holders, err = holdersOf(v, l.cfg.Replica)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(holders, l.cfg.Self) {
		return nil, nil, fmt.Errorf("this node holds no files of replica %s: only a holder makes its ledger",
			l.cfg.Replica)
	}
	d.head.Base = ledger.Base(d.head.Replica, l.cfg.Now(), d.head.Serial)
	d.dir = filepath.Join(l.cfg.Dir, d.head.Base)
	d.signatures.Base = d.head.Base
	before, _, err := l.before(ctx)
	if err != nil {
		return nil, nil, err
	}
	d.head.Span.First = 1
	if before != nil {
		d.head.Previous = &ledger.File{Name: string(d.newest.Name), SHA256: ledger.Digest(d.newest.SHA256)}
		d.head.Span = ledger.Span{First: before.Span.Last + 1, Before: before.Span.Head}
	}
	return d, holders, nil
}

// holdersOf returns the nodes that hold shards of the replica in which there are files, by id. It fails if nobody holds
// one of them.
func holdersOf(v catalog.View, name catalog.ReplicaName) (out []catalog.NodeID, err error) {
	layout, err := v.Layout(name)
	if err != nil {
		return nil, err
	}
	roots, err := v.Roots(name)
	if err != nil {
		return nil, err
	}
	for shard, p := range layout {
		if roots[shard].Files == 0 {
			continue
		}
		if p.Holder == "" {
			return nil, refusal("shard %s of replica %s has no holder", catalog.Shard(shard), name)
		}
		if i, there := slices.BinarySearch(out, p.Holder); !there {
			out = slices.Insert(out, i, p.Holder)
		}
	}
	return out, nil
}

// homeOf returns the collection that ledgers belong to: of those that the replica holds, the one that most replicas
// with
// bytes hold, and of these the oldest.
func homeOf(v catalog.View, of *catalog.Replica, replicas []catalog.Replica) (catalog.CollectionName, error) {
	all, err := v.Collections()
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(c catalog.Collection) bool { return !of.Holds(c.Name) })
	if len(all) == 0 {
		return "", fmt.Errorf("replica %s holds no collection", of.Name)
	}
	count := func(c catalog.CollectionName) (n int) {
		for i := range replicas {
			if replicas[i].Kind == catalog.Bitarchive && replicas[i].Holds(c) {
				n++
			}
		}
		return n
	}
	slices.SortFunc(all, func(a, b catalog.Collection) int {
		return cmp.Or(cmp.Compare(count(b.Name), count(a.Name)), cmp.Compare(a.Created, b.Created),
			cmp.Compare(a.Name, b.Name))
	})
	return all[0].Name, nil
}

// gather gets the page of each holder, with its signature.
func (d *draft) gather(ctx context.Context, holders []catalog.NodeID) error {
	replies := wire.Gather(holders, func(h catalog.NodeID) (PageReply, error) { return d.pageOf(ctx, h) })
	for _, r := range replies {
		if r.Err != nil {
			return fmt.Errorf("get the ledger page of %s: %w", d.name(r.To), r.Err)
		}
		name := ledger.PageName(d.head.Base, string(r.To))
		p, err := ledger.ReadPage(name, r.Answer.Page)
		if err != nil {
			return err
		}
		s, err := ledger.ParseSignatures(ledger.SignaturesName(d.head.Base), bytes.NewReader(r.Answer.Signature))
		if err != nil || len(s.Signed) != 1 || s.Signed[0].Signer != string(r.To) || s.Signed[0].Name != name {
			return fmt.Errorf("%s has not signed its page as it has to: %w", d.name(r.To), cmp.Or(err, ledger.ErrWrong))
		}
		if err := s.Signed[0].Verify(r.Answer.Page); err != nil {
			return err
		}
		if at := p.Time; at.After(d.head.Time) {
			d.head.Time = at
		}
		total, missing := p.Total()
		d.head.Total.Join(total)
		d.head.Missing += missing
		d.head.Sheets = append(d.head.Sheets, ledger.Sheet{Holder: string(r.To), Name: d.name(r.To),
			File: ledger.File{Name: name, SHA256: sha256.Sum256(r.Answer.Page)}})
		d.pages, d.texts = append(d.pages, p), append(d.texts, r.Answer.Page)
		d.signatures.Signed = append(d.signatures.Signed, s.Signed...)
	}
	if err := d.head.Assemble(d.pages); err != nil {
		return err
	}
	return d.nothingLeftOut()
}

// nothingLeftOut fails if the catalog counts files of a shard that no page has: its holder changed while the pages were
// made, and each node took the other for the holder.
func (d *draft) nothingLeftOut() error {
	has, at := map[catalog.Shard]bool{}, catalog.At(d.head.Time)
	for _, p := range d.pages {
		at = min(at, catalog.At(p.Time))
		for _, row := range p.Rows {
			has[catalog.Shard(row.Shard)] = true
		}
	}
	for shard := range catalog.Shard(catalog.Shards) {
		if has[shard] {
			continue
		}
		var root catalog.Root
		err := d.cfg.Agreement.View(func(v catalog.View) (err error) {
			root, err = v.Root(d.replica.Name, shard)
			return err
		})
		if err != nil {
			return err
		}
		if root.Files == 0 {
			continue
		}
		n := 0
		if err := eachHeld(d.cfg.Agreement, d.replica.Name, shard, at-1, func(*catalog.File) { n++ }); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("shard %s has %d files and is on no page, because its holder changed meanwhile", shard, n)
		}
	}
	return nil
}

// stallLimit is how long a page may stay where it is: a shard takes seconds.
const stallLimit = time.Hour

// pageOf asks a holder for its page until it is done, or until it does not go on.
func (d *draft) pageOf(ctx context.Context, holder catalog.NodeID) (PageReply, error) {
	moved, shards := time.Now(), -1
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, pollEvery) {
		reply, err := ask(ctx, d.cfg, holder, PageCall, PageRequest{d.head.Base}, askLimit, d.Page)
		if err != nil || reply.Done {
			return reply, err
		}
		if reply.Shards != shards {
			moved, shards = time.Now(), reply.Shards
		} else if time.Since(moved) > stallLimit {
			return reply, fmt.Errorf("its page has stopped at shard %d of %d", shards, ledger.Shards)
		}
		d.at("pages: %s %d/%d", d.name(holder), reply.Shards, ledger.Shards)
		select {
		case <-ctx.Done():
			return reply, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// ask asks a node, or this one.
func ask[Request, Reply any](ctx context.Context, cfg Config, to catalog.NodeID, kind string, r Request,
	limit time.Duration, own func(context.Context, catalog.NodeID, Request) (Reply, error)) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if to == cfg.Self {
		return own(ctx, to, r)
	}
	return wire.Ask[Reply](ctx, cfg.Call, to, kind, r)
}

func (d *draft) name(id catalog.NodeID) string {
	for _, m := range d.members {
		if m.ID == id {
			return m.Name
		}
	}
	return string(id)
}

// eachEvent visits the events from first on, up to last; 0: to the end.
func eachEvent(a Agreement, first, last uint64, visit func(agree.Event) error) error {
	for after := first - 1; last == 0 || after < last; {
		var page []agree.Event
		err := a.View(func(v catalog.View) (err error) {
			page, err = v.Trail(after, pageOfShard)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if last != 0 && e.Seq > last {
				return nil
			}
			if err := visit(e); err != nil {
				return err
			}
			after = e.Seq
		}
	}
	return nil
}

// writeTrail writes the events since the last ledger, and checks that they hang together.
func (d *draft) writeTrail() error {
	span := &d.head.Span
	span.Last, span.Head = span.First-1, span.Before
	name := ledger.TrailName(d.head.Base)
	if err := d.cfg.Disk.MkdirAll(d.dir); err != nil {
		return err
	}
	sum := sha256.New()
	err := d.cfg.Disk.WriteFile(filepath.Join(d.dir, name), func(w io.Writer) error {
		w = io.MultiWriter(w, sum)
		return eachEvent(d.cfg.Agreement, span.First, 0, func(e agree.Event) error {
			if err := agree.VerifyEvents([]agree.Event{e}, agree.Digest(span.Head)); err != nil ||
				e.Seq != span.Last+1 {
				return fmt.Errorf("write the trail behind event %d: %w", span.Last, cmp.Or(err, agree.ErrTrail))
			}
			span.Last, span.Head = e.Seq, ledger.Digest(e.Hash)
			line, err := json.Marshal(e)
			if err == nil {
				_, err = w.Write(append(line, '\n'))
			}
			return err
		})
	})
	d.head.Trail = ledger.File{Name: name, SHA256: ledger.Digest(sum.Sum(nil))}
	return err
}

// finish writes the head, signs it, and has it countersigned.
func (d *draft) finish(ctx context.Context) error {
	text := d.head.Encode()
	name := ledger.HeadName(d.head.Base)
	d.signatures.Signed = append(d.signatures.Signed, ledger.Sign(d.cfg.Key, name, text))
	d.at("countersigning")
	if err := d.countersign(ctx, text); err != nil {
		return err
	}
	signatures, err := d.signatures.Encode()
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{name: text, ledger.SignaturesName(d.head.Base): signatures} {
		err := d.cfg.Disk.WriteFile(filepath.Join(d.dir, name), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countersign asks the nodes at other places, all at once. Who does not sign is noted with the reason.
func (d *draft) countersign(ctx context.Context, head []byte) error {
	alive := d.cfg.Alive()
	witnesses := slices.DeleteFunc(slices.Clone(d.members), func(m catalog.Member) bool {
		return m.Replica == d.replica.Name || d.places[m.Replica] == d.replica.Place
	})
	signatures, err := d.signatures.Encode()
	if err != nil {
		return err
	}
	request := SignRequest{Base: d.head.Base, Head: head, Pages: d.texts, Signatures: signatures}
	replies := wire.Gather(witnesses, func(m catalog.Member) (SignReply, error) {
		if !alive[m.ID] {
			return SignReply{}, errors.New("the node is away")
		}
		return ask(ctx, d.cfg, m.ID, SignCall, request, signLimit, d.Sign)
	})
	for _, r := range replies {
		one := ledger.Signature{Signer: string(r.To.ID), Key: r.To.Key, Bytes: r.Answer.Signature,
			File: ledger.File{Name: ledger.HeadName(d.head.Base), SHA256: sha256.Sum256(head)}}
		if r.Err == nil {
			r.Err = one.Verify(head)
		}
		if r.Err != nil {
			d.signatures.Unsaid = append(d.signatures.Unsaid, ledger.Refusal{Signer: string(r.To.ID),
				Reason: agree.Clip(wire.MessageOf(r.Err), 400)})
			continue
		}
		d.signatures.Signed = append(d.signatures.Signed, one)
		d.signed = append(d.signed, r.To.ID)
	}
	return ctx.Err()
}

// record is what the catalog gets to know.
func (d *draft) record(by string) files.Ledger {
	out := files.Ledger{Replica: d.replica.Name, Serial: d.head.Serial,
		Name:   catalog.FileName(ledger.HeadName(d.head.Base)),
		SHA256: sha256.Sum256(d.head.Encode()), Node: d.cfg.Self, Time: catalog.At(d.head.Time),
		Files: d.head.Total.Files, Bytes: d.head.Total.Bytes, Missing: d.head.Missing,
		First: d.head.Span.First, Last: d.head.Span.Last, By: by}
	out.Signed = d.signed[:min(len(d.signed), most)]
	for _, r := range d.signatures.Unsaid[:min(len(d.signatures.Unsaid), most)] {
		out.Unsigned = append(out.Unsigned, files.LedgerRefusal{Node: catalog.NodeID(r.Signer), Reason: r.Reason})
	}
	return out
}

// most is how many signers, and how many that have not signed, the catalog keeps of a ledger.
const most = 64
