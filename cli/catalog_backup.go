package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/node"
	"holdfast/node/backups"
)

type catalogBackupCmd struct {
	Dir  string `arg:"" placeholder:"DIR" help:"The folder that the backup is written to."`
	Keep int    `placeholder:"N" help:"Then remove the node's oldest backups in the folder, so that this many are left; 0 removes none."`
}

func (catalogBackupCmd) Help() string {
	return "Saves the catalog as it is now on the node that is asked, encrypted to the node's backup-key. The " +
		"backup has its name\nonly once it is on stable storage and was read back; older ones are removed after " +
		"that. " +
		"Copy it to another place, and\ntry it there: holdfast catalog verify-backup."
}

// savedBackup is what catalog backup answers.
type savedBackup struct {
	File    string    `json:"file"`
	Bytes   int64     `json:"bytes"`
	Index   uint64    `json:"index"`
	At      time.Time `json:"at"`
	SHA256  string    `json:"sha256"`
	Removed int       `json:"removed"`
}

func (c catalogBackupCmd) Run(a *app) error {
	if c.Keep < 0 {
		return usage("--keep %d: want 0 or more", c.Keep)
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return err
		}
		folder := backups.Folder{Dir: dir, Disk: disk.New()}
		kept, err := folder.Receive(func(begin func(name string) (io.Writer, error)) error {
			return client.CatalogOf(archive).Backup(ctx, func(name string, _ int64) (io.Writer, error) {
				return begin(name)
			})
		})
		if err != nil {
			return err
		}
		out := savedBackup{File: kept.Path, Bytes: kept.Bytes(), Index: kept.Index, At: kept.At,
			SHA256: kept.SHA256}
		if c.Keep > 0 {
			if out.Removed, err = folder.Prune(kept, c.Keep); err != nil {
				return err
			}
		}
		return a.answer(out, func() error {
			fmt.Fprintf(a.stdout, "%s\n  the catalog at index %d, %s; only the private key of %s opens it\n", out.File,
				out.Index, size(out.Bytes), backups.PublicText(kept.Key))
			if out.Removed > 0 {
				fmt.Fprintf(a.stdout, "  %d older ones removed\n", out.Removed)
			}
			return nil
		})
	})
}

type catalogBackupsCmd struct{}

func (catalogBackupsCmd) exits() []string {
	return []string{"0   the last backup was made, or none are scheduled", "1   the last try failed; the answer " +
		"says why"}
}

func (catalogBackupsCmd) Run(a *app) error {
	return ask(a, func(a *app, b wire.CatalogBackups) error {
		if err := a.answer(b, func() error { return showBackups(a, b) }); err != nil {
			return err
		}
		if b.Failure != "" {
			return errNo
		}
		return nil
	}, func(ctx context.Context, c *client.Client) (wire.CatalogBackups, error) {
		return client.CatalogOf(c).Backups(ctx)
	})
}

func showBackups(a *app, b wire.CatalogBackups) error {
	if !b.Scheduled {
		fmt.Fprintf(a.stdout, "%s makes no backups by itself: that needs backup-key and backup-folder in its "+
			"cluster.toml.\n", b.Node)
	} else {
		fmt.Fprintf(a.stdout, "%s backs up the catalog to %s every %s, and keeps "+
			"%d.\n", b.Node, b.Folder, b.Every, b.Keep)
	}
	if b.Failure != "" {
		fmt.Fprintf(a.stdout, "The last try FAILED at %s: %s\n", when(b.Failed), b.Failure)
	}
	rows := make([]table.Row, len(b.Items))
	for i, one := range b.Items {
		rows[i] = table.Row{one.Name, when(one.At), one.Index, one.Epoch, size(one.Bytes)}
	}
	return a.table(table.Row{"Backup", "Made", "Index", "Epoch", "Size"}, rows)
}

type catalogKeyCmd struct {
	Make catalogKeyMakeCmd `cmd:"" help:"Make the pair of keys for backups."`
}

type catalogKeyMakeCmd struct {
	File string `arg:"" placeholder:"FILE" help:"Where the private key goes. Keep it away from the nodes, in two places."`
}

func (catalogKeyMakeCmd) Help() string {
	return "Writes the private key, and prints the public one, which is backup-key in cluster.toml. Nobody can " +
		"open a " +
		"backup\nwithout the private key: not a node, and not who made the backup. A file that is there is not " +
		"replaced."
}

func (c catalogKeyMakeCmd) Run(a *app) error {
	if _, err := os.Lstat(c.File); err == nil {
		return fmt.Errorf("%s: %w; a key that is lost cannot be made again", c.File, fs.ErrExist)
	}
	key, err := seal.NewKey()
	if err != nil {
		return err
	}
	text, err := key.PEM()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		return err
	}
	err = disk.New().WriteFileMode(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	public := backups.PublicText(key.Public())
	return a.answer(map[string]string{"private": path, "public": public}, func() error {
		_, err := fmt.Fprintf(a.stdout, "backup-key = %q\n", public)
		return err
	})
}

// backupKey reads the private key of backups. A file that others could read is refused: the key opens every secret
// that a catalog has.
func backupKey(path string) (seal.Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return seal.Key{}, fmt.Errorf("--key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return seal.Key{}, fmt.Errorf("--key %s: others on this machine may read it (%04o): chmod 600 it, and "+
			"make a new "+
			"key if others were here", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return seal.Key{}, fmt.Errorf("--key: %w", err)
	}
	key, err := seal.ParseKey(text)
	if err != nil {
		return key, fmt.Errorf("--key %s: %w", path, err)
	}
	return key, nil
}

type catalogVerifyBackupCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The backup."`
	Key  string `required:"" placeholder:"FILE" help:"The file with the private key of backups."`
	Tmp  string `placeholder:"DIR" help:"Where it is restored aside; it needs as much room as the backup has. Default: the system's folder for temporary files."`
}

func (catalogVerifyBackupCmd) Help() string {
	return "Restores the backup aside, into a temporary folder that is removed again, and reads all of it: " +
		"every value is " +
		"read, the\naudit trail is followed, and what follows from the entries of files (lists, roots, totals) " +
		"is compared " +
		"with them."
}

func (catalogVerifyBackupCmd) exits() []string {
	return []string{"0   it can be restored, and nothing in it contradicts anything else", "1   something in it " +
		"is not as " +
		"it should be", "2   it cannot be restored: altered, cut off, of another key or of a newer program"}
}

// verifiedBackup is what catalog verify-backup answers.
type verifiedBackup struct {
	Cluster  string    `json:"cluster"`
	Name     string    `json:"name"`
	Epoch    uint64    `json:"epoch"`
	Level    int       `json:"level"`
	Index    uint64    `json:"index"`
	At       time.Time `json:"at"`
	Node     string    `json:"node"`
	Members  []string  `json:"members"`
	Keys     int64     `json:"keys"`
	Files    int64     `json:"files"`
	Removed  int64     `json:"removed"`
	Lost     int64     `json:"lost"`
	Events   int64     `json:"events"`
	Digest   string    `json:"digest"`
	Problems []string  `json:"problems"`
	Found    int64     `json:"found"`
}

func (c catalogVerifyBackupCmd) Run(a *app) error {
	key, err := backupKey(c.Key)
	if err != nil {
		return err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	defer file.Close()
	dir, err := os.MkdirTemp(c.Tmp, "holdfast-verify-")
	if err != nil {
		return err
	}
	h, is, err := node.VerifyBackup(a.ctx, file, key, dir, disk.New().WithMode(0o600), a.log)
	if err != nil {
		if a.ctx.Err() != nil {
			return errors.Join(a.ctx.Err(), err)
		}
		return exitError{exitUnreadable, fmt.Errorf("%s: %w", c.File, err)}
	}
	out := verifiedBackup{Cluster: h.Cluster, Name: h.Name, Epoch: h.Epoch, Level: h.Level, Index: is.Index, At: h.At,
		Node: h.Member, Members: is.Members, Keys: is.Keys, Files: is.Files, Removed: is.Removed, Lost: is.Lost,
		Events: is.Events, Digest: is.Digest.String(), Problems: append([]string{}, is.Problems...), Found: is.Found}
	if err := a.answer(out, func() error { return showVerified(a, out) }); err != nil {
		return err
	}
	if out.Found > 0 {
		return errNo
	}
	return nil
}

func showVerified(a *app, b verifiedBackup) error {
	for _, p := range b.Problems {
		fmt.Fprintln(a.stdout, p)
	}
	fmt.Fprintf(a.stdout, "Cluster %s (%s), epoch %d, level %d, at index %d, made by %s at "+
		"%s\n", b.Name, short2(b.Cluster),
		b.Epoch, b.Level, b.Index, b.Node, when(b.At))
	_, err := fmt.Fprintf(a.stdout, "%d keys, %d files, %d removed and %d lost ones, %d events: %d problems\n", b.Keys,
		b.Files, b.Removed, b.Lost, b.Events, b.Found)
	return err
}

type catalogRestoreCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The backup."`
	Key  string `required:"" placeholder:"FILE" help:"The file with the private key of backups."`
}

func (catalogRestoreCmd) Help() string {
	return "Use this when too few nodes are left to recover the cluster from. It makes the node of --config and " +
		"--node " +
		"the only one of the\ncluster, as the backup has it, in a new epoch. The other nodes join again, with " +
		"tokens from " +
		"holdfast node invite; their\nfiles stay. The node must not have a catalog. Before anything is " +
		"released, each node " +
		"compares its files with the catalog.\nWhat was decided after the backup is lost: look at grants and " +
		"access tokens " +
		"that were ended since."
}

func (catalogRestoreCmd) exits() []string {
	return []string{"0   restored: start the node", "1   refused, or failed; the reason is on stderr. The " +
		"node's folder is " +
		"as it was"}
}

func (c catalogRestoreCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	key, err := backupKey(c.Key)
	if err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) { return os.Open(c.File) }
	cluster, err := node.RestoreBackup(a.ctx, cfg, open, key, a.log)
	if err != nil {
		return fmt.Errorf("restore %s: %w", c.File, err)
	}
	return a.answer(map[string]any{"cluster": cluster.ID, "name": cluster.Name, "epoch": cluster.Epoch,
		"node": cfg.Name},
		func() error {
			fmt.Fprintf(a.stdout, "%s is the only node of cluster %s (%s), in epoch %d. Start it, and let the "+
				"other nodes "+
				"join again.\n", cfg.Name, cluster.Name, short2(cluster.ID), cluster.Epoch)
			_, err := fmt.Fprintln(a.stdout, "What was decided after the backup is lost. Look at: holdfast "+
				"token list, "+
				"holdfast grant list, holdfast user list")
			return err
		})
}
