package raft

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// written is the state that the node has now, as it is backed up.
func written(t *testing.T, n *Node) (*Pinned, []byte) {
	t.Helper()
	p, err := n.Pin()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return p, out.Bytes()
}

func TestBackup(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, fillKind, tinyAdd{Key: "f", N: 50, Pad: []byte("pad")})
	p, text := written(t, a.Node)
	defer p.Close()
	got, keys, err := CheckBackup(bytes.NewReader(text))
	if err != nil || got != p.Index || keys < 50 {
		t.Errorf("a backup of index %d checks as index %d with %d keys, %v", p.Index, got, keys, err)
	}
	for at := 0; at < len(text); at += 7 {
		changed := bytes.Clone(text)
		changed[at] ^= 1
		if _, _, err := CheckBackup(bytes.NewReader(changed)); !errors.Is(err, ErrDamaged) {
			t.Errorf("a bit at %d of %d: %v", at, len(text), err)
		}
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

// What is written while others write is the state at one index, and is written twice alike.
func TestABackupDuringWritesIsOneIndex(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	var writers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	writers.Go(func() {
		for ctx.Err() == nil { // both in one command
			if _, err := a.Propose(ctx, fillKind, tinyAdd{Key: "f", N: 40, Pad: []byte("p")}, ""); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			_, _ = a.Propose(ctx, addKind, tinyAdd{Key: "x", N: 1}, "")
		}
	})
	for range 20 {
		p, first := written(t, a.Node)
		before := a.Status().Applied
		for a.Status().Applied < before+4 {
			if err := a.Linear(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var again bytes.Buffer
		if err := p.Write(&again); err != nil || !bytes.Equal(again.Bytes(), first) {
			t.Errorf("the state of index %d is written as %d bytes, then %d: %v", p.Index, len(first), again.Len(), err)
		}
		if index, _, err := CheckBackup(&again); err != nil || index != p.Index {
			t.Errorf("index %d, %v", index, err)
		}
		p.Close()
	}
	stop()
	writers.Wait()
}

// A restored node goes on from what was backed up and from the commands of the restoration, and is the only voter.
func TestRestore(t *testing.T) {
	t.Parallel()
	c := lone(t)
	c.machine = theCatalog{}
	first := c.open(benchID('a'))
	if err := first.Bootstrap(t.Context(), founding('a')); err != nil {
		t.Fatal(err)
	}
	a := c.run(first)
	c.urge(first.cfg.Self)
	admit(t, a.Node, 'b')
	p, text := written(t, a.Node)
	index := p.Index
	p.Close()
	quiet := slog.New(slog.DiscardHandler)

	err := Aside(t.TempDir(), disk.New(), bytes.NewReader(text), quiet, func(at uint64, v catalog.View) error {
		members, err := v.Members()
		if at != index || len(members) != 2 {
			err = fmt.Errorf("index %d for %d, members %v", at, index, members)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := Aside(t.TempDir(), disk.New(), bytes.NewReader(text[:len(text)-1]), quiet, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a state that is cut off, aside: %v", err)
	}

	dir := t.TempDir()
	steps := 0
	next := func(catalog.View) (catalog.Command, bool, error) {
		if steps++; steps > 2 {
			return catalog.Command{}, false, nil
		}
		body, _ := json.Marshal(catalog.EpochChange{Epoch: uint64(steps + 1), Reason: "fire"})
		return catalog.Command{Version: 1, Kind: catalog.RaiseEpoch, At: 1, Body: body}, true, nil
	}
	cfg := Config{Dir: dir, Self: benchID('a'), Profile: "local"}
	if err := Restore(cfg, disk.New(), bytes.NewReader(text), quiet, next); err != nil {
		t.Fatal(err)
	}
	if err := Restore(cfg, disk.New(), bytes.NewReader(text), quiet, next); !errors.Is(err, ErrFounded) {
		t.Errorf("restored over a state: %v", err)
	}
	cfg.Dir = filepath.Join(t.TempDir(), "refused")
	refused := func(catalog.View) (catalog.Command, bool, error) {
		return catalog.Command{Version: 1, Kind: catalog.RaiseEpoch, At: 1, Body: []byte(`{"epoch":1,"reason":"x"}`)}, true, nil
	}
	var why *catalog.Refusal
	if err := Restore(cfg, disk.New(), bytes.NewReader(text), quiet, refused); !errors.As(err, &why) {
		t.Errorf("a command that is refused: %v", err)
	}

	n, err := Open(Config{Dir: dir, Self: benchID('a'), Profile: "local"}, disk.New(), nil, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	err = n.View(func(v catalog.View) error {
		is, err := v.Cluster()
		if is.Epoch != 3 {
			t.Errorf("epoch %d", is.Epoch)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	st := n.storage.state.store()
	if st.position.Index != index+2 || len(st.configuration.Servers) != 1 || st.configuration.Servers[0].ID != benchID('a') {
		t.Errorf("index %d after %d, voters %v", st.position.Index, index, st.configuration.Servers)
	}
}
