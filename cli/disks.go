package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type diskCmd struct {
	List    diskListCmd    `cmd:"" help:"List a node's disks for files: free room, shards, state, and what is moving."`
	Add     diskAddCmd     `cmd:"" help:"Make a folder ready to be a new disk, and say what to write into cluster.toml."`
	Replace diskReplaceCmd `cmd:"" help:"Give a broken disk up for good: its files are made again on a new one."`
	Drain   diskDrainCmd   `cmd:"" help:"Empty a disk: its shards move to the node's other disks."`
	Undrain diskUndrainCmd `cmd:"" help:"Use a drained disk again."`
	Pause   diskPauseCmd   `cmd:"" help:"Pause the moving of shards between a node's disks."`
	Resume  diskResumeCmd  `cmd:"" help:"Resume the moving of shards between a node's disks."`
}

type diskListCmd struct{}

func (diskListCmd) Help() string {
	return "Lists the disks of the node that is asked. Shards move away from a disk that is drained, and from the " +
		"fullest disk to\n" +
		"the emptiest when their use differs by more than 10 percentage points."
}

func (diskListCmd) Run(a *app) error {
	return ask(a, showDisks, func(ctx context.Context, c *client.Client) (wire.Disks, error) {
		return c.Disks().Show(ctx)
	})
}

type diskDrainCmd struct {
	Path string `arg:"" help:"The disk's folder for files, as written in cluster.toml."`
	Wait bool   `help:"Wait until the disk is empty."`
}

func (diskDrainCmd) Help() string {
	return "Each file is copied to another disk and read back there; it is deleted here when its whole shard has " +
		"moved. Files\n" +
		"can be read at any time. An emptied disk can be removed from cluster.toml."
}

func (diskDrainCmd) exits() []string {
	return []string{"0   begun; with --wait: the disk is empty", "1   refused, or the disk is not in use"}
}

func (c diskDrainCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		path := filepath.Clean(c.Path)
		now, err := archive.Disks().Wish(ctx, wire.DiskWish{Wish: "drain", Path: path})
		if err == nil && c.Wait {
			now, err = waitDrain(ctx, a, archive, path, now)
		}
		if err != nil {
			return err
		}
		return showDisks(a, now)
	})
}

// waitDrain shows the drain's progress until the disk is emptied.
func waitDrain(ctx context.Context, a *app, archive *client.Client, path string, now wire.Disks) (wire.Disks, error) {
	progress := a.bars()
	defer progress.wait()
	first, _ := diskAt(now, path)
	shown := progress.count("drain "+path, int64(first.Shards))
	err := every(ctx, 200*time.Millisecond, func() (over bool, err error) {
		if now, err = archive.Disks().Show(ctx); err != nil {
			return false, err
		}
		disk, ok := diskAt(now, path)
		if !ok || disk.State != "draining" && disk.State != "emptied" {
			return false, fmt.Errorf("disk %s is no longer being drained", path)
		}
		shown.set(int64(first.Shards-min(disk.Shards, first.Shards)), int64(first.Shards))
		shown.on(disk.Why)
		return disk.State == "emptied", nil
	})
	shown.end(err == nil)
	return now, err
}

func diskAt(all wire.Disks, path string) (wire.DiskState, bool) {
	i := slices.IndexFunc(all.Disks, func(d wire.DiskState) bool { return filepath.Clean(d.Path) == path })
	if i < 0 {
		return wire.DiskState{}, false
	}
	return all.Disks[i], true
}

type diskUndrainCmd struct {
	Path string `arg:"" help:"The disk's folder for files, as written in cluster.toml."`
}

func (c diskUndrainCmd) Run(a *app) error {
	return wishDisks(a, wire.DiskWish{Wish: "undrain", Path: filepath.Clean(c.Path)})
}

type diskAddCmd struct {
	Path string `arg:"" help:"A folder on the mounted disk."`
}

func (diskAddCmd) Help() string {
	return "Looks whether the folder can be a disk for files of the node that is asked, and marks it. The node uses " +
		"it from the\n" +
		"first start with the folder in its cluster.toml; if the disk is not mounted then, the folder is left alone."
}

