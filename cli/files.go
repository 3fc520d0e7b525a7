package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/disk"
)

type fileCmd struct {
	Put         filePutCmd         `cmd:"" help:"Put files into the archive."`
	Get         fileGetCmd         `cmd:"" help:"Download a file, and verify it."`
	Record      fileRecordCmd      `cmd:"" help:"Print one record of a WARC or ARC file of the archive."`
	List        fileListCmd        `cmd:"" help:"List files by name, collection, job, state or replica."`
	Show        fileShowCmd        `cmd:"" help:"Show a file and its copies."`
	Copies      fileCopiesCmd      `cmd:"" help:"List the copies that are owed, disputed, corrupt or missing."`
	Verify      fileVerifyCmd      `cmd:"" help:"Read the copies of a file, each on its own node, and compare them with the file's SHA-256."`
	Repair      fileRepairCmd      `cmd:"" help:"Read the copies of files now, and wait until a replica's bad ones are made again."`
	Replace     fileReplaceCmd     `cmd:"" help:"Set a replica's bad copy of a file aside, and make it again from a good one."`
	SetChecksum fileSetChecksumCmd `cmd:"" name:"set-checksum" help:"Correct a file's SHA-256 in the catalog, to what most of its copies were found to have."`
	SetState    fileSetStateCmd    `cmd:"" name:"set-state" help:"Put a replica's copy of a file back to owed, so that it is made again."`
	Strays      fileStraysCmd      `cmd:"" help:"List bytes on the nodes' disks that are not counted as a copy of any file."`
	Adopt       fileAdoptCmd       `cmd:"" help:"Take bytes on the nodes' disks into the archive that are not counted as a copy of any file."`
	Lost        fileLostCmd        `cmd:"" help:"Declare a file lost: no node has its bytes any more."`
	Remove      fileRemoveCmd      `cmd:"" help:"Remove a file. It can be restored for some days; then its copies are deleted. Its name cannot be used again."`
	Restore     fileRestoreCmd     `cmd:"" help:"Restore a removed file, as long as its copies are kept."`
	RemovalDays fileRemovalDaysCmd `cmd:"" name:"removal-days" help:"Show or change for how many days a removed file can be restored."`
}

func fileTable(a *app, files []wire.File) error {
	return list(a, files, table.Row{"Name", "Size", "Added", "Collection", "Copies", "State"},
		func(f wire.File) table.Row {
			good := 0
			for _, c := range f.Copies {
				if c.State == wire.UploadCompleted {
					good++
				}
			}
			return table.Row{f.Name, size(f.Size), when(f.Added), f.Collection,
				fmt.Sprintf("%d/%d", good, len(f.Copies)),
				stateOf(f)}
		})
}

// stateOf describes the state of a file in a word or two.
func stateOf(f wire.File) string {
	switch {
	case !f.Lost.IsZero():
		return "lost"
	case !f.Until.IsZero():
		return "removed, kept until " + when(f.Until)
	case !f.Removed.IsZero():
		return "removed"
	case f.Stuck != nil && len(f.Stuck.Away) > 0:
		return "stuck until " + strings.Join(f.Stuck.Away, " or ") + " is back"
	case f.Stuck != nil:
		return "stuck, no node has good bytes"
	case f.Complete:
		return "complete"
	}
	for _, c := range f.Copies {
		if c.Disputed {
			return "disputed"
		}
		if c.State == wire.UploadFailed {
			return "failing at " + c.Replica
		}
	}
	return "copying"
}

type fileGetCmd struct {
	Name    string `arg:"" help:"A file's name."`
	Replica string `placeholder:"NAME" help:"Get only this replica's copy; refused when it is not good. By default the nearest good copy is read, and another when that turns out wrong."`
	Out     string `short:"o" placeholder:"PATH" help:"Write to this path; - is stdout. Default: the file's name in the current folder. An interrupted download (PATH.part) is continued."`
}

