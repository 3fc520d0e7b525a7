package cli

import (
	"fmt"

	"holdfast/node"
	"holdfast/node/rebuild"
)

type replicaAdoptCmd struct {
	Dirs []string `arg:"" name:"dir" help:"A folder copied from another replica: a node's data folder, its folder for files, or one with the files themselves."`
	Also []string `placeholder:"ID" sep:"none" help:"Take files out of folders of this cluster, too, which is another one."`
	Link bool     `help:"On the same disk, give the files a second name instead of copying them. Nobody may write to them later."`
}

func (replicaAdoptCmd) Help() string {
	return "Use this to fill a new replica from shipped disks, so that only what is missing goes over the network.\n" +
		"Let the node join, start it once, until holdfast node show says that it has shards, and stop it. Every\n" +
		"byte is compared with the catalog; what is wrong, or was not copied whole, is named, and not taken. The\n" +
		"command can be stopped, and goes on when it is typed again. Then start the node: it reads what was taken\n" +
		"once more before it counts, and fetches the rest."
}

func (replicaAdoptCmd) exits() []string {
	return []string{"0   every file in the folders that the node is to hold is here",
		"1   some are wrong, missing in a folder, or not of the archive; they are named",
		"2   refused: a folder of another cluster, one that cannot be opened, no room, or a node that runs"}
}

func (c replicaAdoptCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	progress := a.bars()
	defer progress.wait()
	shown, read := progress.bytes("adopt", 0), int64(0)
	of := rebuild.Adoption{Dirs: c.Dirs, Also: c.Also, Link: c.Link, Told: func(n int64) {
		read += n
		shown.set(read, 0)
	}}
	out, err := node.AdoptFolders(a.ctx, cfg, of, a.log)
	shown.end(err == nil)
	if a.ctx.Err() != nil {
		fmt.Fprintf(a.stderr, "%d files were taken; go on with the same command\n", out.Taken)
		return a.ctx.Err()
	}
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	if err := a.answer(out, func() error {
		for _, p := range out.Problems {
			fmt.Fprintln(a.stdout, p)
		}
		if more := out.Found - int64(len(out.Problems)); more > 0 {
			fmt.Fprintf(a.stdout, "and %d more\n", more)
		}
		fmt.Fprintf(a.stdout, "%d files, %s, were taken; %d were here; %d are wrong, ", out.Taken, size(out.Bytes),
			out.Had, out.Wrong)
		fmt.Fprintf(a.stdout, "%d missing in a folder, %d not of the archive, %d of other nodes\n", out.Missing,
			out.Unknown, out.Elsewhere)
		_, err := fmt.Fprintf(a.stdout, "%d files are left to fetch over the network. Start the node.\n", out.Left)
		return err
	}); err != nil {
		return err
	}
	if out.Found > 0 {
		return errNo
	}
	return nil
}
