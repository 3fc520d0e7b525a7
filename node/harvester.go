package node

import (
	"time"

	"holdfast/node/harvester"
)

func (n *Node) openHarvester() {
	n.harvester = harvester.New(harvester.Config{Self: n.id, Dir: n.cfg.Data, Agreement: n.raft, Now: n.clocks.Now,
		Zones: time.LoadLocation, Log: n.log.With("room", "harvester")})
}
