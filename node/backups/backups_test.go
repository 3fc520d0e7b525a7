package backups

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
	"holdfast/internal/seal"
)

// text is a state of that text.
type text string

func (s text) View(fn func(catalog.View) error) error {
	state := memory.Tx{}
	if err := state.Set([]byte("cluster"), []byte("\x01"+`{"id":"c1","name":"Test","epoch":2,"level":5}`)); err != nil {
		return err
	}
	return fn(catalog.NewView(&state))
}

func (s text) Write(w io.Writer) error { _, err := io.WriteString(w, string(s)); return err }

func (s text) Close() {}

func newKey(t testing.TB) seal.Key {
	t.Helper()
	k, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// backupOf is the backup of a state, as bytes.
func backupOf(t testing.TB, s State, to seal.Key) []byte {
	t.Helper()
	f := Folder{Dir: t.TempDir()}
	made, err := f.Make(t.Context(), s, Origin{Index: 7, Term: 2, Node: "n", Member: "north-1"}, to.Public(), 0, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	if made.Bytes() != int64(len(all)) {
		t.Errorf("%d bytes, said are %d", len(all), made.Bytes())
	}
	return all
}

func opened(file []byte, with seal.Key) (Head, string, error) {
	var got []byte
	var head Head
	err := Open(bytes.NewReader(file), with, func(h Head, r io.Reader) (err error) {
		head = h
		got, err = io.ReadAll(r)
		return err
	})
	return head, string(got), err
}

// A backup opens with its key alone, and only as it was written.
func TestABackupOpensAsItWasWritten(t *testing.T) {
	k, stranger := newKey(t), newKey(t)
	state := text(strings.Repeat("holdfast", 20_000)) // three chunks
	file := backupOf(t, state, k)
	h, got, err := opened(file, k)
	if err != nil || got != string(state) || h.Cluster != "c1" || h.Epoch != 2 || h.Level != 5 || h.Index != 7 || h.Member != "north-1" {
		t.Fatalf("%+v, %d bytes, %v", h, len(got), err)
	}
	if bytes.Contains(file, []byte("holdfastholdfast")) {
		t.Error("the state is in clear")
	}
	if _, err := Check(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
	if _, _, err := opened(file, stranger); !errors.Is(err, ErrKey) {
		t.Errorf("another key: %v", err)
	}
	// What is read in part only is proved all the same.
	cut := len(file) - 100
	changed := bytes.Clone(file)
	changed[cut] ^= 1
	if err := Open(bytes.NewReader(changed), k, func(_ Head, r io.Reader) error { _, err := r.Read(make([]byte, 10)); return err }); !errors.Is(err, ErrDamaged) {
		t.Errorf("changed behind what was read: %v", err)
	}
}

// attacked are files made of a backup that are none.
func attacked(t *testing.T, file, other []byte) map[string][]byte {
	const chunk = 64<<10 + 16
	_, head, err := ReadHead(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	begin := len(magic) + 4 + len(head)
	out := map[string][]byte{"empty": {}, "only the magic": file[:5], "something else": []byte("PK\x03\x04 and so on and on"),
		"more": append(bytes.Clone(file), 'x')}
	for at := begin; at < len(file); at += chunk {
		out[fmt.Sprint("cut at chunk border ", at)] = file[:at]
		out[fmt.Sprint("cut in a chunk ", at+5)] = file[:at+5]
	}
	out["without the checksum"] = file[:len(file)-32]
	swapped := append(bytes.Clone(file[:begin]), file[begin+chunk:begin+2*chunk]...)
	out["chunks swapped"] = append(append(swapped, file[begin:begin+chunk]...), file[begin+2*chunk:]...)
	out["a chunk of another backup"] = append(append(bytes.Clone(file[:begin+chunk]), other[begin+chunk:begin+2*chunk]...), file[begin+2*chunk:]...)
	out["the head of another backup"] = append(bytes.Clone(other[:begin]), file[begin:]...)
	for at := 0; at < len(file); at += 1 + len(file)/400 {
		changed := bytes.Clone(file)
		changed[at] ^= 4
		out[fmt.Sprint("a bit at ", at)] = changed
	}
	return out
}

func TestAnAlteredBackupDoesNotOpen(t *testing.T) {
	k := newKey(t)
	file := backupOf(t, text(strings.Repeat("holdfast", 20_000)), k)
	other := backupOf(t, text(strings.Repeat("HOLDFAST", 20_000)), k)
	for what, bad := range attacked(t, file, other) {
		if h, err := Check(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: checks as %+v", what, h)
		}
		if _, _, err := opened(bad, k); err == nil && len(bad) >= len(file)-32 && bytes.Equal(bad[:len(file)-32], file[:len(file)-32]) {
			continue // only the checksum at the end, which is for those without the key
		} else if err == nil {
			t.Errorf("%s: opens", what)
		}
	}
}

// Whatever write fails, no half backup has the name of one, the older ones stay, and nothing is left.
func TestAFullDiskLeavesNoHalfBackup(t *testing.T) {
	k := newKey(t)
	for n := 1; ; n++ {
		twin := disk.NewFaulty(t.TempDir())
		f := Folder{Dir: t.TempDir(), Disk: twin.Disk()}
		old, err := f.Make(t.Context(), text("old"), Origin{Index: 1, Member: "north-1"}, k.Public(), 1, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		twin.FailAt(n, syscall.ENOSPC)
		made, err := f.Make(t.Context(), text(strings.Repeat("x", 300_000)), Origin{Index: 2, Member: "north-1"}, k.Public(), 1, time.Unix(2e9, 0))
		twin.FailAt(0, nil)
		if err == nil {
			if n < 6 {
				t.Fatalf("only %d writes: %+v", n, made)
			}
			break
		}
		if !errors.Is(err, disk.ErrFull) && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write %d: %v", n, err)
		}
		if err := twin.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := f.Clean("north-1"); err != nil {
			t.Fatal(err)
		}
		entries, _ := os.ReadDir(f.Dir)
		sound := 0
		for _, e := range entries {
			in, err := os.Open(filepath.Join(f.Dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Check(in); err != nil {
				t.Errorf("write %d: %s is left: %v", n, e.Name(), err)
			} else {
				sound++
			}
			in.Close()
		}
		_, gone := os.Stat(old.Path)
		if sound == 0 || gone != nil && sound < 1 {
			t.Errorf("write %d: %d sound backups are left, the old one: %v", n, sound, gone)
		}
	}
}

// The newest stay, also when the clock was set back, and what is not this node's or not whole is left alone.
func TestTheNewestStay(t *testing.T) {
	k := newKey(t)
	f := Folder{Dir: t.TempDir()}
	foreign := []string{"notes.txt", "catalog-south-1-20260101T000000Z-1.backup", "catalog-north-1-20260101T000000Z-99.backup"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(f.Dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last Kept
	for i, at := range []int64{1e9, 2e9, 3e9, 15e8} { // the last one with a clock set back
		made, err := f.Make(t.Context(), text("state"), Origin{Index: uint64(i), Member: "north-1"}, k.Public(), 2, time.Unix(at, 0))
		if err != nil {
			t.Fatal(err)
		}
		last = made
	}
	all, err := f.List("c1", "north-1")
	if err != nil || len(all) != 2 || all[0].Index != 2 || all[1].Path != last.Path {
		t.Errorf("%+v, %v", all, err)
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(f.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if all, err := f.List("another", "north-1"); err != nil || len(all) > 0 {
		t.Errorf("of another cluster: %+v, %v", all, err)
	}
	if _, err := f.Make(t.Context(), text("state"), Origin{Index: 3, Member: "north-1"}, k.Public(), 2, time.Unix(15e8, 0)); !errors.Is(err, os.ErrExist) {
		t.Errorf("the same name twice: %v", err)
	}
}

// Scheduled backups are made when they are due, and an alert says when the newest is too old, with the reason.
func TestScheduledBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKey(t)
		dir := filepath.Join(t.TempDir(), "backups")
		twin := disk.NewFaulty(t.TempDir())
		index := uint64(0)
		b := New(Config{Member: "north-1", Dir: dir, Key: k.Public(), Every: time.Hour, Keep: 3, Disk: twin.Disk(),
			Pin: func() (Pinned, uint64, uint64, error) { index++; return text("state"), index, 1, nil }, Cluster: func() string { return "c1" },
			Linear: func(context.Context) error { return nil },
			Now:    time.Now, Log: slog.New(slog.DiscardHandler)})
		if st := b.Scheduled(); st == nil || st.Looked || !st.Newest.IsZero() {
			t.Errorf("nothing was looked at: %+v", st)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		at := func(after time.Duration, made uint64, backups, alerts int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			st, err := b.State(ctx)
			if err != nil || index != made || len(st.Items) != backups || len(b.Alerts()) != alerts {
				t.Errorf("%d made, %d in the folder, %v, %v, want %d, %d and %d alerts", index, len(st.Items), b.Alerts(), err, made, backups, alerts)
			}
		}
		at(0, 1, 1, 0)
		if st := b.Scheduled(); !st.Looked || !st.Newest.Equal(time.Now()) || !st.Failed.IsZero() {
			t.Errorf("one was made: %+v", st)
		}
		at(59*time.Minute, 1, 1, 0)
		at(3*time.Minute, 2, 2, 0)
		at(3*time.Hour, 5, 3, 0)
		twin.FailAt(1, syscall.ENOSPC)
		at(time.Hour, 6, 3, 0)
		at(time.Hour, 12, 3, 1)
		if text := fmt.Sprint(b.Alerts()[0].Parameters); !strings.Contains(text, "full") {
			t.Errorf("the alert does not say why: %s", text)
		}
		if st := b.Scheduled(); st.Failed.IsZero() || time.Since(st.Newest) < 90*time.Minute {
			t.Errorf("the last ones failed: %+v", st)
		}
		twin.FailAt(0, nil)
		at(11*time.Minute, 13, 3, 0)
		all, err := b.folder().List("c1", "north-1")
		if err != nil || len(all) == 0 {
			t.Fatal(err)
		}
		for _, k := range all {
			if err := os.Remove(k.Path); err != nil {
				t.Fatal(err)
			}
		}
		at(2*time.Minute, 14, 1, 0)
		stop()
		<-ended
	})
}

func TestPublicKeysAsText(t *testing.T) {
	k := newKey(t)
	if got, err := ParsePublic(PublicText(k.Public())); err != nil || !bytes.Equal(got, k.Public()) {
		t.Error(err)
	}
	for _, bad := range []string{"", "x", "holdfast-backup-", "holdfast-backup-AAAA", PublicText(k.Public()) + "A", PublicText(k.Public())[1:]} {
		if _, err := ParsePublic(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

// TestWhatWasCutOffIsRemoved receives a backup into a folder with one that was cut off long ago, and one that another
// process receives just now.
func TestWhatWasCutOffIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, new := filepath.Join(dir, ".receiving-1.part"), filepath.Join(dir, ".receiving-2.part")
	for _, path := range []string{old, new} {
		if err := os.WriteFile(path, []byte("half a backup"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	_, err := Folder{Dir: dir, Disk: disk.New()}.Receive(func(func(string) (io.Writer, error)) error { return gone })
	if !errors.Is(err, gone) {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(new) {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestNothingIsScheduledWithoutAKey(t *testing.T) {
	t.Parallel()
	if st := New(Config{Dir: t.TempDir(), Every: time.Hour, Now: time.Now}).Scheduled(); st != nil {
		t.Errorf("%+v", st)
	}
}
