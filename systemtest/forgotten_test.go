//go:build e2e

package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/api/wire"
)

// forgetting is a cluster of three voters of which one, again and again, forgets what it agreed to.
type forgetting struct {
	t      *testing.T
	c      *Cluster
	random *rand.Rand
	acked  []string // ids of the tokens whose creation was acknowledged
	made   int
}

// amnesia is a way for a voter to forget: what is kept of its folder beforehand, and what is done to it when it has
// stopped.
type amnesia struct {
	keep  string // a folder of the node's that is copied beforehand; "." for all of it
	lose  func(dir, kept string) error
	words []string // that the node's log must have at its next start
}

// amnesias are the ways. The last is one that the node cannot notice by itself.
var amnesias = map[string]amnesia{
	"the log's metadata is deleted": {"raft", func(dir, _ string) error { return os.Remove(filepath.Join(dir, "raft", "wal-meta.db")) },
		[]string{"the log or the catalog of this node", "holdfast node remove --lost", "join again"}},
	"the log is set back": {"raft", func(dir, kept string) error { return putBack(kept, filepath.Join(dir, "raft")) },
		[]string{"the log or the catalog of this node", "holdfast node remove --lost", "join again"}},
	"the whole folder is set back": {".", func(dir, kept string) error { return putBack(kept, dir) },
		[]string{"set back to an older copy of itself", "holdfast node remove --lost", "join again"}},
}

func putBack(kept, dir string) error {
	return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(kept)))
}

// TestAVoterThatForgotUndoesNothing lets two of three voters acknowledge decisions that the third does not hear of,
// kills all at the last answer, and lets one of the two forget. It and the third are a majority that does not know
// the decisions: the one that forgot must notice, say so and not take part. It joins again, nothing that was
// acknowledged is lost, and the catalogs are alike. HOLDFAST_SEED repeats a run as far as its times go,
// HOLDFAST_TRIES tries each way as often.
func TestAVoterThatForgotUndoesNothing(t *testing.T) {
	t.Parallel()
	seed := number(t, "HOLDFAST_SEED", uint64(time.Now().UnixNano()))
	tries := number(t, "HOLDFAST_TRIES", 2)
	t.Logf("HOLDFAST_SEED=%d HOLDFAST_TRIES=%d", seed, tries)
	f := &forgetting{t: t, random: rand.New(rand.NewPCG(seed, 21))}
	f.c = newCluster(t, "127.0.24", "profile = \"local\"")
	ways := []string{}
	for name := range amnesias {
		ways = append(ways, name)
	}
	slices.Sort(ways)
	for range tries {
		for _, way := range ways {
			f.try(way, amnesias[way])
		}
	}
	t.Logf("%d decisions were acknowledged", len(f.acked))
}

// try lets one node forget, in one way, at one moment.
func (f *forgetting) try(way string, a amnesia) {
	t, c := f.t, f.c
	began := time.Now()
	nodes := slices.Clone(threeNodes)
	f.random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	forgetful, knows, deaf := nodes[0], nodes[1], nodes[2]
	dir, kept := filepath.Join(c.Dir, forgetful), filepath.Join(t.TempDir(), "kept")
	c.Stop(forgetful)
	check(t, os.CopyFS(kept, os.DirFS(filepath.Join(dir, a.keep))))
	f.decide(knows, f.random.IntN(5))
	check(t, c.Start(forgetful))
	check(t, c.Settled(t.Context(), knows, time.Minute))
	f.decide(knows, 1+f.random.IntN(20))
	if a.keep == "." {
		f.witnessed(forgetful, deaf, kept)
	}

	paused := c.PID(deaf)
	check(t, syscall.Kill(paused, syscall.SIGSTOP)) // what comes after this the deaf one does not hear
	f.decide([]string{knows, forgetful}[f.random.IntN(2)], 1+f.random.IntN(12))
	pause(t.Context(), f.random, time.Duration(1+f.random.IntN(2)*300)*time.Millisecond)
	for _, node := range nodes {
		c.Kill(node)
	}
	check(t, a.lose(dir, kept))
	logged := f.logged(forgetful)
	check(t, errors.Join(c.Start(forgetful), c.Start(deaf)))
	must(t, time.Minute, way+": "+forgetful+" notices, and ends", func() error {
		if c.Running(forgetful) {
			return errors.New("it runs")
		}
		for _, words := range a.words {
			if !strings.Contains(f.logged(forgetful)[len(logged):], words) {
				return fmt.Errorf("it does not say %q", words)
			}
		}
		return nil
	})
	c.Kill(forgetful)
	if st, err := c.Status(t.Context(), deaf); err == nil && st.Cluster.Quorum {
		t.Fatalf("%s: %s has a quorum though the one that knows more is away", way, deaf)
	}
	check(t, c.Start(knows))
	must(t, time.Minute, way+": the two others agree", func() error { _, err := oneLeader(t.Context(), c, knows, deaf); return err })
	f.holds(way, knows, deaf)
	f.rejoin(way, knows, forgetful)
	f.holds(way, threeNodes...)
	t.Logf("%5.1f s  %s: %s forgot, %s knew, %s was deaf; %d acknowledged", time.Since(began).Seconds(), way, forgetful, knows, deaf, len(f.acked))
}

