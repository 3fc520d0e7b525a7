package replica

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// spoil makes the file that lies at path now unreadable for the store: opening it fails with the error, or every read of
// it does when the error is nil. It stays so under any name.
func spoil(t *testing.T, s *Store, path string, fails error) {
	t.Helper()
	bad, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	before := s.open
	s.open = func(p string) (*Bytes, error) {
		if info, err := os.Lstat(p); err != nil || !os.SameFile(info, bad) {
			return before(p)
		}
		if fails != nil {
			return nil, fmt.Errorf("open %s: %w", p, fails)
		}
		mem, err := os.Open("/proc/self/mem") // nothing is mapped at its beginning: reading there is an EIO
		return &Bytes{File: mem, Size: bad.Size()}, err
	}
}

// judge speaks the verdict that the leader would: south's copy of the file is bad.
func (c *cluster) judge(name catalog.FileName) {
	c.t.Helper()
	c.until("the copy is disputed", func(v catalog.View) bool {
		f, err := v.File(name)
		return err == nil && f.Copy("south").Disputed
	})
	c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south", Bad: true, Votes: "2:1"}}})
}

// TestACopyThatCannotBeReadIsRepaired lets the disk lose a copy, or keep it from us, and the node find that out in an audit,
// after a restart that lost the copy's line, or when the copy is asked for. Another copy is good.
func TestACopyThatCannotBeReadIsRepaired(t *testing.T) {
	t.Parallel()
	name := fileName(1)
	for what, fails := range map[string]error{"EIO": nil, "EUCLEAN": syscall.EUCLEAN, "EACCES": syscall.EACCES} {
		for how, find := range map[string]func(t *testing.T, n *node){
			"by an audit": func(t *testing.T, n *node) {
				if _, err := n.r.StartAudit("", nil); err != nil {
					t.Fatal(err)
				}
			},
			"when another node asks": func(t *testing.T, n *node) {
				if _, err := n.r.Checksum(t.Context(), "x", name); err == nil {
					t.Fatal("the copy was read")
				}
			},
			"loose, after a restart": nil,
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, "north-1", "south-1")
					defer c.run("north-1")()
					stop := c.run("south-1")
					south := c.node("south-1")
					b := c.node("north-1").put(name, 1, 1_000_000)
					c.complete(name)
					sleep(t.Context(), time.Minute)
					stop()
					if find == nil {
						if err := os.Remove(filepath.Join(filepath.Dir(south.r.store.Path(name)), ManifestName)); err != nil {
							t.Fatal(err)
						}
						south.open()
					}
					spoil(t, south.r.store, south.r.store.Path(name), fails)
					defer c.run("south-1")()
					if find != nil {
						find(t, south)
					}
					c.judge(name)
					c.complete(name)
					if !bytes.Equal(read(t, south.r.store, string(name)), b) {
						t.Error("the copy has other bytes")
					}
					aside, err := filepath.Glob(filepath.Join(south.dir, "quarantine", "*.reason"))
					if err != nil || len(aside) != 1 {
						t.Errorf("quarantine: %v, %v", aside, err)
					}
				})
			})
		}
	}
}

// TestWhatTheMachineRanOutOfIsNoFault hands errors of reading that say nothing about the file.
func TestWhatTheMachineRanOutOfIsNoFault(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, os.ErrNotExist, ErrNotMounted, t.Context().Err()} {
		if errors.Is(readFault(err), errUnreadable) {
			t.Errorf("%v is taken for a fault of the file", err)
		}
	}
	for _, err := range []error{syscall.EIO, syscall.EUCLEAN, syscall.EACCES, syscall.EBADMSG} {
		if !errors.Is(readFault(err), errUnreadable) {
			t.Errorf("%v is not taken for a fault of the file", err)
		}
	}
}