func (c fileGetCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if c.Out == "-" {
			h := sha256.New()
			content, err := archive.Files().GetCopy(ctx, c.Name, c.Replica, 0, io.MultiWriter(a.stdout, h))
			if err != nil {
				return err
			}
			return same(content, h)
		}
		out := c.Out
		if out == "" {
			out = filepath.Base(c.Name)
		}
		if info, err := os.Stat(out); err == nil && info.IsDir() {
			out = filepath.Join(out, filepath.Base(c.Name))
		}
		content, err := c.save(ctx, a, archive, out)
		if err != nil {
			return err
		}
		return a.answer(map[string]any{"name": c.Name, "path": out, "size": content.Size, "sha256": content.SHA256},
			func() error {
				_, err := fmt.Fprintf(a.stdout, "%s: %s, SHA-256 %s\n", out, size(content.Size), content.SHA256)
				return err
			})
	})
}

// save writes to out.part, continuing what is there, and renames it when the bytes match the archive's.
func (c fileGetCmd) save(ctx context.Context, a *app, archive *client.Client, out string) (client.Content, error) {
	file, err := archive.Files().Show(ctx, c.Name)
	if err != nil {
		return client.Content{}, err
	}
	d := disk.New()
	part, err := d.Open(out + ".part")
	if err != nil {
		return client.Content{}, err
	}
	defer part.Close()
	h, begun := sha256.New(), part.Size()
	if begun > file.Size || c.Replica != "" { // what is there may have come from another copy
		begun = 0
		err = part.Truncate(0)
	} else {
		_, err = io.Copy(h, io.NewSectionReader(part, 0, begun))
	}
	if err != nil {
		return client.Content{}, err
	}
	progress := a.bars()
	defer progress.wait()
	getting := progress.bytes("get "+c.Name, file.Size)
	getting.from(begun, file.Size)
	content := client.Content{Size: file.Size, SHA256: file.SHA256}
	if begun < file.Size || c.Replica != "" {
		writers := []io.Writer{part, h}
		if getting != nil {
			writers = append(writers, counter{getting})
		}
		content, err = archive.Files().GetCopy(ctx, c.Name, c.Replica, begun, io.MultiWriter(writers...))
	}
	getting.end(err == nil)
	if err != nil {
		return content, err // the fetched part stays for the next try
	}
	if err := same(content, h); err != nil {
		if gone := d.Remove(out + ".part"); gone != nil || begun == 0 {
			return content, errors.Join(err, gone)
		}
		return c.save(ctx, a, archive, out) // the part was not of this file
	}
	if err := part.Sync(); err != nil {
		return content, err
	}
	return content, d.Rename(out+".part", out)
}

// same compares the hash of what was read with the archive's.
func same(content client.Content, h hash.Hash) error {
	if hex.EncodeToString(h.Sum(nil)) != content.SHA256 {
		return fmt.Errorf("%w: got %x, the archive has %s", wire.ErrDigest, h.Sum(nil), content.SHA256)
	}
	return nil
}

type fileListCmd struct {
	Prefix     string `arg:"" optional:"" help:"List only files whose names begin with this."`
	Collection string `placeholder:"NAME" help:"List only files of this collection."`
	Job        uint64 `placeholder:"N" help:"List only files that this job made."`
	State      string `enum:",complete,incomplete,owed,stuck,disputed,corrupt,missing,lost,removed,hidden" default:"" help:"List only files in this state: complete, incomplete, lost, removed, or hidden (removed, and can be restored); with a copy in this state: owed, disputed, corrupt or missing; or stuck: with an owed copy while no node that is alive has good bytes. Default: all but the removed ones."`
	Removed    bool   `help:"List only removed files, and until when each can be restored. --state hidden lists only those that still can be."`
	Replica    string `placeholder:"NAME" help:"List only files that this replica should have. With the state of a copy, list those whose copy in this replica has that state."`
	Limit      int    `default:"0" help:"Show at most this many; 0 shows all."`
}

func (c fileListCmd) Run(a *app) error {
	if c.Removed && c.State != "" {
		return usage("--removed is --state removed: give one of them")
	}
	if c.Removed {
		c.State = "removed"
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		found := archive.Files().Search(ctx, client.FileQuery{Prefix: c.Prefix, Collection: c.Collection, Job: c.Job,
			State: c.State, Replica: c.Replica})
		if c.State == "" {
			found = notRemoved(found)
		}
		files, err := collect(most(c.Limit, found))
		if err != nil {
			return err
		}
		return fileTable(a, files)
	})
}

