package frontier

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/disk"
)

// ErrDamaged reports a checkpoint whose bytes are not those that were written.
var ErrDamaged = errors.New("checkpoint is damaged")

// Files of a checkpoint.
const (
	checkpointData = "frontier.backup"
	checkpointInfo = "checkpoint.json"
)

// CheckpointInfo describes the content of a checkpoint.
type CheckpointInfo struct {
	Version  int       `json:"version"` // of the values
	Time     time.Time `json:"time"`
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"`
	Counters Counters  `json:"counters"`
}

// Checkpoint writes the frontier as of one commit into the new folder dir, while the crawl continues. When Checkpoint
// returns nil the folder is complete and durable; after an error it does not exist.
func (f *store) Checkpoint(ctx context.Context, dir string) error {
	if err := fillNew(dir, func(temporary string) error { return f.checkpoint(ctx, temporary) }); err != nil {
		return fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	return nil
}

// fillNew makes a folder: what fill puts into a temporary one is at path, durable, when fillNew returns nil. Where
// something is at path already, unless it is an empty folder, the answer is fs.ErrExist; after an error nothing was
// made.
func fillNew(path string, fill func(temporary string) error) (err error) {
	if err := absent(path); err != nil {
		return err
	}
	d := disk.New()
	temporary := path + ".new"
	if err := d.RemoveAll(temporary); err != nil {
		return err
	}
	if err := d.MkdirAll(temporary); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.RemoveAll(temporary))
		}
	}()
	if err := fill(temporary); err != nil {
		return err
	}
	if err := d.SyncDir(temporary); err != nil {
		return err
	}
	if err := d.RemoveAll(path); err != nil {
		return err
	}
	return d.Rename(temporary, path)
}

func (f *store) checkpoint(ctx context.Context, into string) error {
	d := disk.New()
	info := CheckpointInfo{Version: version, Time: f.cfg.Now().UTC()}
	hash := sha256.New()
	if err := d.WriteFile(filepath.Join(into, checkpointData), func(w io.Writer) error {
		out := &stoppable{ctx: ctx, w: io.MultiWriter(w, hash)}
		s := f.db.NewStream()
		s.NumGo, s.MaxSize, s.LogPrefix = 2, 4<<20, "Checkpoint"
		if _, err := s.Backup(out, 0); err != nil {
			return err
		}
		info.Size = out.n
		return nil
	}); err != nil {
		return err
	}
	info.SHA256 = hex.EncodeToString(hash.Sum(nil))
	f.mu.Lock()
	info.Counters = f.counters
	f.mu.Unlock()
	return d.WriteFile(filepath.Join(into, checkpointInfo), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(info)
	})
}

// absent answers fs.ErrExist if there is something at path, unless that is an empty folder.
func absent(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	return err
}

// stoppable counts what is written, and fails when its context ends.
type stoppable struct {
	ctx context.Context
	w   io.Writer
	n   int64
}

func (s *stoppable) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.w.Write(b)
	s.n += int64(n)
	return n, err
}

// ReadCheckpoint reads the description of the checkpoint in dir.
func ReadCheckpoint(dir string) (info CheckpointInfo, err error) {
	data, err := os.ReadFile(filepath.Join(dir, checkpointInfo))
	if err != nil {
		return info, fmt.Errorf("read checkpoint: %w", err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("read checkpoint %s: %w: %w", dir, ErrDamaged, err)
	}
	if info.Version != version {
		return info, fmt.Errorf("read checkpoint %s: found format %d, want %d: %w", dir, info.Version, version,
			ErrVersion)
	}
	return info, nil
}

// Restore verifies the checkpoint in dir and makes a frontier's folder from it. The folder frontierDir must not
// exist, or be empty. After an error it does not exist.
func Restore(ctx context.Context, dir, frontierDir string) error {
	info, err := ReadCheckpoint(dir)
	if err != nil {
		return err
	}
	if err := fillNew(frontierDir, func(temporary string) error {
		return restore(ctx, dir, temporary,
			info)
	}); err != nil {
		return fmt.Errorf("restore frontier from %s: %w", dir, err)
	}
	return nil
}

func restore(ctx context.Context, dir, into string, info CheckpointInfo) error {
	in, err := os.Open(filepath.Join(dir, checkpointData))
	if err != nil {
		return err
	}
	defer in.Close() // only read
	hash := sha256.New()
	n, err := io.Copy(hash, &readable{ctx, in})
	if err != nil {
		return err
	}
	if n != info.Size || hex.EncodeToString(hash.Sum(nil)) != info.SHA256 {
		return ErrDamaged
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return loadInto(into, bufio.NewReaderSize(&readable{ctx, in}, 1<<20))
}

func loadInto(dir string, r io.Reader) (err error) {
	db, err := openDatabase(dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Load(r, 8)
}

// readable fails when its context ends.
type readable struct {
	ctx context.Context
	r   io.Reader
}

func (r *readable) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
