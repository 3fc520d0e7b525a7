//go:build e2e

package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

const (
	installBatch = 12000 // decisions while a node is away: more than a Raft log of 1 MiB keeps
	installKills = 5
)

// TestKillDuringRaftSnapshot keeps a node away until the log no longer has what it missed, so that it needs the whole
// state, and kills it, and the node that sends, while that is under way. HOLDFAST_SEED repeats a run.
func TestKillDuringRaftSnapshot(t *testing.T) {
	t.Parallel()
	seed := number(t, "HOLDFAST_SEED", uint64(time.Now().UnixNano()))
	t.Logf("HOLDFAST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	c := newCluster(t, "127.0.14", "raft-log = \"1MiB\"")
	before := stateFolder(t, c, "south-1")
	c.Stop("south-1")
	began, err := oldest(c, "north-1")
	check(t, err)
	acked := decide(t, c, "third-1", installBatch)
	check(t, Eventually(t.Context(), time.Minute, func() error {
		if now, err := oldest(c, "north-1"); err != nil || now == began {
			return fmt.Errorf("the Raft log still begins with %s: %v", now, err)
		}
		return nil
	}))
	for kill := range installKills {
		check(t, c.Start("south-1"))
		linger(t, time.Duration(random.IntN(700))*time.Millisecond)
		c.Kill("south-1")
		if kill == installKills/2 { // the sender dies as well
			check(t, c.Start("south-1"))
			linger(t, time.Duration(random.IntN(700))*time.Millisecond)
			c.Kill("north-1")
			c.Kill("south-1")
			check(t, c.Start("north-1"))
		}
		t.Logf("kill %d: south-1 is at state folder %s, began at %s", kill, stateFolder(t, c, "south-1"), before)
	}
	check(t, c.Start("south-1"))
	for _, node := range []string{"north-1", "south-1", "third-1"} {
		check(t, Eventually(t.Context(), 2*time.Minute, func() error {
			client, err := local(c, node)
			if err != nil {
				return err
			}
			tokens, err := client.Invites().List(t.Context())
			if err != nil {
				return err
			}
			have := map[string]bool{}
			for _, token := range tokens {
				have[token.ID] = true
			}
			for _, id := range acked {
				if !have[id] {
					return fmt.Errorf("%s has %d tokens and lacks %s, one of %d acknowledged", node, len(tokens), id, len(acked))
				}
			}
			return nil
		}))
	}
	if after := stateFolder(t, c, "south-1"); after == before {
		t.Errorf("south-1 still has state folder %s: no whole state was installed, this test has tested nothing", after)
	}
	check(t, c.Settled(t.Context(), "south-1", time.Minute))
	for _, node := range []string{"north-1", "south-1"} {
		_, err := c.Do(t.Context(), node, "catalog", "check")
		check(t, err)
	}
}

// decide has the node make n small decisions and returns the ids of those that were acknowledged.
func decide(t *testing.T, c *Cluster, node string, n int) (acked []string) {
	t.Helper()
	client, err := local(c, node)
	check(t, err)
	var mu sync.Mutex
	var all sync.WaitGroup
	work := make(chan int)
	var failed error
	for range 32 {
		all.Go(func() {
			for range work {
				token, err := client.Invites().Create(t.Context(), wire.JoinTokenRequest{Replica: "north", Lifetime: "24h"})
				mu.Lock()
				if err == nil {
					acked = append(acked, token.ID)
				} else {
					failed = errors.Join(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	if len(acked) < n*9/10 {
		t.Fatalf("%d of %d decisions were acknowledged: %v", len(acked), n, failed)
	}
	return acked
}

// local returns a client that asks the node with its own token.
func local(c *Cluster, node string) (*client.Client, error) {
	token, err := os.ReadFile(filepath.Join(c.Dir, node, "identity", "api-token"))
	if err != nil {
		return nil, err
	}
	return client.New("http://"+c.Address(node, "api"), strings.TrimSpace(string(token)))
}

// stateFolder returns the number of the folder that holds the node's agreed state: each install takes the next.
func stateFolder(t *testing.T, c *Cluster, node string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, node, "catalog", "current"))
	check(t, err)
	return strings.TrimSpace(string(text))
}

// oldest returns the name of the oldest file of the node's Raft log.
func oldest(c *Cluster, node string) (string, error) {
	files, err := filepath.Glob(filepath.Join(c.Dir, node, "raft", "*.wal"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no file of the Raft log of %s: %w", node, err)
	}
	return filepath.Base(slices.Min(files)), nil
}

// linger lets real time pass: the moment of a kill is the point of the test.
func linger(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
}