// notRemoved leaves out removed files: the API lists those that can no longer be restored unless a state is asked for.
func notRemoved(all iter.Seq2[wire.File, error]) iter.Seq2[wire.File, error] {
	return func(yield func(wire.File, error) bool) {
		for f, err := range all {
			if (err != nil || f.Removed.IsZero()) && !yield(f, err) {
				return
			}
		}
	}
}

type fileShowCmd struct {
	Name string `arg:"" help:"A file's name."`
}

func (c fileShowCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		f, err := archive.Files().Show(ctx, c.Name)
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		return a.answer(f, func() error { return showFile(a, f, names) })
	})
}

func showFile(a *app, f wire.File, names map[string]string) error {
	rows := []table.Row{{"name", f.Name}, {"size", fmt.Sprintf("%d (%s)", f.Size, size(f.Size))}, {"sha256", f.SHA256},
		{"shard", f.Shard},
		{"collection", f.Collection}, {"added", when(f.Added)}, {"source", nameOf(names, f.Source)},
		{"released", yes(f.Released)}, {"state", stateOf(f)}, {"version", f.Version}}
	if f.Job != 0 {
		rows = append(rows, table.Row{"job", fmt.Sprintf("%d, attempt %d", f.Job, f.Attempt)})
	}
	if !f.Lost.IsZero() {
		rows = append(rows, table.Row{"lost", when(f.Lost) + ": " + f.LostWhy})
	}
	if f.Reason != "" {
		rows = append(rows, table.Row{"removed", when(f.Removed) + ": " + f.Reason})
	}
	if f.RemovedBy != "" {
		rows = append(rows, table.Row{"removed by", named(names, f.RemovedBy)})
	}
	if !f.Until.IsZero() {
		rows = append(rows, table.Row{"can be restored until", when(f.Until)})
	}
	if err := a.table(nil, rows); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	copies, away := make([]table.Row, len(f.Copies)), 0
	for i, c := range f.Copies {
		why := named(names, c.Reason)
		if c.Away {
			away++
			why = strings.TrimSpace("on a disk that is away " + why)
		}
		copies[i] = table.Row{c.Replica, nameOf(names, c.Node), c.State, c.FileList, c.Checksum, when(c.Verified), why}
	}
	err := a.table(table.Row{"Replica", "Node", "State", "File list", "Checksum", "Verified at", "Reason"}, copies)
	if away > 0 {
		fmt.Fprintf(a.stdout, "\n%d of %d copies on a disk that is away: they count, and nobody can read them.\n", away,
			len(f.Copies))
	}
	return err
}

type fileVerifyCmd struct {
	Name     string   `arg:"" help:"A file's name."`
	Replicas []string `name:"replica" sep:"none" placeholder:"NAME" help:"Read only this replica's copy; can be repeated. By default every copy is read."`
}

func (fileVerifyCmd) exits() []string {
	return []string{"0   every copy that was asked for was read and is right, and so is what is in an outbox",
		"1   a copy is wrong, missing, unreadable or on a disk that is away, its node is silent, or there is none"}
}

func (c fileVerifyCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		found, err := archive.Files().Verify(ctx, c.Name, c.Replicas...)
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		if err := list(a, found, table.Row{"Replica", "Node", "State", "Outbox", "SHA-256", "Detail"},
			func(v wire.Verification) table.Row {
				return table.Row{v.Replica, nameOf(names, v.Node), v.State, v.Outbox, v.SHA256,
					named(names, v.Detail)}
			}); err != nil {
			return err
		}
		if len(found) == 0 {
			fmt.Fprintln(a.stderr, "No replica is to have this file: nothing was read.")
		}
		if !allRight(found) {
			return errNo
		}
		return nil
	})
}

// allRight reports whether copies were read, and all were found right, in outboxes too. Of nothing, nothing is right.
func allRight(found []wire.Verification) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(v wire.Verification) bool {
		return v.State != "ok" || v.Outbox != "" && v.Outbox != "ok"
	})
}
