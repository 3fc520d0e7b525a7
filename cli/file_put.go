package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type filePutCmd struct {
	Paths      []string      `arg:"" name:"path" help:"The files to put; each is stored under its base name."`
	Collection string        `help:"The collection that the files belong to. Default: the cluster's first."`
	Copies     string        `placeholder:"N|all|0" help:"Wait until this many replicas have a verified copy of the bytes. all waits for every replica of the collection, including those that hold checksums; 0 does not wait. Default: 2, or 1 where only one replica holds bytes."`
	Delete     bool          `help:"Delete each local file once the verified copies that were asked for are there, and it is still what was put."`
	Wait       time.Duration `help:"Wait at most this long. Default: no limit." placeholder:"TIME"`
}

// exitNotYet ends a put whose files are in the archive, but have fewer copies than were asked for. EX_TEMPFAIL.
const exitNotYet = 75

func (filePutCmd) Help() string {
	return "A file enters the archive on one node; the others copy it from there, and each copy is compared with the " +
		"file's\n" +
		"SHA-256. Delete the original only when enough copies are verified for you, or let --delete do it then.\n" +
		"Interrupting the wait changes nothing: the archive goes on copying."
}

func (filePutCmd) exits() []string {
	return []string{"0   all are in the archive, with the verified copies that were asked for",
		"1   a file could not be read, or was refused; the others are in",
		"75  all are in the archive, but after --wait some have fewer verified copies than were asked for"}
}

// putting is the state of a put: how many copies to wait for, and the outcome of each file.
type putting struct {
	filePutCmd
	a        *app
	client   *client.Client
	want     int             // verified copies; -1: all
	keeps    map[string]bool // replicas that hold bytes
	names    map[string]string
	files    []wire.File
	local    []original // of the files, in the same order
	failures []error
}

func (c filePutCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		p := &putting{filePutCmd: c, a: a, client: archive}
		if err := p.prepare(ctx); err != nil {
			return err
		}
		p.putAll(ctx)
		err := p.wait(ctx)
		if p.Delete && ctx.Err() == nil {
			p.deleteLocal()
		}
		if len(p.failures) > 0 && codeOf(err) == exitNotYet {
			err = errors.New(err.Error()) // not all are in the archive
		}
		if len(p.files) == 0 && !a.JSON {
			return errors.Join(p.failures...)
		}
		return errors.Join(append(p.failures, err, p.show())...)
	})
}

// prepare finds out what can be waited for, before a byte is sent.
func (p *putting) prepare(ctx context.Context) error {
	replicas, err := p.client.Replicas().List(ctx)
	if err != nil {
		return err
	}
	nodes, err := p.client.Nodes().List(ctx)
	if err != nil {
		return err
	}
	collection := p.Collection
	if collection == "" {
		all, err := p.client.Collections().List(ctx)
		if err != nil {
			return err
		}
		if len(all) > 0 {
			collection = all[0].Name
		}
	}
	p.names = namesOf(nodes)
	p.keeps = map[string]bool{}
	for _, r := range replicas {
		if r.Kind == wire.Bitarchive && holds(r, collection) {
			p.keeps[r.Name] = true
		}
	}
	if len(p.keeps) == 0 {
		return usage("no replica holds the bytes of collection %s: add one, or have one hold it too", collection)
	}
	if p.want, err = wanted(p.Copies, len(p.keeps), collection); err != nil {
		return err
	}
	if p.Delete && p.want == 0 {
		return usage("--delete deletes files when copies of them are verified; --copies 0 waits for none")
	}
	return nil
}

// holds reports whether a replica is meant to hold a collection.
func holds(r wire.Replica, collection string) bool {
	for _, c := range r.Collections {
		if c == collection {
			return true
		}
	}
	return len(r.Collections) == 0
}

