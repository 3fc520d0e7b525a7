package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"

	"holdfast/api/wire"
)

// Catalog is the agreed state as a whole.
type Catalog struct{ c *Client }

// CatalogOf returns what there is to do with the catalog as a whole.
func CatalogOf(c *Client) Catalog { return Catalog{c} }

// Backups lists the scheduled backups that the node keeps.
func (k Catalog) Backups(ctx context.Context) (wire.CatalogBackups, error) {
	return get[wire.CatalogBackups](ctx, k.c, "catalog", "backups")
}

// Backup writes an encrypted backup of the catalog as it is now on the node. begin is called with the name of its file
// and its size before the first byte, and returns where the bytes go.
func (k Catalog) Backup(ctx context.Context, begin func(name string, size int64) (io.Writer, error)) error {
	r, err := k.c.request(ctx, http.MethodGet, nil, nil, "catalog", "backup")
	if err != nil {
		return err
	}
	answer, err := k.c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, parameters, err := mime.ParseMediaType(answer.Header.Get("Content-Disposition"))
	if err != nil {
		return fmt.Errorf("answer of %s: %w: the backup has no name", k.c.base.Host, wire.ErrInvalid)
	}
	w, err := begin(parameters["filename"], answer.ContentLength)
	if err != nil {
		return err
	}
	out := &failingWriter{to: w}
	_, err = io.Copy(out, answer.Body)
	switch {
	case out.err != nil:
		return out.err
	case err != nil:
		return fmt.Errorf("back up the catalog: %w: %w", wire.ErrUnavailable, err)
	}
	return nil
}

// Check has every node check its own catalog, of one index. Checked tells when that is done.
func (k Catalog) Check(ctx context.Context) (wire.CatalogCheck, error) {
	return post[wire.CatalogCheck](ctx, k.c, nil, "catalog", "check")
}

// Checked tells how the check of the catalog stands on every node.
func (k Catalog) Checked(ctx context.Context) (wire.CatalogCheck, error) {
	return get[wire.CatalogCheck](ctx, k.c, "catalog", "check")
}

// StopCheck stops the checks of the catalog on every node.
func (k Catalog) StopCheck(ctx context.Context) (wire.CatalogCheck, error) {
	return post[wire.CatalogCheck](ctx, k.c, nil, "catalog", "check", "stop")
}
