package ledgers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/internal/disk"
	"holdfast/ledger"
	"holdfast/replica"
)

// PageRequest asks a holder for its page.
type PageRequest struct {
	Base string `json:"base"`
}

// PageReply is a holder's page, when it is done.
type PageReply struct {
	Done      bool   `json:"done"`
	Shards    int    `json:"shards"` // that are done
	Page      []byte `json:"page,omitempty"`
	Signature []byte `json:"signature,omitempty"` // the text of a signatures file with the page's signature alone
}

// building is a page that is being made.
type building struct {
	base   string
	from   catalog.NodeID // who makes the ledger
	asked  time.Time      // when it asked last
	cancel context.CancelFunc
	shards int
	done   bool
	reply  PageReply
	list   string // of the page, if it has one of its own
	err    error
}

// busyFor is how long a page is kept for who asked for it.
const busyFor = 2 * time.Minute

// inUse reports whether another node is making an older ledger that needs this page. If two ledgers are made at the
// same time, the older one goes on: otherwise each would end the pages of the other for ever.
func (b *building) inUse(from catalog.NodeID, base string) bool {
	return b != nil && b.err == nil && b.from != from && b.base < base && time.Since(b.asked) < busyFor
}

// Page makes this node's page for a ledger that a node of its replica makes. The first request begins it; the caller
// asks again until the page is done.
func (l *Ledgers) Page(ctx context.Context, from catalog.NodeID, r PageRequest) (PageReply, error) {
	if err := l.ours(from, r.Base); err != nil {
		return PageReply{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return PageReply{}, refusal("this node is stopping")
	}
	b := l.page
	if b.inUse(from, r.Base) {
		return PageReply{}, refusal("the page of another ledger, %s, is being made", b.base)
	}
	if b == nil || b.base != r.Base || b.err != nil {
		if b != nil {
			b.cancel()
			if b.done {
				l.drop(b)
			}
		}
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		b = &building{base: r.Base, from: from, cancel: cancel}
		l.page = b
		l.builds.Go(func() { l.build(own, b) })
	}
	b.asked = time.Now()
	if b.err != nil {
		return PageReply{}, b.err
	}
	if !b.done {
		return PageReply{Shards: b.shards}, nil
	}
	return b.reply, nil
}

// ours refuses requests about another replica than this node's, and of nodes that are not of it.
func (l *Ledgers) ours(from catalog.NodeID, base string) error {
	if err := l.able(); err != nil {
		return err
	}
	return l.cfg.Agreement.View(func(v catalog.View) error {
		m, err := v.Member(from)
		if err != nil || m.Replica != l.cfg.Replica || !strings.HasPrefix(base, "ledger-"+string(l.cfg.Replica)+"-") ||
			catalog.FileName(base).Check() != nil || len(base) > 100 {
			return &catalog.Refusal{Code: catalog.Conflict, Message: fmt.Sprintf("%s is no ledger of replica %s "+
				"that %s makes",
				agree.Clip(base, 100), l.cfg.Replica, from)}
		}
		return nil
	})
}

// build makes the page and signs it.
func (l *Ledgers) build(ctx context.Context, b *building) {
	reply, list, err := l.write(ctx, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	b.reply, b.list, b.err, b.done = reply, list, err, true
	if err != nil || l.page != b {
		l.drop(b)
	}
}

// drop removes what was written of a page that nobody asks for any more. The caller holds the lock.
func (l *Ledgers) drop(b *building) {
	if l.page != nil && l.page != b && l.page.base == b.base { // begun again in the same folder
		return
	}
	if err := l.cfg.Disk.RemoveAll(filepath.Join(l.cfg.Dir, b.base)); err != nil {
		l.cfg.Log.Warn("what is left of a page could not be removed", "ledger", b.base, "error", err)
	}
}

func (l *Ledgers) write(ctx context.Context, b *building) (reply PageReply, list string, err error) {
	dir := filepath.Join(l.cfg.Dir, b.base)
	if err := l.cfg.Disk.RemoveAll(dir); err != nil {
		return reply, "", err
	}
	if err := l.cfg.Disk.MkdirAll(dir); err != nil {
		return reply, "", err
	}
	_, before, err := l.before(ctx)
	if err != nil {
		return reply, "", err
	}
	h, err := l.holding()
	if err != nil {
		return reply, "", err
	}
	build := ledger.Build{Base: b.base, Replica: string(l.cfg.Replica), Holder: string(l.cfg.Self), Time: h.at.Std(),
		Before: before, Earlier: l.open(ctx), In: workshop{l.cfg.Disk, dir},
		Held: func(shard int) (ledger.Held, error) {
			if ctx.Err() != nil {
				return ledger.Held{}, ctx.Err()
			}
			return h.shard(catalog.Shard(shard))
		},
		Told: func(shard int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			b.shards = shard + 1
		}}
	p, err := build.Make()
	if err != nil {
		return reply, "", fmt.Errorf("make the page of %s: %w", b.base, err)
	}
	for _, one := range p.Lists {
		if one.Name == ledger.ListName(b.base, string(l.cfg.Self)) {
			list = one.Name
		}
	}
	name := ledger.PageName(b.base, string(l.cfg.Self))
	reply = PageReply{Done: true, Shards: ledger.Shards}
	if reply.Page, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
		return reply, "", err
	}
	s := ledger.Signatures{Base: b.base, Signed: []ledger.Signature{ledger.Sign(l.cfg.Key, name, reply.Page)}}
	reply.Signature, err = s.Encode()
	return reply, list, err
}

// before returns the replica's newest ledger and this node's page in it; nil where there is none. What cannot be read,
// or is not what the catalog says, is an error: a ledger that began again would hide what the one before said.
func (l *Ledgers) before(ctx context.Context) (*ledger.Head, *ledger.Page, error) {
	var newest ledger.File
	err := l.cfg.Agreement.View(func(v catalog.View) error {
		n, err := v.NewestLedger(l.cfg.Replica)
		newest = ledger.File{Name: string(n.Name), SHA256: ledger.Digest(n.SHA256)}
		return err
	})
	if err != nil || newest.Name == "" {
		return nil, nil, err
	}
	head, err := l.read(ctx, newest)
	if err != nil {
		return nil, nil, err
	}
	h, err := ledger.ReadHead(newest.Name, head)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range h.Sheets {
		if s.Holder != string(l.cfg.Self) {
			continue
		}
		text, err := l.read(ctx, s.File)
		if err != nil {
			return nil, nil, err
		}
		p, err := ledger.ReadPage(s.File.Name, text)
		return h, p, err
	}
	return h, nil, nil
}

// open opens files of earlier ledgers.
func (l *Ledgers) open(ctx context.Context) ledger.Open {
	return func(name string) (io.ReadCloser, error) { return l.cfg.Bytes.Open(ctx, catalog.FileName(name)) }
}

// mostText bounds a head or page of an earlier ledger.
const mostText = 64 << 20

func (l *Ledgers) read(ctx context.Context, f ledger.File) ([]byte, error) {
	in, err := l.cfg.Bytes.Open(ctx, catalog.FileName(f.Name))
	if err != nil {
		return nil, fmt.Errorf("open %s of the ledger before: %w", f.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(in, mostText))
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("read %s of the ledger before: %w", f.Name, err)
	}
	if sha256.Sum256(text) != f.SHA256 {
		return nil, fmt.Errorf("read %s of the ledger before: it has another SHA-256 than %s", f.Name, f.SHA256)
	}
	return text, nil
}

// holding tells what this node holds at one time of the catalog.
type holding struct {
	l      *Ledgers
	at     catalog.Time
	layout []catalog.Placement
	passes map[catalog.Shard]catalog.ShardPass
}

func (l *Ledgers) holding() (*holding, error) {
	h := &holding{l: l, passes: map[catalog.Shard]catalog.ShardPass{}}
	err := l.cfg.Agreement.View(func(v catalog.View) (err error) {
		if h.at, err = v.Clock(); err != nil {
			return err
		}
		layout, err := v.Layout(l.cfg.Replica)
		if err != nil {
			return err
		}
		h.layout = slices.Clone(layout)
		passes, err := v.Passes(l.cfg.Replica)
		for _, p := range passes {
			if p.Node == l.cfg.Self {
				h.passes[p.Shard] = p
			}
		}
		return err
	})
	return h, err
}

// pageOfShard is how many entries of the catalog are looked at in one view.
const pageOfShard = 1000

// shard compares the catalog with this node's manifest. A file is held if both have it with the same content.
func (h *holding) shard(shard catalog.Shard) (out ledger.Held, err error) {
	if h.layout[shard].Holder != h.l.cfg.Self {
		return out, nil
	}
	here := map[catalog.FileName]replica.Held{}
	held, err := h.l.cfg.Bytes.List(shard)
	if err != nil {
		return out, fmt.Errorf("list shard %s: %w", shard, err)
	}
	for _, f := range held {
		here[f.Name] = f
	}
	err = eachHeld(h.l.cfg.Agreement, h.l.cfg.Replica, shard, h.at, func(f *catalog.File) {
		if has, ok := here[f.Name]; ok && has.Size == f.Size && has.SHA256 == f.SHA256 {
			out.Files = append(out.Files, entryOf(f))
		} else {
			out.Missing = append(out.Missing, string(f.Name))
		}
	})
	if p, passed := h.passes[shard]; passed && p.Ended > 0 {
		out.Checked, out.Faults = p.Ended.Std(), p.Exceptions
	}
	return out, err
}

func entryOf(f *catalog.File) ledger.Entry {
	return ledger.Entry{Name: string(f.Name), Size: f.Size, SHA256: ledger.Digest(f.SHA256),
		Origin: ledger.Origin{Added: int64(f.Added), Collection: string(f.Collection), Job: f.Job, Attempt: f.Attempt}}
}

// eachHeld visits the files of the shard that the replica holds in a ledger of the time, by name.
func eachHeld(a Agreement, name catalog.ReplicaName, shard catalog.Shard, at catalog.Time,
	visit func(*catalog.File)) error {
	after := catalog.FileName("")
	for more := true; more; {
		err := a.View(func(v catalog.View) error {
			page, err := v.ShardFiles(shard, after, pageOfShard)
			for i := range page {
				if after = page[i].Name; page[i].HeldIn(name, at) {
					visit(&page[i])
				}
			}
			more = len(page) == pageOfShard
			return err
		})
		if err != nil {
			return fmt.Errorf("read shard %s of the catalog: %w", shard, err)
		}
	}
	return nil
}

// workshop is a folder where a page is made.
type workshop struct {
	disk disk.Disk
	dir  string
}

// written is a file that is on stable storage when it is closed.
type written struct{ *disk.File }

func (w written) Close() error { return errors.Join(w.Sync(), w.File.Close()) }

func (w workshop) Create(name string) (io.WriteCloser, error) {
	f, err := w.disk.Create(filepath.Join(w.dir, name))
	if err != nil {
		return nil, err
	}
	return written{f}, nil
}

func (w workshop) Open(name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(w.dir, name))
}

func (w workshop) Rename(from, to string) error {
	return w.disk.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to))
}
