//go:build slow

package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/membership"
)

func TestANodeThatWasLeftBehindJoinsAnewWithItsFiles(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	nodes := startNodes(t, cfgs)
	name := putWhole(t, nodes[1], "before.bin", nodes)
	for _, n := range nodes {
		n.halt(t)
	}
	if _, err := Recover(t.Context(), cfgs[0], "fire", slogOf(t)); err != nil {
		t.Fatal(err)
	}
	first := start(t, cfgs[0])
	putWhole(t, first, "alone.bin", nil)

	left := start(t, cfgs[1])
	if err := <-left.end; !errors.Is(err, membership.ErrSuperseded) {
		t.Fatalf("a node that was left behind goes on: %v", err)
	}
	if err := joinBy(t, first, cfgs[1]); err != nil {
		t.Fatal(err)
	}
	back := start(t, cfgs[1])
	if back.id != left.id {
		t.Errorf("the node is %s now, was %s", back.id, left.id)
	}
	if err := joinBy(t, first, cfgs[2]); err != nil {
		t.Fatal(err)
	}
	third := start(t, cfgs[2])
	putWhole(t, third, "after.bin", []running{first, back, third})
	r, err := back.files().Open(t.Context(), name, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || len(text) != 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	eventually(t, "all vote again", func() error {
		voters := first.raft.Status().Voters
		if !slices.Contains(voters, back.id) || !slices.Contains(voters, third.id) {
			return fmt.Errorf("voters %v", voters)
		}
		return nil
	})
	back.halt(t)
	if err := joinBy(t, first, cfgs[1]); !errors.Is(err, membership.ErrFounded) {
		t.Errorf("a member that takes part is let forget what it voted for: %v", err)
	}

	// One that was removed comes back by the same door.
	third.halt(t)
	start(t, cfgs[1])
	eventually(t, "remove it", func() error {
		refusal, err := first.decideAs(t.Context(), catalog.RemoveMember, catalog.MemberRemoval{ID: third.id, Lost: true})
		if err == nil && refusal != nil && refusal.Code != catalog.NotFound {
			err = refusal
		}
		return err
	})
	if err := joinBy(t, first, cfgs[2]); err != nil { // it waits until the cluster has done with what it was
		t.Fatalf("it does not join again: %v", err)
	}
	third = start(t, cfgs[2])
	putWhole(t, third, "last.bin", []running{first, third})
}

// TestAVoterThatForgotDoesNotKeepItsVote wipes all that a voter knows but its key and its files. It is let in again only
// when its vote is gone: with it and without its log it could undo decisions.
func TestAVoterThatForgotDoesNotKeepItsVote(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	first, lost := nodes[0], nodes[2]
	eventually(t, "all vote", func() error {
		if !first.raft.Votes(lost.id) {
			return errors.New("it does not vote yet")
		}
		return nil
	})
	lost.halt(t)
	for _, path := range []string{filepath.Join(lost.cfg.Data, "raft"), filepath.Join(lost.cfg.Data, "catalog"), filepath.Join(lost.cfg.IdentityDir(), "members.json"), filepath.Join(lost.cfg.IdentityDir(), "agreed")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a voter without its log is refused", func() error {
		err := joinBy(t, first, lost.cfg.Config)
		switch {
		case errors.Is(err, membership.ErrRefused):
			return nil
		case err == nil:
			t.Fatal("a voter without its log joins")
		}
		return err // no quorum just now
	})
	eventually(t, "remove it", func() error {
		refusal, err := first.decideAs(t.Context(), catalog.RemoveMember, catalog.MemberRemoval{ID: lost.id, Lost: true})
		if err == nil && refusal != nil && refusal.Code != catalog.NotFound {
			err = refusal
		}
		return err
	})
	eventually(t, "it joins again", func() error { return joinBy(t, first, lost.cfg.Config) })
	if first.raft.Votes(lost.id) {
		t.Error("it votes before it knows anything")
	}
	putWhole(t, start(t, lost.cfg.Config), "after.bin", nodes[:2])
}

// putWhole puts a file through the node and waits until it is complete on all the nodes.
func putWhole(t *testing.T, by running, name catalog.FileName, on []running) catalog.FileName {
	t.Helper()
	body := bytes.Repeat([]byte(name[:1]), 100_000)
	eventually(t, "put "+string(name), func() error {
		_, err := by.files().Put(t.Context(), api.PutRequest{Collection: "web", Name: name, Size: int64(len(body)), Body: bytes.NewReader(body), Actor: "test"})
		return err
	})
	for _, n := range on {
		eventually(t, string(name)+" is complete on "+n.cfg.Name, func() error {
			return n.raft.View(func(v catalog.View) error {
				f, err := v.File(name)
				if err == nil && !f.Complete() {
					err = fmt.Errorf("%+v", f.Copies)
				}
				return err
			})
		})
	}
	return name
}
