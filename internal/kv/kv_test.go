package kv

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dgraph-io/badger/v4"
)

func options(dir string) badger.Options {
	return badger.DefaultOptions(dir).WithMemTableSize(8 << 20).WithValueLogFileSize(1 << 20)
}

func TestOpensAfterAKillBetweenMakingAndSizingALog(t *testing.T) {
	for _, name := range []string{"000002.vlog", "00002.mem"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for round := range 3 {
				db, err := Open(options(dir), nil)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				err = db.Update(func(txn *badger.Txn) error { return txn.Set([]byte{byte(round)}, []byte("kept")) })
				if err == nil && round > 0 {
					err = db.View(func(txn *badger.Txn) error { _, err := txn.Get([]byte{byte(round - 1)}); return err })
				}
				if err = errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	var out bytes.Buffer
	logger{slog.New(slog.NewTextHandler(&out, nil))}.Errorf("value %s", strings.Repeat("ü", 10_000))
	if out.Len() == 0 || out.Len() > 2*longest {
		t.Errorf("%d bytes in the log", out.Len())
	}
}

// TestADatabaseInUseIsAskedForAgain opens one that is in use for a moment only, and one that stays so.
func TestADatabaseInUseIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inUse := errors.New("Cannot acquire directory lock. Another process is using this Badger database.")
		for _, tt := range []struct {
			tries int // that fail
			want  error
		}{{0, nil}, {3, nil}, {1 << 20, ErrInUse}} {
			tries := 0
			_, err := patiently(func() (*badger.DB, error) {
				if tries++; tries <= tt.tries {
					return nil, inUse
				}
				return nil, nil
			})
			if !errors.Is(err, tt.want) || err == nil && tries != tt.tries+1 {
				t.Errorf("after %d failures: %v after %d tries", tt.tries, err, tries)
			}
		}
	})
}
