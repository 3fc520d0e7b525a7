package ledgers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/ledger"
	"holdfast/node/wire"
)

// store has all files of the ledger enter the archive, the head last.
func (d *draft) store(ctx context.Context, holders []catalog.NodeID) error {
	replies := wire.Gather(holders, func(h catalog.NodeID) (struct{}, error) {
		return ask(ctx, d.cfg, h, KeepCall, KeepRequest{d.head.Base, d.collection}, signLimit, d.Keep)
	})
	for _, r := range replies {
		if r.Err != nil {
			return fmt.Errorf("put the page of %s into the archive: %w", d.name(r.To), r.Err)
		}
	}
	for _, name := range []string{ledger.TrailName(d.head.Base), ledger.SignaturesName(d.head.Base),
		ledger.HeadName(d.head.Base)} {
		if err := d.put(ctx, d.dir, name, d.collection); err != nil {
			return err
		}
	}
	return nil
}

// KeepRequest has a holder put its page, and the page's list, into the archive.
type KeepRequest struct {
	Base       string                 `json:"base"`
	Collection catalog.CollectionName `json:"collection"`
}

// Keep puts this node's page, and its list, into the archive.
func (l *Ledgers) Keep(ctx context.Context, from catalog.NodeID, r KeepRequest) (struct{}, error) {
	if err := l.ours(from, r.Base); err != nil {
		return struct{}{}, err
	}
	l.mu.Lock()
	b := l.page
	if b == nil || b.base != r.Base || !b.done || b.err != nil {
		l.mu.Unlock()
		return struct{}{}, fmt.Errorf("there is no page of %s here", r.Base)
	}
	list := b.list
	l.mu.Unlock()
	dir := filepath.Join(l.cfg.Dir, r.Base)
	for _, name := range []string{list, ledger.PageName(r.Base, string(l.cfg.Self))} {
		if name == "" {
			continue
		}
		if err := l.put(ctx, dir, name, r.Collection); err != nil {
			return struct{}{}, err
		}
	}
	l.mu.Lock()
	b.asked = time.Time{} // nobody needs it any more
	l.mu.Unlock()
	if from != l.cfg.Self { // else the rest of the ledger lies there too
		return struct{}{}, l.cfg.Disk.RemoveAll(dir)
	}
	return struct{}{}, nil
}

// put lets one file of a ledger enter the archive.
func (l *Ledgers) put(ctx context.Context, dir, name string, collection catalog.CollectionName) error {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return l.cfg.Bytes.Put(ctx, path, catalog.Addition{Name: catalog.FileName(name), Size: size,
		SHA256: catalog.Digest(sum.Sum(nil)), Collection: collection, Source: l.cfg.Self})
}
