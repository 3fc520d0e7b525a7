package replica

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast/catalog"
)

// TestFindLooksEverywhere lays a file's bytes, or others, wherever a node may have something under a file's name, and asks the
// node whether it has the file.
func TestFindLooksEverywhere(t *testing.T) {
	t.Parallel()
	name, b := fileName(1), content(1, 1000)
	want := heldOf(string(name), b)
	for where, path := range map[string]func(*node) string{
		"shard": func(n *node) string {
			if err := errors.Join(keep(n.r.store, string(name), b), os.Remove(n.r.store.Path(name))); err != nil {
				n.t.Fatal(err)
			}
			return n.r.store.Path(name)
		},
		"outbox":     func(n *node) string { return n.r.store.outboxPath(name) },
		"incoming":   func(n *node) string { return filepath.Join(n.r.store.incoming()[0], string(name)+partSuffix) },
		"quarantine": func(n *node) string { return n.r.store.aside(n.r.store.quarantines()[0], name) },
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			n := newCluster(t, "north-1", "south-1").node("north-1")
			at := path(n)
			ask := func(what string, found bool) {
				t.Helper()
				if has, err := n.r.Find(t.Context(), want); err != nil || has != found {
					t.Errorf("%s: %t, %v", what, has, err)
				}
			}
			ask("nothing", false)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, b[:999], 0o600)); err != nil {
				t.Fatal(err)
			}
			ask("a part", false)
			if err := os.WriteFile(at, b, 0o600); err != nil {
				t.Fatal(err)
			}
			ask("the bytes", true)
			spoil(t, n.r.store, at, syscall.EMFILE)
			if has, err := n.r.Find(t.Context(), want); err == nil || has {
				t.Errorf("with no descriptors left: %t, %v", has, err)
			}
			spoil(t, n.r.store, at, nil) // EIO
			ask("bytes that the disk does not give", false)
			if _, err := os.Lstat(at); err != nil {
				t.Error("looking has taken the bytes away")
			}
		})
	}
}

// TestFindDoesNotTakeAnotherFileForThis lays the bytes aside under a name that begins with the file's.
func TestFindDoesNotTakeAnotherFileForThis(t *testing.T) {
	t.Parallel()
	n := newCluster(t, "north-1", "south-1").node("north-1")
	b := content(1, 1000)
	other := n.r.store.aside(n.r.store.quarantines()[0], catalog.FileName("a.warc.gz"))
	if err := os.WriteFile(other+reasonSuffix, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if has, err := n.r.Find(t.Context(), heldOf("a.warc", b)); err != nil || has {
		t.Errorf("%t, %v", has, err)
	}
}
