package membership

import (
	"context"

	"holdfast/node/config"
	"holdfast/peer"
)

// CheckPeers tests the path to every address of the members that the configured node knows, with its key but from a
// separate port: the node may be running or not. Faults of a path are in the report; an error means that the node's
// own key or member list cannot be read.
func CheckPeers(ctx context.Context, cfg config.Config) (peer.Report, error) {
	k, err := Folder{Config: cfg}.load()
	if err != nil {
		return peer.Report{}, err
	}
	id, err := Folder{Config: cfg}.OwnIdentity()
	if err != nil {
		return peer.Report{}, err
	}
	own := peer.Config{Listen: cfg.Listen.Peer, Cluster: k.Cluster.ID, Epoch: k.Cluster.Epoch}
	return peer.Check(ctx, own, id, asPeers(k.Members)), nil
}
