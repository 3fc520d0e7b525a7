// Package kv opens Badger databases the way this project needs them: after kill -9 too, and with their talk in our
// log. The rooms that keep a database choose its sizes themselves.
package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"holdfast/internal/disk"
)

// Open opens the database that the options describe. Log files that a killed process had made but not yet given a size
// are removed first: there is nothing in them, and Badger refuses to open with them. What Badger reports goes to log at
// one level below its own, for none of it is for a human to act on at once; errors that matter are returned.
func Open(o badger.Options, log *slog.Logger) (*badger.DB, error) {
	if err := prepare(&o, log); err != nil {
		return nil, err
	}
	return patiently(func() (*badger.DB, error) { return badger.Open(o) })
}

// OpenManaged is Open for a database whose commit versions are the caller's.
func OpenManaged(o badger.Options, log *slog.Logger) (*badger.DB, error) {
	if err := prepare(&o, log); err != nil {
		return nil, err
	}
	return patiently(func() (*badger.DB, error) { return badger.OpenManaged(o) })
}

// ErrInUse reports that another process has the database open.
var ErrInUse = errors.New("another process has it open")

// opened knows the error of a database that is in use. Badger has but words for it.
func opened(db *badger.DB, err error) (*badger.DB, error) {
	if err != nil && strings.Contains(err.Error(), "Another process is using this Badger database") {
		return nil, ErrInUse
	}
	return db, err
}

// patiently opens a database, and tries again while it is in use, for a moment: it may be this process that has it, as
// disk.LockPatience says.
func patiently(open func() (*badger.DB, error)) (*badger.DB, error) {
	for end := time.Now().Add(disk.LockPatience); ; time.Sleep(10 * time.Millisecond) {
		db, err := opened(open())
		if !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return db, err
		}
	}
}

func prepare(o *badger.Options, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	o.Logger = logger{log}
	for _, dir := range []string{o.Dir, o.ValueDir} {
		if err := removeUnbegun(dir); err != nil {
			return fmt.Errorf("prepare database %s: %w", dir, err)
		}
	}
	return nil
}

func removeUnbegun(dir string) error {
	for _, pattern := range []string{"*.vlog", "*.mem"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if info.Size() == 0 {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// logger carries Badger's messages to our log. Long ones, which hold a dump of a value, are cut.
type logger struct{ log *slog.Logger }

const longest = 500

func (l logger) write(level slog.Level, format string, args []any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	l.log.Log(context.Background(), level, "database", "says", text)
}

func (l logger) Errorf(format string, args ...any)   { l.write(slog.LevelWarn, format, args) }
func (l logger) Warningf(format string, args ...any) { l.write(slog.LevelInfo, format, args) }
func (l logger) Infof(format string, args ...any)    { l.write(slog.LevelDebug, format, args) }
func (l logger) Debugf(format string, args ...any)   { l.write(slog.LevelDebug-4, format, args) }