// wanted reads --copies, given how many replicas hold the bytes of a collection; -1 stands for all.
func wanted(flag string, replicas int, collection string) (int, error) {
	switch flag {
	case "":
		return min(2, replicas), nil
	case "all":
		return -1, nil
	}
	n, err := strconv.Atoi(flag)
	if err != nil || n < 0 {
		return 0, usage("--copies %s: want a number, or all", flag)
	}
	if n > replicas {
		return 0, usage("--copies %d: %d replicas hold the bytes of collection %s", n, replicas, collection)
	}
	return n, nil
}

// putAll puts one file after the other; one that fails does not keep the next from the archive.
func (p *putting) putAll(ctx context.Context) {
	for i, path := range p.Paths {
		before, err := os.Stat(path)
		if err == nil {
			var f wire.File
			if f, err = p.put(ctx, p.a, p.client, path); err == nil {
				p.files, p.local = append(p.files, f), append(p.local, original{path, before})
				continue
			}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("the file may not be in the archive, put it again: %w", err)
		}
		p.failures = append(p.failures, fmt.Errorf("put %s: %w", path, err))
		if errors.Is(err, wire.ErrUnavailable) || errors.Is(err, wire.ErrNoQuorum) || ctx.Err() != nil {
			if rest := len(p.Paths) - i - 1; rest > 0 {
				p.failures = append(p.failures, fmt.Errorf("%d more files were not put", rest))
			}
			return
		}
	}
}

// original is a local file as it was before it was put.
type original struct {
	path   string
	before os.FileInfo
}

// deleteLocal removes the local files of which enough copies are verified. One that was changed or replaced since it
// was put stays, and counts as a failure.
func (p *putting) deleteLocal() {
	for i, f := range p.files {
		if !p.enough(f) {
			continue
		}
		local := p.local[i]
		now, err := os.Lstat(local.path)
		switch {
		case err != nil:
		case !os.SameFile(local.before, now) || now.Size() != local.before.Size() || now.Size() != f.Size ||
			!now.ModTime().Equal(local.before.ModTime()):
			err = errors.New("it was changed since it was put, and stays")
		default:
			err = os.Remove(local.path)
		}
		if err != nil {
			p.failures = append(p.failures, fmt.Errorf("delete %s: %w", local.path, err))
		}
	}
}

// gone reports whether the archive does not keep the file any more: its entry still lists copies, which are deleted.
func gone(f wire.File) bool { return !f.Removed.IsZero() || !f.Lost.IsZero() }

// enough reports whether a file has the copies that are waited for.
func (p *putting) enough(f wire.File) bool {
	if gone(f) {
		return false
	}
	if p.want < 0 {
		return f.Complete
	}
	return len(p.verified(f)) >= p.want
}

// verified lists where the bytes of a file are verified: its replicas with their nodes.
func (p *putting) verified(f wire.File) (at []string) {
	for _, c := range f.Copies {
		if p.keeps[c.Replica] && sound(c) {
			at = append(at, fmt.Sprintf("%s (%s)", c.Replica, nameOf(p.names, c.Node)))
		}
	}
	return at
}

// sound reports whether a copy was verified and nothing has been found against it since.
func sound(c wire.Copy) bool {
	return c.State == wire.UploadCompleted && !c.Verified.IsZero() && !c.Disputed &&
		c.Checksum != wire.ChecksumCorrupt && c.FileList != wire.FileListMissing
}

// Pauses of a wait: between two looks, and between two lines of progress where there is no terminal.
const (
	waitLook = 200 * time.Millisecond
	waitTell = 30 * time.Second
)

