package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/node/config"
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
	for _, dir := range (folder{cfg}).guarded() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
	if err := (folder{cfg}).guard(slogOf(t)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{boot, key, elsewhere} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// The permissions of the archive's files are a setting.
func TestModeOfFiles(t *testing.T) {
	f, err := config.Parse("cluster.toml", "cluster = \"c\"\nfiles-mode = \"0640\"\n[[replica]]\nname = \"r\"\nkind = \"bitarchive\"\n[[node]]\nname = \"n\"\nreplica = \"r\"\n")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Node("n")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "files")
	d := folder{cfg}.filesDisk()
	if err := d.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	file, err := d.Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Link(filepath.Join(dir, "b"), filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o750, "a": 0o640, "c": 0o640} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
