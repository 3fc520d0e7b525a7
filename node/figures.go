package node

import (
	"errors"
	"path/filepath"

	"holdfast/node/figures"
	"holdfast/raft"
)

// openFigures opens what keeps this node's figures over time. Each source reads what the node counts anyway.
func openFigures(n *Node) {
	brought := func(of func() int64) func() (float64, error) {
		return func() (float64, error) { return float64(of()), nil }
	}
	all := []figures.Source{
		{Name: "cpu", Unit: "cores", Rate: true, Read: figures.CPU},
		{Name: "memory", Unit: "bytes", Read: figures.Memory},
		{Name: "crawl-uris", Unit: "uris/s", Rate: true, Read: brought(func() int64 {
			b := n.crawls.Tally.Brought()
			return b.Succeeded + b.Failed + b.Disregarded
		})},
		{Name: "crawl-bytes", Unit: "bytes/s", Rate: true,
			Read: brought(func() int64 { return n.crawls.Tally.Brought().Bytes })},
		{Name: "outbox", Unit: "files", Read: func() (float64, error) {
			files, err := n.health.Waiting()
			return float64(files), err
		}},
		{Name: "raft-behind", Unit: "entries", Read: func() (float64, error) { return behind(n.raft.Status()) }},
		{Name: "connections", Unit: "connections",
			Read: brought(func() int64 { return int64(len(n.peer.Stats().Links)) })},
	}
	if n.indexer != nil {
		all = append(all, figures.Source{Name: "index-behind", Unit: "files",
			Read: brought(func() int64 { return int64(n.indexer.Status().Waiting) })})
	}
	for _, root := range n.cfg.Files {
		all = append(all, figures.Source{Name: "disk-free", Of: root, Unit: "bytes", Read: func() (float64, error) {
			d, err := diskAt(n, root)
			if err == nil && d.Root == "" {
				err = errors.New("it was taken out")
			}
			return float64(d.Free), err
		}})
	}
	n.figures = figures.New(figures.Config{Path: filepath.Join(n.cfg.Data, "figures"), Disk: n.disk, Least: logRoom,
		Sources: all, Log: n.log.With("room", "figures")})
}

// behind is how many decided entries a node has not applied yet. It is not known before the node takes part.
func behind(s raft.Status) (float64, error) {
	if s.Term == 0 {
		return 0, errors.New("this node takes no part yet")
	}
	return max(0, float64(s.Commit)-float64(s.Applied)), nil
}

// figuresOfAll returns what tells the figures of all nodes.
func figuresOfAll(n *Node) figures.Nodes {
	return figures.Nodes{Self: n.id, Name: n.roster.NameOf, Own: n.figures, Ask: n.warrants.Caller(carrier{n.peer})}
}