// wait waits for the copies of each file. If copies are missing at the end, the error says so.
func (p *putting) wait(ctx context.Context) error {
	if p.want == 0 || len(p.files) == 0 {
		return nil
	}
	limited := ctx
	if p.Wait > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, p.Wait)
		defer cancel()
	}
	progress := p.a.bars()
	defer progress.wait()
	bar := progress.count("verified copies", int64(len(p.files)))
	var told time.Time
	for i := range p.files {
		bar.on(p.files[i].Name)
		err := every(limited, waitLook, func() (done bool, err error) {
			f, err := p.client.Files().Show(limited, p.files[i].Name)
			if err == nil {
				p.files[i] = f
			}
			if err == nil && gone(f) {
				p.failures = append(p.failures, fmt.Errorf("%s is %s in the archive: keep the original", f.Name,
					stateOf(f)))
			}
			if err != nil || gone(f) || p.enough(f) {
				return err == nil, err
			}
			if bar == nil && time.Since(told) > waitTell {
				told = time.Now()
				fmt.Fprintf(p.a.stderr, "waiting for verified copies of %s; %d of %d files have enough\n", f.Name, i,
					len(p.files))
			}
			return false, nil
		})
		bar.set(int64(i)+1, int64(len(p.files)))
		if err != nil {
			bar.end(false)
			return p.missing(ctx, err)
		}
	}
	bar.end(true)
	return nil
}

// missing makes the error of a wait that ended early: it says what is safe and what is not yet.
func (p *putting) missing(ctx context.Context, err error) error {
	var few []string
	for _, f := range p.files {
		if !gone(f) && !p.enough(f) {
			few = append(few, f.Name)
		}
	}
	if len(few) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s is in the archive", few[0])
	if len(few) > 1 {
		text = fmt.Sprintf("%s and %d more files are in the archive", few[0], len(few)-1)
	}
	text += ", but not with the verified copies asked for; copying goes on without this command. Keep the originals " +
		"until then"
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s", ctx.Err(), text)
	case errors.Is(err, context.DeadlineExceeded):
		return exitError{exitNotYet, errors.New(text)}
	}
	return fmt.Errorf("%s: %w", text, err)
}

// show says of each file where its bytes are.
func (p *putting) show() error {
	return list(p.a, p.files, table.Row{"Name", "Size", "Collection", "Verified copies", "State"},
		func(f wire.File) table.Row {
			at := strings.Join(p.verified(f), ", ")
			if at == "" {
				at = "none yet; the bytes are on " + nameOf(p.names, f.Source)
			}
			return table.Row{f.Name, size(f.Size), f.Collection, at, stateOf(f)}
		})
}

// put puts a local file under its base name.
func (c filePutCmd) put(ctx context.Context, a *app, archive *client.Client, path string) (wire.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return wire.File{}, err
	}
	if !info.Mode().IsRegular() {
		return wire.File{}, errors.New("not a regular file")
	}
	return putBytes(ctx, a, archive, c.Collection, filepath.Base(path), info.Size(), func() (io.ReadCloser, error) {
		return os.Open(path)
	})
}

// putBytes hashes what open gives first, so that the archive refuses it if it changes on the way.
func putBytes(ctx context.Context, a *app, archive *client.Client, collection, name string, size int64,
	open func() (io.ReadCloser, error)) (wire.File, error) {
	f, err := open()
	if err != nil {
		return wire.File{}, err
	}
	defer f.Close()
	progress := a.bars()
	defer progress.wait()
	hashing := progress.bytes("hash "+name, size)
	h := sha256.New()
	n, err := io.Copy(h, hashing.reader(&interruptible{ctx, f}))
	hashing.end(err == nil)
	if err != nil {
		return wire.File{}, err
	}
	sending := progress.bytes("send "+name, n)
	put, err := archive.Files().Put(ctx, client.Upload{Name: name, Collection: collection, Size: n,
		SHA256: fmt.Sprintf("%x", h.Sum(nil)),
		Open: func() (io.ReadCloser, error) {
			sending.set(0, n)
			again, err := open()
			if err != nil {
				return nil, err
			}
			return struct {
				io.Reader
				io.Closer
			}{sending.reader(again), again}, nil
		}})
	sending.end(err == nil)
	if errors.Is(err, wire.ErrDigest) {
		err = fmt.Errorf("the file changed while it was put: %w", err)
	}
	return put, err
}

// interruptible ends reading when the context ends.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