// decide lets a node make n small decisions, one after the other, and notes those that were acknowledged.
func (f *forgetting) decide(node string, n int) {
	f.t.Helper()
	client, err := local(f.c, node)
	check(f.t, err)
	defer client.Close()
	for range n {
		check(f.t, Eventually(f.t.Context(), 30*time.Second, func() error {
			f.made++
			ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
			defer cancel()
			token, err := client.Invites().Create(ctx, wire.JoinTokenRequest{Replica: "north", Lifetime: "24h"})
			if err == nil {
				f.acked = append(f.acked, token.ID)
			}
			return err
		}))
	}
}

// witnessed waits until a node remembers, on its disk, that another is further than it was when it stopped with the
// folder that was kept: it hears of it by gossip, and writes it down every ten seconds.
func (f *forgetting) witnessed(of, by, kept string) {
	var then struct{ Log, Last uint64 }
	read(f.t, filepath.Join(kept, "catalog", "log.json"), &then)
	must(f.t, time.Minute, by+" remembers how far "+of+" is", func() error {
		f.decide(by, 1)
		var seen map[string]struct{ Log, LastIndex uint64 }
		read(f.t, filepath.Join(f.c.Dir, by, "raft", "seen.json"), &seen)
		for _, s := range seen {
			if s.Log == then.Log && s.LastIndex > then.Last {
				return nil
			}
		}
		return fmt.Errorf("it was at %d of log %d; remembered is %+v", then.Last, then.Log, seen)
	})
}

func read(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	check(t, json.Unmarshal(text, v))
}

// logged returns what a node has logged.
func (f *forgetting) logged(node string) string {
	text, err := os.ReadFile(filepath.Join(f.c.Dir, node+".log"))
	check(f.t, err)
	return string(text)
}

// rejoin does what the node that forgot says is to be done.
func (f *forgetting) rejoin(way, by, node string) {
	t, c := f.t, f.c
	must(t, 30*time.Second, way+": "+node+" is removed", func() error {
		_, err := c.Do(t.Context(), by, "node", "remove", node, "--lost", "--yes", "--reason", "it forgot")
		return err
	})
	must(t, 30*time.Second, way+": "+node+" joins again", func() error { return c.Join(t.Context(), by, node) })
	check(t, c.Settled(t.Context(), by, 2*time.Minute))
}

// holds checks that each of the nodes has all that was acknowledged, and that they have the same besides.
func (f *forgetting) holds(way string, nodes ...string) {
	t := f.t
	t.Helper()
	must(t, time.Minute, way+": all decisions are there, and the catalogs are alike", func() error {
		var first string
		for i, node := range nodes {
			all, err := f.tokens(node)
			if err != nil {
				return err
			}
			for _, id := range f.acked {
				if !slices.Contains(all, id) {
					return fmt.Errorf("%s lacks %s, which was acknowledged", node, id)
				}
			}
			trail, err := exec.CommandContext(t.Context(), f.c.Program, "catalog", "trail", "--json",
				"--config", f.c.Config, "--node", node).Output()
			if err != nil {
				return fmt.Errorf("the trail of %s: %w", node, err)
			}
			is := strings.Join(all, "\n") + string(trail)
			if i > 0 && is != first {
				return fmt.Errorf("the catalogs of %s and %s differ", nodes[0], node)
			}
			first = is
		}
		return nil
	})
}

func (f *forgetting) tokens(node string) (ids []string, err error) {
	client, err := local(f.c, node)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	tokens, err := client.Invites().List(f.t.Context())
	for _, one := range tokens {
		ids = append(ids, one.ID)
	}
	slices.Sort(ids)
	return ids, err
}
