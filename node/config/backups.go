package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// BackupSettings are the Settings of backups of the catalog.
type BackupSettings struct {
	BackupKey    *string   `toml:"backup-key"`    // public key that they are encrypted to; none: no backups
	BackupFolder *string   `toml:"backup-folder"` // of scheduled ones; none: only by hand
	BackupEvery  *Duration `toml:"backup-every"`  // 0 = only by hand
	BackupKeep   *int      `toml:"backup-keep"`   // how many of this node stay in the folder
}

// Backups is how a node backs up the catalog.
type Backups struct {
	Key    string // public; empty: it does not
	Folder string // of scheduled ones; empty: none are
	Every  Duration
	Keep   int
}

func (b *Backups) resolve(s *BackupSettings) {
	set(&b.Key, s.BackupKey)
	set(&b.Folder, s.BackupFolder)
	set(&b.Every, s.BackupEvery)
	set(&b.Keep, s.BackupKeep)
}

// check returns what is wrong with the settings, or nil.
func (b *Backups) check(data string) error {
	if rest, marked := strings.CutPrefix(b.Key, "holdfast-backup-"); b.Key != "" {
		if key, err := base64.RawURLEncoding.DecodeString(rest); !marked || err != nil || len(key) != 32 {
			return fmt.Errorf("backup-key = %q: want the public key that holdfast catalog backup-key make "+
				"prints", b.Key)
		}
	}
	if b.Every != 0 && time.Duration(b.Every) < time.Minute {
		return fmt.Errorf("backup-every = %q: want at least 1m, or 0", b.Every)
	}
	if b.Keep < 1 {
		return fmt.Errorf("backup-keep = %d: want 1 or more", b.Keep)
	}
	if b.Folder == "" {
		return nil
	}
	if b.Key == "" {
		return errors.New("backup-folder is set, and no backup-key: make one with holdfast catalog backup-key make")
	}
	if !filepath.IsAbs(b.Folder) {
		return fmt.Errorf("backup-folder = %q: want a path from the root, as in \"/mnt/backup/holdfast\"", b.Folder)
	}
	in, err := filepath.Rel(data, b.Folder)
	if err == nil && in != ".." && !strings.HasPrefix(in, "../") {
		return fmt.Errorf("backup-folder = %q: it is in the node's own folder %s, and would be lost with "+
			"it", b.Folder, data)
	}
	return nil
}
