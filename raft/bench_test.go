package raft

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// callers is how many ask at the same time.
const callers = 64

// BenchmarkCatalogCommands has files enter the catalog of three nodes, each with its synced log, one file per
// command, by 64 callers on the leader.
func BenchmarkCatalogCommands(b *testing.B) {
	nodes := benchCluster(b)
	var serial atomic.Int64
	fanOut(b, func() error { return addFile(nodes[0].Node, serial.Add(1)) })
}

// BenchmarkCatalogCommandsForwarded is the same with the callers on a follower.
func BenchmarkCatalogCommandsForwarded(b *testing.B) {
	nodes := benchCluster(b)
	var serial atomic.Int64
	fanOut(b, func() error { return addFile(nodes[1].Node, serial.Add(1)) })
}

// BenchmarkCatalogCommandsBaseline is bare hashicorp/raft: the same log, transport and settings, entries of
// the same size, and a state machine that does nothing.
func BenchmarkCatalogCommandsBaseline(b *testing.B) {
	leader := benchBare(b)
	var serial atomic.Int64
	fanOut(b, func() error {
		data, err := command(addition("bare", serial.Add(1)))
		if err != nil {
			return err
		}
		return leader.Apply(data, time.Minute).Error()
	})
}

func fanOut(b *testing.B, do func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	used := processorTime(b)
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-us/command")
}

// processorTime returns what this program, and so all three nodes, has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func addition(self catalog.NodeID, i int64) catalog.Command {
	name := fmt.Sprintf("%d-12-20261120213800000-%05d-north-1.warc.gz", i/1000, i)
	body, err := json.Marshal(catalog.Additions{Files: []catalog.Addition{{
		Name: catalog.FileName(name), Size: 1 << 30, SHA256: sha256.Sum256([]byte(name)), Collection: "web", Source: self,
	}}})
	if err != nil {
		panic(err)
	}
	return catalog.Command{Version: 1, Kind: catalog.AddFiles, Node: self, Body: body}
}

func addFile(n *Node, i int64) error {
	result, err := n.Propose(context.Background(), catalog.AddFiles, addition(n.cfg.Self, i).Body, "")
	switch {
	case err != nil:
		return err
	case result.Refusal != nil:
		return result.Refusal
	}
	return nil
}

// idle is a state machine that does nothing.
type idle struct{}

func (idle) Apply(*hraft.Log) any                 { return nil }
func (idle) ApplyBatch(logs []*hraft.Log) []any   { return make([]any, len(logs)) }
func (idle) Snapshot() (hraft.FSMSnapshot, error) { return nil, errors.New("no snapshot") }
func (idle) Restore(io.ReadCloser) error          { return nil }

// sockets is a Carrier over TCP on loopback.
type sockets struct {
	self  catalog.NodeID
	ports map[catalog.NodeID]net.Listener
}

func (s sockets) Dial(ctx context.Context, to catalog.NodeID) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.ports[to].Addr().String())
}

// accept hands a listener's connections to hand until the listener is closed.
func accept(l net.Listener, hand func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		hand(c)
	}
}

func listeners(b *testing.B, ids []catalog.NodeID) map[catalog.NodeID]net.Listener {
	ports := make(map[catalog.NodeID]net.Listener)
	for _, id := range ids {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { l.Close() })
		ports[id] = l
	}
	return ports
}

// benchCluster starts three nodes with the catalog as it is; the first leads.
func benchCluster(b *testing.B) []*running {
	c := newCluster(b)
	c.machine = theCatalog{}
	c.timing, _ = timingOf("lan")
	c.timing.tick = 50 * time.Millisecond
	ids := []catalog.NodeID{benchID('a'), benchID('b'), benchID('c')}
	ports := listeners(b, ids)
	c.carrier = func(id catalog.NodeID) Carrier { return sockets{self: id, ports: ports} }
	first := c.open(ids[0])
	if err := first.Bootstrap(context.Background(), founding('a')); err != nil {
		b.Fatal(err)
	}
	go accept(ports[ids[0]], func(conn net.Conn) { first.Stream("", conn) })
	nodes := []*running{c.run(first)}
	for i, id := range ids[1:] {
		next := c.open(id)
		go accept(ports[id], func(conn net.Conn) { next.Stream("", conn) })
		nodes = append(nodes, c.run(next))
		admit(b, nodes[0].Node, byte('b'+i))
	}
	c.eventually("three voters", func() bool { return len(nodes[0].Status().Voters) == 3 })
	return nodes
}

// benchBare starts three bare Raft nodes and returns the leader.
func benchBare(b *testing.B) *hraft.Raft {
	ids := []catalog.NodeID{benchID('a'), benchID('b'), benchID('c')}
	ports := listeners(b, ids)
	t, _ := timingOf("lan")
	var nodes []*hraft.Raft
	var servers configuration
	for _, id := range ids {
		servers.Servers = append(servers.Servers, server{ID: id, Voter: true})
	}
	for _, id := range ids {
		l := newLayer(id, sockets{self: id, ports: ports})
		go accept(ports[id], func(c net.Conn) { l.hand("", c) })
		log, err := openLog(b.TempDir(), t.segment, ledgerOf(b), roomy(), quiet(), func(err error) { b.Error(err) })
		if err != nil {
			b.Fatal(err)
		}
		snaps, err := hraft.NewFileSnapshotStore(filepath.Join(b.TempDir(), "snaps"), 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		conf, trans := configure(id, t, quiet()), newTransport(l, t, quiet())
		trans.ballot.opened.Store(true) // it has no state that it might have lost
		if err := hraft.BootstrapCluster(conf, log, log, snaps, trans, servers.raft()); err != nil {
			b.Fatal(err)
		}
		r, err := hraft.NewRaft(conf, idle{}, log, log, snaps, trans)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := errors.Join(l.Close(), r.Shutdown().Error(), log.Close()); err != nil {
				b.Error(err)
			}
		})
		nodes = append(nodes, r)
	}
	for {
		var leads int
		select { // each tells when it begins to lead
		case <-nodes[0].LeaderCh():
		case <-nodes[1].LeaderCh():
			leads = 1
		case <-nodes[2].LeaderCh():
			leads = 2
		case <-time.After(time.Minute):
			b.Fatal("none of the bare nodes leads")
		}
		if nodes[leads].VerifyLeader().Error() == nil {
			return nodes[leads]
		}
	}
}

// BenchmarkDecisionSeenOnAFollower has one caller on a follower decide, and wait until that follower shows it: what
// someone waits for who asks a node that does not lead to change something.
func BenchmarkDecisionSeenOnAFollower(b *testing.B) {
	nodes := benchCluster(b)
	var serial int64
	for b.Loop() {
		serial++
		if err := addFile(nodes[1].Node, serial); err != nil {
			b.Fatal(err)
		}
		if err := nodes[1].Linear(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
