package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
	"holdfast/cdx"
)

// Files are the archive's files.
type Files struct{ c *Client }

// FileQuery says which files are listed; empty fields are ignored.
type FileQuery struct {
	Prefix     string // of the name
	Collection string
	Job        uint64 // that made it
	State      string // complete, incomplete, owed, stuck, disputed, corrupt, missing, lost, removed or hidden
	Replica    string // that is to have a copy; with a state of copies, whose copy is so
}

// List yields the files whose name has the prefix, by name.
func (f Files) List(ctx context.Context, prefix string) iter.Seq2[wire.File, error] {
	return f.Search(ctx, FileQuery{Prefix: prefix})
}

// Search yields the files that are asked for, by name.
func (f Files) Search(ctx context.Context, q FileQuery) iter.Seq2[wire.File, error] {
	query := q.values()
	query.Set("limit", strconv.Itoa(wire.MaxPage))
	return all[wire.File](ctx, f.c, query, "files")
}

func (q FileQuery) values() url.Values {
	query := asked(map[string]string{"prefix": q.Prefix, "collection": q.Collection, "state": q.State,
		"replica": q.Replica})
	if q.Job != 0 {
		query.Set("job", number(q.Job))
	}
	return query
}

// Copies yields the copies in a state: owed, disputed, corrupt or missing. Without a replica, it yields those of all.
func (f Files) Copies(ctx context.Context, state, replica string) iter.Seq2[wire.FileCopy, error] {
	return all[wire.FileCopy](ctx, f.c, asked(map[string]string{"state": state, "replica": replica}), "copies")
}

// Show shows a file and its copies.
func (f Files) Show(ctx context.Context, name string) (wire.File, error) {
	return get[wire.File](ctx, f.c, "files", name)
}

// Verify re-reads the copies of a file in these replicas, each where it lies. Without replicas it re-reads every copy.
func (f Files) Verify(ctx context.Context, name string, replicas ...string) ([]wire.Verification, error) {
	var page wire.Page[wire.Verification]
	err := f.c.call(ctx, http.MethodPost, nil, &page, url.Values{"replica": replicas}, "files", name, "verify")
	return page.Items, err
}

// Remove hides a file, whose bytes are released some days later.
func (f Files) Remove(ctx context.Context, name string, removal wire.FileRemoval) error {
	return f.c.call(ctx, http.MethodPost, removal, nil, nil, "files", name, "remove")
}

// Restore makes a removed file one like any other again, unless the release of its bytes has begun.
func (f Files) Restore(ctx context.Context, name string, in wire.FileRestoration) (wire.File, error) {
	return post[wire.File](ctx, f.c, in, "files", name, "restore")
}

// RemovalRule shows for how many days a removed file can be restored.
func (f Files) RemovalRule(ctx context.Context) (wire.RemovalRule, error) {
	return get[wire.RemovalRule](ctx, f.c, "removal-rule")
}

// SetRemovalRule changes that for files that are removed from now on.
func (f Files) SetRemovalRule(ctx context.Context, in wire.RemovalRuleRequest) (wire.RemovalRule, error) {
	return send[wire.RemovalRule](ctx, f.c, http.MethodPut, in, "removal-rule")
}

// Replace sets a replica's copy aside that was found to have other bytes, and has it made again from a good one.
func (f Files) Replace(ctx context.Context, name string, in wire.CopyReplacement) (wire.File, error) {
	return post[wire.File](ctx, f.c, in, "files", name, "replace")
}

// SetChecksum corrects a file's SHA-256 in the catalog, to what most of its copies were found to have. They count as
// good when their nodes have read them again.
func (f Files) SetChecksum(ctx context.Context, name string, in wire.ChecksumCorrection) (wire.File, error) {
	return post[wire.File](ctx, f.c, in, "files", name, "checksum")
}

// SetState puts a replica's copy back to owed, so that it is made again.
func (f Files) SetState(ctx context.Context, name string, in wire.CopySetting) (wire.File, error) {
	return post[wire.File](ctx, f.c, in, "files", name, "state")
}

