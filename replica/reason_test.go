package replica

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestNothingIsSetAsideWithoutAReason fails each write in turn while bytes are set aside, out of the outbox and out of their
// shard: bytes that have come into the quarantine have their reason there, at once and after a restart, and no bytes go.
func TestNothingIsSetAsideWithoutAReason(t *testing.T) {
	t.Parallel()
	for what, set := range map[string]func(*Store, catalog.FileName) error{
		"out of the outbox": func(s *Store, name catalog.FileName) error { return s.Reject(name, "a reason") },
		"out of its shard":  func(s *Store, name catalog.FileName) error { return s.Quarantine(name, "a reason") },
	} {
		broken := 0
		for n := 1; ; n++ {
			dir, scratch := t.TempDir(), t.TempDir()
			faulty := disk.NewFaulty(scratch)
			s := openStore(t, storeConfig(dir), faulty.Disk())
			name := catalog.FileName(siblings(1)[0])
			if strings.Contains(what, "outbox") {
				path := filepath.Join(dir, "made")
				if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.Adopt(t.Context(), path, catalog.Addition{Name: name}, Foreign); err != nil {
					t.Fatal(err)
				}
			} else if err := keep(s, string(name), []byte("bytes")); err != nil {
				t.Fatal(err)
			}
			before := faulty.Ops()
			faulty.FailOnce(n, errBroken)
			err := set(s, name)
			if faulty.Ops()-before < n {
				break // it has no such write
			}
			if broken++; !errors.Is(err, errBroken) {
				t.Errorf("%s, write %d: %v", what, n, err)
			}
			for _, when := range []string{"then", "after a restart"} {
				there := 0
				for _, path := range []string{s.outboxPath(name), s.Path(name)} {
					if isFile(path) {
						there++
					}
				}
				aside, err := filepath.Glob(filepath.Join(s.cfg.Quarantine, string(name)+".*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range aside {
					if strings.HasSuffix(path, reasonSuffix) {
						continue
					}
					there++
					if text, err := os.ReadFile(path + reasonSuffix); err != nil || string(text) != "a reason\n" {
						t.Errorf("%s, write %d, %s: %s has the reason %q, %v", what, n, when, filepath.Base(path), text, err)
					}
				}
				if there != 1 {
					t.Errorf("%s, write %d, %s: the bytes are in %d places", what, n, when, there)
				}
				s = openStore(t, storeConfig(dir), disk.New())
			}
		}
		if broken < 4 {
			t.Errorf("%s: only %d writes", what, broken)
		}
	}
}
