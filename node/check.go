package node

import (
	"context"

	"holdfast/node/config"
	"holdfast/peer"
)

// CheckPeers tries the path to every address of the members that the configured node knows, with its key but from a
// port of its own: the node may run or not. What is wrong with a path is in the report; an error means that the
// node's own key or member list cannot be read.
func CheckPeers(ctx context.Context, cfg config.Config) (peer.Report, error) {
	k, err := folder{cfg}.loadKnown()
	if err != nil {
		return peer.Report{}, err
	}
	id, err := folder{cfg}.ownIdentity()
	if err != nil {
		return peer.Report{}, err
	}
	members := make([]peer.Member, 0, len(k.Members))
	for _, m := range k.Members {
		members = append(members, peer.Member{ID: peer.ID(m.ID), Name: m.Name, Key: m.Key, Addresses: m.Addresses, OutOnly: m.OutOnly})
	}
	return peer.Check(ctx, peer.Config{Listen: cfg.Listen.Peer, Cluster: k.Cluster.ID, Epoch: k.Cluster.Epoch}, id, members), nil
}
