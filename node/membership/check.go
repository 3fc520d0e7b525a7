package membership

import (
	"context"

	"holdfast/node/config"
	"holdfast/peer"
)

// CheckPeers tries the path to every address of the members that the configured node knows, with its key but from a
// port of its own: the node may run or not. What is wrong with a path is in the report; an error means that the
// node's own key or member list cannot be read.
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