// Lose declares that nobody has a file's bytes any more. With a version above 0 it is refused when the file's entry is
// not of that version any more.
func (f Files) Lose(ctx context.Context, name string, version uint64, reason string) error {
	loss := wire.LossRequest{ReasonRequest: wire.ReasonRequest{Reason: reason}, Version: version}
	return f.c.call(ctx, http.MethodPost, loss, nil, nil, "files", name, "lost")
}

// Find takes it back that a file is lost.
func (f Files) Find(ctx context.Context, name, reason string) error {
	return f.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "files", name, "found")
}

// Strays lists the bytes on the nodes that the archive neither counts on nor asks for.
func (f Files) Strays(ctx context.Context) ([]wire.NodeStrays, error) {
	return list[wire.NodeStrays](ctx, f.c, nil, "strays")
}

// Adopt has a node take bytes into the archive that nobody asks for.
func (f Files) Adopt(ctx context.Context, node, name string, in wire.Adoption) (wire.File, error) {
	return post[wire.File](ctx, f.c, in, "nodes", node, "strays", name, "adopt")
}

// SetAside has a node move bytes that nobody asks for to its quarantine.
func (f Files) SetAside(ctx context.Context, node, name, reason string) error {
	return f.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "nodes", node, "strays", name,
		"set-aside")
}

// Quarantine lists the bytes that the nodes have set aside.
func (f Files) Quarantine(ctx context.Context) ([]wire.NodeQuarantine, error) {
	return list[wire.NodeQuarantine](ctx, f.c, nil, "quarantine")
}

// ShowAside has a node read bytes that it has set aside, and describes them.
func (f Files) ShowAside(ctx context.Context, node, id string) (wire.Aside, error) {
	return get[wire.Aside](ctx, f.c, "nodes", node, "quarantine", id)
}

// RestoreAside has a node offer bytes that it has set aside as the source of the file that they are.
func (f Files) RestoreAside(ctx context.Context, node, id string) error {
	return f.c.call(ctx, http.MethodPost, nil, nil, nil, "nodes", node, "quarantine", id, "restore")
}

// DeleteAside asks for the deletion of bytes that a node has set aside. The node carries it out later, if it may then.
func (f Files) DeleteAside(ctx context.Context, node, id string, in wire.AsideRemoval) error {
	return f.c.call(ctx, http.MethodPost, in, nil, nil, "nodes", node, "quarantine", id, "delete")
}

// Captures yields the captures that answer the query. A *cdx.Incomplete comes last when shards were not covered.
func (c *Client) Captures(ctx context.Context, q cdx.Query) iter.Seq2[wire.Capture, error] {
	query := url.Values{"url": {q.URL}, "match": {string(q.Match)}, "filter": q.Filters}
	texts := map[string]string{"from": q.From, "to": q.To, "sort": string(q.Sort), "closest": q.Closest}
	for name, text := range texts {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, n := range map[string]int{"limit": q.Limit, "collapse": q.Collapse} {
		if n != 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	if q.Match == "" {
		query.Set("match", string(cdx.Exact))
	}
	return func(yield func(wire.Capture, error) bool) {
		r, err := c.request(ctx, http.MethodGet, nil, query, "captures")
		if err != nil {
			yield(wire.Capture{}, err)
			return
		}
		answer, err := c.do(r)
		if err != nil {
			yield(wire.Capture{}, err)
			return
		}
		defer answer.Body.Close()
		for in := json.NewDecoder(answer.Body); ; {
			var line wire.Capture
			err := in.Decode(&line)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(wire.Capture{}, fmt.Errorf("read captures from %s: %w", c.base.Host, err))
				return
			case line.Incomplete != nil:
				yield(wire.Capture{}, &cdx.Incomplete{Shards: line.Incomplete})
				return
			case line.Failed != "":
				yield(wire.Capture{}, &wire.Error{Status: http.StatusInternalServerError, Code: wire.CodeInternal,
					Detail: line.Failed})
				return
			case !yield(line, nil):
				return
			}
		}
	}
}