func (c diskAddCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		path := filepath.Clean(c.Path)
		now, err := archive.Disks().Wish(ctx, wire.DiskWish{Wish: "add", Path: path})
		if err != nil {
			return err
		}
		return a.answer(now, func() error { return nextDisks(a, now, "", path) })
	})
}

type diskReplaceCmd struct {
	Old string `arg:"" help:"The broken disk's folder for files, as written in cluster.toml."`
	New string `arg:"" help:"A folder on the new disk, mounted. It may have the old one's path."`
	Yes bool   `help:"Do it without asking."`
}

func (diskReplaceCmd) Help() string {
	return "The old disk counts as gone for good, without a grace time. From the first start with the new disk in " +
		"cluster.toml, its\n" +
		"shards are made again from other nodes. A disk that is there and has the only good bytes of files is not " +
		"replaced: drain it\n" +
		"first. Until the start, \"disk undrain OLD\" takes it back."
}

func (diskReplaceCmd) exits() []string {
	return []string{"0   noted: write the new disk into cluster.toml, and start the node again",
		"1   refused, or one of the disks does not fit"}
}

func (c diskReplaceCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		old, path := filepath.Clean(c.Old), filepath.Clean(c.New)
		var now wire.Disks
		err := a.confirmed(c.Yes, func(confirm string) (err error) {
			now, err = archive.Disks().Wish(ctx, wire.DiskWish{Wish: "replace", Path: old, By: path,
				Confirmation: wire.Confirmation{Confirm: confirm}})
			return err
		})
		if err != nil {
			return err
		}
		return a.answer(now, func() error { return nextDisks(a, now, old, path) })
	})
}

// nextDisks says which line of cluster.toml makes the node use a new disk, in place of an old one or beside all.
func nextDisks(a *app, now wire.Disks, old, path string) error {
	if old == path {
		_, err := fmt.Fprintf(a.stdout, "%s is ready. Start the node again\n", path)
		return err
	}
	var files []string
	for _, d := range now.Disks {
		if d.Path != old && d.Path != path {
			files = append(files, strconv.Quote(d.Path))
		}
	}
	files = append(files, strconv.Quote(path))
	_, err := fmt.Fprintf(a.stdout, "%s is ready. Write into the [[node]] of this node in cluster.toml, and start "+
		"the node again:\nfiles = [%s]\n", path, strings.Join(files, ", "))
	return err
}

type diskPauseCmd struct{}

func (diskPauseCmd) Run(a *app) error { return wishDisks(a, wire.DiskWish{Wish: "pause"}) }

type diskResumeCmd struct{}

func (diskResumeCmd) Run(a *app) error { return wishDisks(a, wire.DiskWish{Wish: "resume"}) }

func wishDisks(a *app, wish wire.DiskWish) error {
	return ask(a, showDisks, func(ctx context.Context, c *client.Client) (wire.Disks,
		error) {
		return c.Disks().Wish(ctx, wish)
	})
}

func showDisks(a *app, all wire.Disks) error {
	return a.answer(all, func() error {
		rows := make([]table.Row, len(all.Disks))
		for i, d := range all.Disks {
			rows[i] = table.Row{d.Path, d.State, d.Shards, size(d.Bytes), size(d.Room), size(d.Total), d.Why}
		}
		if err := a.table(table.Row{"Disk", "State", "Shards", "Files", "Room", "Size", "Detail"}, rows); err != nil {
			return err
		}
		return showMoves(a, all)
	})
}

// showMoves says what moves between disks, if anything does or could.
func showMoves(a *app, all wire.Disks) error {
	text := ""
	switch m := all.Move; {
	case all.Fault != "":
		text = all.Fault
	case m != nil:
		text = fmt.Sprintf("Shard %s moves from %s to %s: %d of %d files, %s", m.Shard, m.From, m.To, m.Files,
			m.TotalFiles, size(m.Bytes))
	case all.Paused:
		text = "Moves between disks are paused: holdfast disk resume"
	default:
		return nil
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s\n", text)
	return err
}
