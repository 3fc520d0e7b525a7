package membership

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/node/config"
)

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
	d := Folder{Config: cfg}.FilesDisk()
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
