package node

import (
	"path/filepath"
	"time"

	"holdfast/node/agreed"
	"holdfast/node/ingest"
)

func (n *Node) openIngests() {
	dir := filepath.Join(n.cfg.Data, "ingest")
	n.ingests = ingest.New(ingest.Config{Self: n.id, Dir: dir, Disk: n.disk, Agree: agreed.Unseen{State: n.agreed()},
		Room: func() (int64, error) { return n.room().Left(n.cfg.Data) }, Now: time.Now,
		Log: n.log.With("room", "ingest")})
}
