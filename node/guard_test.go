package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/node/membership"
)

// What a node keeps for itself is readable by its user alone, whoever made it readable before.
func TestOthersCannotReadWhatIsTheNodesOwn(t *testing.T) {
	cfg := threeConfigs(t, "")[0]
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	jobs := filepath.Join(cfg.Data, "jobs", "1_20260101000000", "warcs")
	if err := os.MkdirAll(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	log, harvested := filepath.Join(cfg.Data, "jobs", "1_20260101000000", "crawl.log"), filepath.Join(jobs, "1.warc.gz")
	for _, path := range []string{log, harvested} {
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(harvested, filepath.Join(cfg.Data, "1.warc.gz")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"identity", "raft", "catalog"} {
		if err := os.Chmod(filepath.Join(cfg.Data, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(cfg.Data, "raft", "boot"), 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := New(cfg, slogOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.close() }()
	for _, dir := range []string{"identity", "raft", "catalog", "jobs"} {
		err := filepath.WalkDir(filepath.Join(cfg.Data, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 && path != harvested {
				t.Errorf("%s: %s", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(harvested); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a harvested file that enters the archive: %v, %v", info, err)
	}
	if info, err := os.Stat(cfg.Files[0]); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the archive's files: %v, %v", info, err)
	}
}

// A folder that is a link to another disk is guarded as one that is not, and so is a file of which a backup made a second name.
func TestLinksAreGuarded(t *testing.T) {
	cfg := threeConfigs(t, "")[0]
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	raft, elsewhere := filepath.Join(cfg.Data, "raft"), filepath.Join(t.TempDir(), "raft")
	boot, key := filepath.Join(elsewhere, "boot"), filepath.Join(cfg.IdentityDir(), "seal.key")
	for _, err := range []error{os.CopyFS(elsewhere, os.DirFS(raft)), os.RemoveAll(raft), os.Symlink(elsewhere, raft), os.WriteFile(key, []byte("x"), 0o600),
		os.Link(key, filepath.Join(t.TempDir(), "backup")), os.Chmod(key, 0o644), os.Chmod(boot, 0o644), os.Chmod(elsewhere, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := (membership.Folder{Config: cfg}).Guard(slogOf(t)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{boot, key, elsewhere} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
